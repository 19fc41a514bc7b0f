#include "engine/base/clock.h"

#include <ctime>

namespace varve {

namespace {

int64_t Nanos(clockid_t id) {
  timespec now;
  clock_gettime(id, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace

uint64_t SystemClock::MonotonicNanos() const {
  return static_cast<uint64_t>(Nanos(CLOCK_MONOTONIC));
}

int64_t SystemClock::WallNanos() const {
  return Nanos(CLOCK_REALTIME);
}

}  // namespace varve
