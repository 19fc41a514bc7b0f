// Fuzz targets: each runs one input through everything that reads one kind of bytes from a device. An input
// is bad when it makes a target crash, hang, or take memory without bound; a wrong structure must be an
// error.
//
// The executables of this folder link trusting_checksum.cc, under which every checksum is right: an attacker
// computes his checksums, a fuzzer cannot.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/clock.h"
#include "engine/ring/local_executor.h"
#include "tests/support/manual_clock.h"

namespace varve::fuzz {

struct FuzzTarget {
  std::string_view name;
  void (*run)(std::string_view input);
  // Inputs made of what the writers write.
  std::vector<std::string> (*seeds)();
};

std::span<const FuzzTarget> AllTargets();
// nullptr: there is none of that name.
const FuzzTarget* FindTarget(std::string_view name);

// The targets, each in its own file.
void RunSuperblock(std::string_view input);
void RunManifest(std::string_view input);
void RunWal(std::string_view input);
void RunTable(std::string_view input);
void RunNamespace(std::string_view input);
void RunImage(std::string_view input);
std::vector<std::string> SuperblockSeeds();
std::vector<std::string> ManifestSeeds();
std::vector<std::string> WalSeeds();
std::vector<std::string> TableSeeds();
std::vector<std::string> NamespaceSeeds();
std::vector<std::string> ImageSeeds();

// Takes numbers and pieces off the front of an input; zeros and nothing behind its end.
class InputReader {
 public:
  explicit InputReader(std::string_view input) : rest_(input) {}

  // Of `width` bytes, little-endian.
  uint64_t Number(size_t width);
  std::string_view Bytes(size_t count);
  std::string_view rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// Appends a number of `width` bytes, little-endian.
void AppendNumber(std::string& to, uint64_t number, size_t width);

// An executor with simulated time: that nothing is left to run while a task waits is a failed check.
struct Machine {
  ManualClock clock;
  LocalExecutor executor{clock, [this](uint64_t due) { clock.AdvanceTo(due); },
                         [](size_t) { return size_t{0}; }};

  template <typename T>
  T Run(Task<T> task) {
    return executor.Run(std::move(task));
  }
};

}  // namespace varve::fuzz
