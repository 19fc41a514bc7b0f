// A person's wish to end a long run (SIGINT, SIGTERM, SIGHUP), so that what was set up is taken down first.
#pragma once

#include <csignal>

namespace varve {

// From construction to destruction those signals no longer end this process; they are noted. For one thread,
// made before any other is started.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // Whether one has come; stays so. A system call: ask once in a while.
  bool Requested();
  // Becomes readable when one comes, for poll(2). -1 where the kernel gave none.
  int descriptor() const { return descriptor_; }

 private:
  sigset_t before_;
  int descriptor_;
  bool requested_ = false;
};

}  // namespace varve
