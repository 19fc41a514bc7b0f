// ManualClock: time stands still until a test moves it.
#pragma once

#include <atomic>

#include "engine/base/clock.h"

namespace varve {

class ManualClock final : public Clock {
 public:
  // Any thread.
  void Advance(uint64_t nanos) { nanos_ += nanos; }
  // For LocalExecutor's idle time: moves on to `nanos`, never back.
  void AdvanceTo(uint64_t nanos) {
    if (nanos > nanos_) {
      nanos_ = nanos;
    }
  }

  uint64_t MonotonicNanos() const override { return nanos_; }
  int64_t WallNanos() const override { return kStart + static_cast<int64_t>(nanos_.load()); }

 private:
  static constexpr int64_t kStart = 1'700'000'000'000'000'000;
  std::atomic<uint64_t> nanos_{0};
};

}  // namespace varve
