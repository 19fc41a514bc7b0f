#include "tools/bench_mount/phase.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace varve {

namespace {

// A bucket ends 2^(1/8) above the one before: 9% wide.
constexpr double kBucketsPerDoubling = 8;

double Percentile(const std::vector<uint64_t>& sorted, double share) {
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return static_cast<double>(sorted[std::max<size_t>(rank, 1) - 1]) / 1e3;
}

}  // namespace

LatencyFigures FiguresOf(std::vector<uint64_t> nanos) {
  LatencyFigures figures;
  if (nanos.empty()) {
    return figures;
  }
  std::sort(nanos.begin(), nanos.end());
  const double sum = std::accumulate(nanos.begin(), nanos.end(), 0.0);
  figures.mean = sum / static_cast<double>(nanos.size()) / 1e3;
  figures.p50 = Percentile(nanos, 0.5);
  figures.p99 = Percentile(nanos, 0.99);
  figures.p99_9 = Percentile(nanos, 0.999);
  figures.p99_99 = Percentile(nanos, 0.9999);
  figures.max = static_cast<double>(nanos.back()) / 1e3;
  for (const uint64_t each : nanos) {
    const double exponent =
        std::ceil(std::log2(static_cast<double>(std::max<uint64_t>(each, 1))) * kBucketsPerDoubling);
    const double upper = std::exp2(exponent / kBucketsPerDoubling) / 1e3;
    if (figures.histogram.empty() || figures.histogram.back().first < upper) {
      figures.histogram.emplace_back(upper, 0);
    }
    ++figures.histogram.back().second;
  }
  return figures;
}

}  // namespace varve
