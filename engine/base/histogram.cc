#include "engine/base/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace varve {

size_t Histogram::BucketOf(uint64_t value) {
  if (value < kBucketsPerOctave) {
    return static_cast<size_t>(value);
  }
  const size_t octave = static_cast<size_t>(std::bit_width(value)) - 1;  // at least 3
  const size_t within = static_cast<size_t>(value >> (octave - 3)) & (kBucketsPerOctave - 1);
  return std::min((octave - 2) * kBucketsPerOctave + within, kBuckets - 1);
}

uint64_t Histogram::UpperBoundOf(size_t bucket) {
  if (bucket < kBucketsPerOctave) {
    return bucket;
  }
  const size_t octave = bucket / kBucketsPerOctave + 2;
  const uint64_t within = bucket % kBucketsPerOctave;
  return ((kBucketsPerOctave + within + 1) << (octave - 3)) - 1;
}

void Histogram::Add(uint64_t value) {
  counts_[BucketOf(value)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
  RaiseMax(value);
}

void Histogram::Merge(const Histogram& other) {
  for (size_t i = 0; i < kBuckets; i++) {
    counts_[i].fetch_add(other.counts_[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  sum_.fetch_add(other.sum(), std::memory_order_relaxed);
  RaiseMax(other.max());
}

void Histogram::RaiseMax(uint64_t value) {
  uint64_t seen = max_.load(std::memory_order_relaxed);
  while (seen < value && !max_.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

uint64_t Histogram::count() const {
  uint64_t total = 0;
  for (const auto& bucket : counts_) {
    total += bucket.load(std::memory_order_relaxed);
  }
  return total;
}

double Histogram::mean() const {
  const uint64_t n = count();
  return n == 0 ? 0 : static_cast<double>(sum()) / static_cast<double>(n);
}

uint64_t Histogram::Quantile(double q) const {
  const uint64_t n = count();
  if (n == 0) {
    return 0;
  }
  // Nearest rank, so that of a few values the largest is every high quantile. The small number takes back
  // what rounding may have added to an exact product.
  const auto rank = static_cast<uint64_t>(std::max(1.0, std::ceil(q * static_cast<double>(n) - 1e-6)));
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; i++) {
    seen += counts_[i].load(std::memory_order_relaxed);
    if (seen >= rank) {
      return std::min(UpperBoundOf(i), max());
    }
  }
  return max();
}

void Histogram::Reset() {
  for (auto& bucket : counts_) {
    bucket.store(0, std::memory_order_relaxed);
  }
  sum_.store(0, std::memory_order_relaxed);
  max_.store(0, std::memory_order_relaxed);
}

}  // namespace varve
