// Back-pressure: writers are slowed in proportion to the work that they leave for the background, instead of
// being stopped when it has piled up. Debt (a value) gives a pressure between 0 and 1, pressure gives a rate,
// and the throttle spaces the writers' bytes at that rate.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace varve {

// What the background is behind by.
struct Debt {
  size_t immutable_memtables = 0;
  size_t immutable_memtables_max = 1;
  // How full the memtable that takes writes is, 0..1.
  double memtable_fill = 0;
  size_t level0_tables = 0;
  size_t level0_tables_trigger = 4;
  // Bytes that levels hold beyond their capacity, and the unit in which they are of concern (ConcernBytes of
  // engine/tree/level_sizes.h).
  uint64_t overdue_bytes = 0;
  uint64_t concern_bytes = 1;
  // In units of so many that they are too many.
  double range_tombstones = 0;
};

// 0: nobody waits. 1: as slow as it gets.
double PressureOf(const Debt& debt);

// Bytes a second that writers may add at `pressure`, 0 for no limit.
uint64_t RateAt(double pressure);

// Spaces what is admitted. Any thread; a compare-and-swap, no lock.
class Throttle {
 public:
  // Waits shorter than this are gathered, and a writer that slept too long has so much to its credit: to set
  // a timer and wake from it costs a processor more than a small write does.
  static constexpr uint64_t kGrainNanos = 100'000;

  // Set by the background whenever the debt changes.
  void SetRate(uint64_t bytes_per_second) {
    nanos_per_kib_.store(bytes_per_second == 0 ? 0 : uint64_t{1'024'000'000'000} / bytes_per_second,
                         std::memory_order_relaxed);
  }
  bool limits() const { return nanos_per_kib_.load(std::memory_order_relaxed) != 0; }

  // How long the writer of `bytes` has to wait, now; 0 admits it. A writer that waited calls Charge once it
  // goes on.
  uint64_t WaitNanos(uint64_t now) const {
    if (!limits()) {
      return 0;
    }
    const uint64_t next = next_nanos_.load(std::memory_order_relaxed);
    return next > now + kGrainNanos ? next - now : 0;
  }
  // Books `bytes` that were admitted at `now`.
  void Charge(uint64_t bytes, uint64_t now) {
    const uint64_t cost = nanos_per_kib_.load(std::memory_order_relaxed) * bytes / 1024;
    if (cost == 0) {
      return;
    }
    const uint64_t earliest = now > kGrainNanos ? now - kGrainNanos : 0;
    uint64_t next = next_nanos_.load(std::memory_order_relaxed);
    while (!next_nanos_.compare_exchange_weak(next, (next > earliest ? next : earliest) + cost,
                                              std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<uint64_t> nanos_per_kib_{0};
  std::atomic<uint64_t> next_nanos_{0};
};

}  // namespace varve
