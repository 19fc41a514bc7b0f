#include "engine/table/filter_allocation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/table/filter.h"

namespace varve {
namespace {

double MemoryOf(const std::vector<FilterLoad>& loads, const std::vector<double>& bits) {
  double memory = 0;
  for (size_t i = 0; i < loads.size(); ++i) {
    memory += loads[i].runs * loads[i].capacity * bits[i];
  }
  return memory;
}

// What a get of an absent key is misled by, by the filters' own model.
double MisledBy(const std::vector<FilterLoad>& loads, const std::vector<double>& bits) {
  double misled = 0;
  for (size_t i = 0; i < loads.size(); ++i) {
    const auto capacity = static_cast<uint64_t>(loads[i].capacity);
    const FilterDescriptor filter{capacity, capacity, bits[i], FilterGeometry::For(capacity, bits[i]).probes};
    misled += loads[i].runs * ExpectedFalsePositiveRate(filter);
  }
  return misled;
}

TEST(FilterAllocation, LevelsMisleadLessThanWithEqualBitsInNoMoreMemory) {
  const std::vector<FilterLoad> loads = {{6, 120'000}, {1, 250'000}, {1, 2'500'000}, {1, 25'000'000}};
  const std::vector<double> equal(loads.size(), 10.0);
  const std::vector<double> bits = AllocateFilterBits(loads, 10);
  EXPECT_LE(MemoryOf(loads, bits), MemoryOf(loads, equal));
  EXPECT_GT(MemoryOf(loads, bits), MemoryOf(loads, equal) * 0.999);
  EXPECT_LT(MisledBy(loads, bits), MisledBy(loads, equal) * 0.3);
  EXPECT_GT(bits[0], bits[1]);
  EXPECT_GT(bits[1], bits[2]);
  EXPECT_GT(bits[2], bits[3]);
  // The last level pays for the others, and hardly notices.
  EXPECT_LT(bits[3], 10);
  EXPECT_GT(bits[3], 9);
}

TEST(FilterAllocation, NoOtherSharingOfThatMemoryMisleadsLess) {
  const std::vector<FilterLoad> loads = {{4, 500'000}, {1, 1'000'000}, {2, 3'000'000}};
  const std::vector<double> bits = AllocateFilterBits(loads, 10);
  const auto rate = [&](const std::vector<double>& at) {
    double sum = 0;
    for (size_t i = 0; i < loads.size(); ++i) {
      sum += loads[i].runs * std::exp(-std::pow(std::log(2.0), 2) * at[i]);
    }
    return sum;
  };
  for (size_t from = 0; from < loads.size(); ++from) {
    for (size_t to = 0; to < loads.size(); ++to) {
      if (from != to) {
        std::vector<double> moved = bits;
        moved[from] -= 0.2;
        moved[to] += 0.2 * loads[from].runs * loads[from].capacity / (loads[to].runs * loads[to].capacity);
        EXPECT_GT(rate(moved), rate(bits)) << from << " to " << to;
      }
    }
  }
}

TEST(FilterAllocation, RoomForLaterKeysIsPaidFor) {
  const std::vector<FilterLoad> loads = {{1, 1'000'000}, {1, 3'000'000}};
  const std::vector<double> bits = AllocateFilterBits(loads, 10);
  EXPECT_LT(bits[1], bits[0]);
  EXPECT_LE(MemoryOf(loads, bits), 40'000'000.0);
}

TEST(FilterAllocation, OneLevelGetsWhatAllGetOtherwise) {
  EXPECT_NEAR(AllocateFilterBits(std::vector<FilterLoad>{{0, 0}, {1, 1000}}, 10)[1], 10, 0.01);
  EXPECT_EQ(AllocateFilterBits(std::vector<FilterLoad>{{0, 0}}, 10)[0], 10);
}

TEST(FilterAllocation, BitsStayWithinTheirBounds) {
  const std::vector<double> bits = AllocateFilterBits(std::vector<FilterLoad>{{1, 1}, {1, 1e12}}, 10);
  EXPECT_EQ(bits[0], kBitsPerKeyMax);
  EXPECT_GE(bits[1], kBitsPerKeyMin);
}

}  // namespace
}  // namespace varve
