#include "engine/tree/level_targets.h"

#include <gtest/gtest.h>

#include <numeric>

namespace varve {
namespace {

LevelBounds Between(double least, double capacity, double most) {
  return {.capacity = capacity, .least = least, .most = most};
}

double SumOf(const std::vector<double>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 0.0);
}

// Bytes that are written of what a byte overlaps on its way down: all of level 1, of the others two fifths.
double CostOf(const std::vector<double>& sizes, double all) {
  std::vector<double> with_last = sizes;
  with_last.push_back(all - SumOf(sizes));
  double cost = 0;
  for (size_t i = 1; i < with_last.size(); ++i) {
    cost += (i == 1 ? 1 : 0.4) * with_last[i] / with_last[i - 1];
  }
  return cost;
}

TEST(LevelTargets, NoOtherSizesOfTheSameSpaceWriteLess) {
  // The larger the store, the less the last level changes with the others: it is reckoned as given.
  const double all = 100'000;
  const std::vector<LevelBounds> levels = {Between(8, 8, 100), Between(1, 8, 1000), Between(1, 80, 10'000)};
  const std::vector<double> sizes = TargetsOf(levels, all);
  ASSERT_EQ(sizes.size(), 3U);
  EXPECT_NEAR(SumOf(sizes), 96, 1) << "more space would be of use";
  const double cost = CostOf(sizes, all);
  EXPECT_LT(cost, 0.97 * CostOf({8, 8, 80}, all));
  for (size_t from = 0; from < sizes.size(); ++from) {
    for (size_t to = 0; to < sizes.size(); ++to) {
      std::vector<double> others = sizes;
      const double moved = std::min(sizes[from], sizes[to]) / 10;
      others[from] -= moved;
      others[to] += moved;
      const bool allowed = others[0] >= 8;
      if (from != to && allowed) {
        EXPECT_GT(CostOf(others, all), cost * 0.9999) << moved << " from level " << from << " to " << to;
      }
    }
  }
}

TEST(LevelTargets, ALevelThatIsLargerThanItNeedsToBeGivesSpaceBack) {
  const std::vector<LevelBounds> levels = {Between(8, 8, 16), Between(4, 8, 16), Between(40, 80, 160),
                                           Between(400, 800, 1600)};
  const std::vector<double> sizes = TargetsOf(levels, 2700);
  EXPECT_EQ(sizes[0], 16);
  EXPECT_EQ(sizes[1], 16);
  EXPECT_LT(sizes[3], 600);
  EXPECT_LT(SumOf(sizes), 0.75 * 896);
  EXPECT_LT(CostOf(sizes, 2700), 0.75 * CostOf({8, 8, 80, 800}, 2700));
}

// Where neither bounds nor capacities decide, a hundredth of the space spares a hundredth of the bytes, or a
// little more: the last level is taken to stay as it is.
TEST(LevelTargets, SpaceHasItsPrice) {
  const double all = 2500;
  const std::vector<LevelBounds> levels = {Between(8, 8, 8), Between(1, 80, 1000), Between(1, 800, 10'000)};
  const std::vector<double> sizes = TargetsOf(levels, all);
  EXPECT_LT(SumOf(sizes), 0.2 * all);
  for (size_t level = 1; level < sizes.size(); ++level) {
    std::vector<double> larger = sizes;
    larger[level] *= 1.01;
    const double spared = 1 - CostOf(larger, all) / CostOf(sizes, all);
    EXPECT_NEAR(spared * all / (larger[level] - sizes[level]), 1.2, 0.25) << level;
  }
}

TEST(LevelTargets, NoneLeavesItsBounds) {
  for (const double all : {1.0, 100.0, 10'000.0, 1'000'000.0}) {
    const std::vector<LevelBounds> levels = {Between(8, 8, 9), Between(7, 8, 10), Between(75, 80, 85)};
    const std::vector<double> sizes = TargetsOf(levels, all);
    for (size_t i = 0; i < levels.size(); ++i) {
      EXPECT_GE(sizes[i], levels[i].least) << i << " of " << all;
      EXPECT_LE(sizes[i], levels[i].most) << i << " of " << all;
    }
    EXPECT_LE(SumOf(sizes), 96.01) << all;
  }
}

TEST(LevelTargets, WhereTheyHaveNoChoiceTheyAreWhatTheyWere) {
  EXPECT_EQ(TargetsOf(std::vector<LevelBounds>{Between(8, 8, 8), Between(80, 80, 80)}, 1000),
            (std::vector<double>{8, 80}));
}

}  // namespace
}  // namespace varve
