#include "tools/bench/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace varve {

namespace {

constexpr size_t kShownPerOctave = 8;

}  // namespace

// Values below 64 have a bucket each; above, the leading bit names the octave and the next six the bucket.
size_t LatencyHistogram::BucketOf(uint64_t nanos) {
  if (nanos < kPerOctave) {
    return nanos;
  }
  const unsigned octave = static_cast<unsigned>(std::bit_width(nanos)) - 1 - kBits;
  return (size_t{octave} << kBits) + (nanos >> octave);
}

uint64_t LatencyHistogram::UpperBoundOf(size_t bucket) {
  if (bucket < 2 * kPerOctave) {
    return bucket;
  }
  const size_t octave = (bucket >> kBits) - 1;
  const uint64_t leading = (bucket & (kPerOctave - 1)) + kPerOctave;
  return ((leading + 1) << octave) - 1;
}

void LatencyHistogram::Add(uint64_t nanos) {
  ++counts_[BucketOf(nanos)];
  ++count_;
  sum_ += nanos;
  max_ = std::max(max_, nanos);
}

void LatencyHistogram::Merge(const LatencyHistogram& other) {
  for (size_t i = 0; i < kBuckets; ++i) {
    counts_[i] += other.counts_[i];
  }
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

uint64_t LatencyHistogram::Quantile(double q) const {
  const auto rank = static_cast<uint64_t>(std::ceil(q * static_cast<double>(count_)));
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets && rank > 0; ++i) {
    seen += counts_[i];
    if (seen >= rank) {
      return std::min(UpperBoundOf(i), max_);
    }
  }
  return 0;
}

std::vector<std::pair<uint64_t, uint64_t>> LatencyHistogram::Buckets() const {
  constexpr size_t kJoined = kPerOctave / kShownPerOctave;
  std::vector<std::pair<uint64_t, uint64_t>> shown;
  for (size_t i = 0; i < kBuckets; i += kJoined) {
    uint64_t count = 0;
    for (size_t j = i; j < i + kJoined; ++j) {
      count += counts_[j];
    }
    if (count != 0) {
      shown.emplace_back(UpperBoundOf(i + kJoined - 1), count);
    }
  }
  return shown;
}

}  // namespace varve
