#include "engine/base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "engine/base/prng.h"

namespace varve {
namespace {

TEST(Histogram, QuantilesAreAtMostAnEighthTooLarge) {
  Histogram histogram;
  Prng prng(1);
  std::vector<uint64_t> values;
  for (int i = 0; i < 20000; i++) {
    values.push_back(prng.Next() >> prng.Between(1, 60));
    histogram.Add(values.back());
  }
  std::ranges::sort(values);
  for (const double q : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const uint64_t exact = values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
    EXPECT_GE(histogram.Quantile(q), exact);
    EXPECT_LE(static_cast<double>(histogram.Quantile(q)), static_cast<double>(exact) * 1.126 + 1);
  }
  EXPECT_EQ(histogram.max(), values.back());
}

TEST(Histogram, TakesTheLargestNumber) {
  Histogram histogram;
  histogram.Add(~uint64_t{0});
  EXPECT_EQ(histogram.Quantile(1), ~uint64_t{0});
}

TEST(Histogram, OfAFewValuesTheLargestIsEveryHighQuantile) {
  Histogram histogram;
  histogram.Add(1);
  histogram.Add(7);
  EXPECT_EQ(histogram.Quantile(0.5), 1U);
  EXPECT_EQ(histogram.Quantile(0.9), 7U);
  EXPECT_EQ(histogram.Quantile(0.999), 7U);
}

TEST(Histogram, CountsWhatItMerges) {
  Histogram histogram, other;
  histogram.Add(5);
  other.Add(3);
  other.Add(1000);
  histogram.Merge(other);
  EXPECT_EQ(histogram.count(), 3U);
  EXPECT_EQ(histogram.sum(), 1008U);
  EXPECT_EQ(histogram.max(), 1000U);
  EXPECT_EQ(histogram.Quantile(0.5), 5U);
  histogram.Merge(Histogram());
  EXPECT_EQ(histogram.max(), 1000U);
}

TEST(Histogram, IsEmptyAfterReset) {
  Histogram histogram;
  histogram.Add(5);
  histogram.Reset();
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.Quantile(0.5), 0U);
}

}  // namespace
}  // namespace varve
