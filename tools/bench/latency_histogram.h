// Latencies of one thread: 64 buckets an octave, so a quantile is at most 1.6% too large. Merged when the
// threads have ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace varve {

class LatencyHistogram {
 public:
  void Add(uint64_t nanos);
  void Merge(const LatencyHistogram& other);

  uint64_t count() const { return count_; }
  uint64_t max() const { return max_; }
  double mean() const { return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_); }
  // Upper bound of the bucket that holds the q-quantile, at most max(); 0 when empty.
  uint64_t Quantile(double q) const;
  // (upper bound in nanoseconds, count) of the buckets that hold something, eight an octave.
  std::vector<std::pair<uint64_t, uint64_t>> Buckets() const;

 private:
  static constexpr unsigned kBits = 6;
  static constexpr size_t kPerOctave = size_t{1} << kBits;
  static constexpr size_t kBuckets = (64 - kBits + 1) * kPerOctave;
  static size_t BucketOf(uint64_t nanos);
  static uint64_t UpperBoundOf(size_t bucket);

  std::array<uint64_t, kBuckets> counts_{};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t max_ = 0;
};

}  // namespace varve
