// Other programs, run by the benches: mkfs, fio, and the daemons that serve a mount.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "tools/bench_mount/interruption.h"

namespace varve {

// Whether `name` can be run: a path, or a file of one of the folders of PATH and those for administration.
bool ProgramExists(const std::string& name);

// Memory at its peak and processor time, user and system together.
struct ProgramUsage {
  double cpu_seconds = 0;
  uint64_t peak_memory_bytes = 0;
};

// A program in a session of its own, so that the signals of a terminal do not reach it; it gets SIGTERM when
// this process dies. What it prints goes to the file `log`.
class Program {
 public:
  static Result<Program> Start(const std::vector<std::string>& arguments, const std::string& log);
  Program(Program&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  Program& operator=(Program&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  // Kills it when it still runs.
  ~Program();

  struct End {
    int exit_code = 0;  // 128 and the signal that killed it
    ProgramUsage usage;
  };
  // nullopt when it has not ended within `timeout_ms` (-1: for ever), or when `interruption` (may be null)
  // came first. After an End it must not be asked again.
  std::optional<End> Wait(int timeout_ms, Interruption* interruption);
  void Signal(int number) const;

 private:
  Program(pid_t pid, int descriptor) : pid_(pid), descriptor_(descriptor) {}

  pid_t pid_;
  int descriptor_;
};

// Runs a program to its end. An exit code other than 0 is an error that ends with what it last printed. When
// `interruption` (may be null) comes, it is terminated, and the error is kCancelled.
Status RunProgram(const std::vector<std::string>& arguments, const std::string& log,
                  Interruption* interruption);

// The last lines of a file, for messages; empty when there is none.
std::string TailOf(const std::string& path);

}  // namespace varve
