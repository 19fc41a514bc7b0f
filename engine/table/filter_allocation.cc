#include "engine/table/filter_allocation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace varve {

namespace {

constexpr double kRateFallPerBit = std::numbers::ln2 * std::numbers::ln2;
// The logarithm of the price that is searched for, and how often the interval is halved.
constexpr double kLogPriceMin = -80;
constexpr double kLogPriceMax = 20;
constexpr int kHalvings = 60;

double BitsAt(const FilterLoad& load, double log_price) {
  const double log_rate = log_price + std::log(load.capacity);
  return std::clamp(-log_rate / kRateFallPerBit, kBitsPerKeyMin, kBitsPerKeyMax);
}

bool IsEmpty(const FilterLoad& load) {
  return load.runs <= 0 || load.capacity <= 0;
}

double MemoryAt(std::span<const FilterLoad> loads, double log_price) {
  double bits = 0;
  for (const FilterLoad& load : loads) {
    bits += IsEmpty(load) ? 0 : load.runs * load.capacity * BitsAt(load, log_price);
  }
  return bits;
}

}  // namespace

std::vector<double> AllocateFilterBits(std::span<const FilterLoad> loads, double bits_per_key) {
  std::vector<double> bits(loads.size(), bits_per_key);
  double budget = 0;
  for (const FilterLoad& load : loads) {
    budget += IsEmpty(load) ? 0 : load.runs * load.capacity * bits_per_key;
  }
  if (budget == 0) {
    return bits;
  }
  // The higher the price, the fewer bits.
  double low = kLogPriceMin;
  double high = kLogPriceMax;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (MemoryAt(loads, middle) > budget ? low : high) = middle;
  }
  for (size_t i = 0; i < loads.size(); ++i) {
    bits[i] = IsEmpty(loads[i]) ? bits_per_key : BitsAt(loads[i], high);
  }
  return bits;
}

}  // namespace varve
