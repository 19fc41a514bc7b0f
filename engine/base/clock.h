// Time as a constructor argument, so that a simulation can own it.
#pragma once

#include <cstdint>

namespace varve {

class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes back; its zero means nothing.
  virtual uint64_t MonotonicNanos() const = 0;
  // Since the Unix epoch.
  virtual int64_t WallNanos() const = 0;
};

class SystemClock final : public Clock {
 public:
  uint64_t MonotonicNanos() const override;
  int64_t WallNanos() const override;
};

}  // namespace varve
