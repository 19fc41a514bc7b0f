// Trace: what happened in a simulation, line by line: a digest of all of it, and the last lines themselves.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "engine/base/checksum.h"
#include "engine/base/clock.h"

namespace varve::sim {

class Trace {
 public:
  // `clock` must outlive this. The last `lines_max` lines are remembered for a report.
  Trace(const Clock& clock, size_t lines_max) : clock_(clock), lines_max_(lines_max) {}

  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    AddLine(
        fmt::format("{:>12} {}", clock_.MonotonicNanos(), fmt::format(format, std::forward<Args>(args)...)));
  }
  // The first of these makes the run a failed one.
  template <typename... Args>
  void Fail(fmt::format_string<Args...> format, Args&&... args) {
    std::string what = fmt::format(format, std::forward<Args>(args)...);
    Add("FAILED: {}", what);
    if (failure_.empty()) {
      failure_ = std::move(what);
    }
  }

  // Empty while nothing has failed.
  const std::string& failure() const { return failure_; }
  // Equal for equal rows of lines.
  uint64_t digest() const { return digest_; }
  uint64_t lines() const { return lines_; }
  std::string Tail() const {
    std::string tail;
    for (const std::string& line : last_lines_) {
      tail += line + '\n';
    }
    return tail;
  }

 private:
  void AddLine(std::string line) {
    digest_ = Hash64(line, digest_);
    ++lines_;
    last_lines_.push_back(std::move(line));
    if (last_lines_.size() > lines_max_) {
      last_lines_.pop_front();
    }
  }

  const Clock& clock_;
  const size_t lines_max_;
  std::string failure_;
  uint64_t digest_ = 0;
  uint64_t lines_ = 0;
  std::deque<std::string> last_lines_;
};

}  // namespace varve::sim
