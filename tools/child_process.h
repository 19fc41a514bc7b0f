// This program again, as a child process.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.h"

namespace varve {

class ChildProcess {
 public:
  struct Options {
    // A session of its own: signals of the terminal do not reach it.
    bool new_session = false;
    // Stays open in the child, under the same number; -1: none.
    int inherit = -1;
  };

  // `arguments` begin with argv[0]. The child has no signals blocked.
  static Result<ChildProcess> Start(const std::vector<std::string>& arguments);
  static Result<ChildProcess> Start(const std::vector<std::string>& arguments, Options options);

  ChildProcess(ChildProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~ChildProcess();

  // Becomes readable when the child has ended.
  int descriptor() const { return descriptor_; }
  // Waits for its end: the exit code, or 128 and the signal that killed it.
  int Wait();

 private:
  ChildProcess(pid_t pid, int descriptor) : pid_(pid), descriptor_(descriptor) {}

  pid_t pid_;
  int descriptor_;
};

}  // namespace varve
