// Latencies and sizes, counted in buckets whose width grows with the value: eight buckets an octave, so a
// quantile is at most 12.5% too large. Any thread may add; readers see counts that may lag each other by what
// is in flight.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace varve {

class Histogram {
 public:
  void Add(uint64_t value);

  uint64_t count() const;
  uint64_t sum() const { return sum_.load(std::memory_order_relaxed); }
  uint64_t max() const { return max_.load(std::memory_order_relaxed); }
  double mean() const;
  // Upper bound of the bucket that holds the q-quantile, 0 < q <= 1; 0 when empty.
  uint64_t Quantile(double q) const;
  void Reset();
  // Adds what `other` has counted.
  void Merge(const Histogram& other);

 private:
  static constexpr size_t kBucketsPerOctave = 8;
  static constexpr size_t kBuckets = 62 * kBucketsPerOctave;
  static size_t BucketOf(uint64_t value);
  static uint64_t UpperBoundOf(size_t bucket);
  void RaiseMax(uint64_t value);

  std::array<std::atomic<uint64_t>, kBuckets> counts_{};
  std::atomic<uint64_t> sum_{0};
  std::atomic<uint64_t> max_{0};
};

}  // namespace varve
