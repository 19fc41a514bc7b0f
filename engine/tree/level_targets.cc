#include "engine/tree/level_targets.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace varve {

namespace {

// Of what a table overlaps on average, what the one does that overlaps the least, and goes first: measured
// with uniform updates (docs/benchmarks.md), levels 2 and 3.
constexpr double kLeastOverlap = 0.4;
// Both converge: a sweep halves the error or better where levels are as few as they are.
constexpr int kSweeps = 12;
constexpr int kHalvings = 20;
// What a share of the space costs, in shares of what is written.
constexpr double kSpacePrice = 1;

double SumOf(const std::vector<double>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 0.0);
}

// What a byte writes when it comes into the level, in ratios of the level to what comes at once.
double WeightOf(size_t level) {
  if (level == 0) {
    return 0;
  }
  return level == 1 ? 1 : kLeastOverlap;
}

// What a byte writes on its way to the last level.
double CostOf(const std::vector<double>& sizes, double all) {
  double cost = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const double below = i + 1 < sizes.size() ? sizes[i + 1] : std::max(all - SumOf(sizes), 0.0);
    cost += WeightOf(i + 1) * below / sizes[i];
  }
  return cost;
}

// Takes `sizes` nearer to where the weighted sum of ratios, and `price` for each byte, is least: of each
// level the derivative is 0 there.
void Improve(std::vector<double>& sizes, std::span<const LevelBounds> levels, double all, double price) {
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      // What is in none of them is in the last level.
      const double below = i + 1 < sizes.size() ? sizes[i + 1] : std::max(all - SumOf(sizes), 0.0);
      const double costs_more = price + (i == 0 ? 0 : WeightOf(i) / sizes[i - 1]);
      const double best = costs_more > 0 ? std::sqrt(WeightOf(i + 1) * below / costs_more) : levels[i].most;
      sizes[i] = std::clamp(best, levels[i].least, levels[i].most);
    }
  }
}

}  // namespace

std::vector<double> TargetsOf(std::span<const LevelBounds> levels, double all) {
  std::vector<double> sizes;
  double capacity = 0;
  for (const LevelBounds& level : levels) {
    sizes.push_back(std::clamp(level.capacity, level.least, level.most));
    capacity += level.capacity;
  }
  Improve(sizes, levels, all, 0);
  double low = 0;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    low = kSpacePrice * CostOf(sizes, all) / std::max(all, capacity);
    Improve(sizes, levels, all, low);
  }
  if (SumOf(sizes) <= capacity) {
    return sizes;
  }
  double high = low + 1 / capacity;
  for (int i = 0; i < kHalvings && SumOf(sizes) > capacity; ++i) {
    high *= 2;
    Improve(sizes, levels, all, high);
  }
  for (int i = 0; i < kHalvings; ++i) {
    const double price = (low + high) / 2;
    Improve(sizes, levels, all, price);
    (SumOf(sizes) > capacity ? low : high) = price;
  }
  Improve(sizes, levels, all, high);
  return sizes;
}

}  // namespace varve
