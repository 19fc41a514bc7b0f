#include "tools/bench/latency_histogram.h"

#include <gtest/gtest.h>

namespace varve {
namespace {

TEST(LatencyHistogram, SmallValuesAreExact) {
  LatencyHistogram histogram;
  for (uint64_t i = 1; i <= 100; ++i) {
    histogram.Add(i);
  }
  EXPECT_EQ(histogram.Quantile(0.5), 50U);
  EXPECT_EQ(histogram.Quantile(0.99), 99U);
  EXPECT_EQ(histogram.Quantile(1), 100U);
  EXPECT_DOUBLE_EQ(histogram.mean(), 50.5);
}

TEST(LatencyHistogram, QuantilesAreAtMostASixtyFourthTooLarge) {
  for (uint64_t value = 1; value < uint64_t{1} << 62; value = value * 3 / 2 + 1) {
    LatencyHistogram histogram;
    histogram.Add(value);
    histogram.Add(UINT64_MAX / 2);
    EXPECT_GE(histogram.Quantile(0.5), value);
    EXPECT_LE(histogram.Quantile(0.5), value + value / 64);
  }
}

TEST(LatencyHistogram, NoQuantileExceedsTheLargestValue) {
  LatencyHistogram histogram;
  histogram.Add(1'000'003);
  EXPECT_EQ(histogram.Quantile(0.5), 1'000'003U);
  histogram.Add(UINT64_MAX);
  EXPECT_EQ(histogram.Quantile(1), UINT64_MAX);
}

TEST(LatencyHistogram, MergedIsAsIfOneHadCountedAll) {
  LatencyHistogram all;
  LatencyHistogram even;
  LatencyHistogram odd;
  for (uint64_t i = 0; i < 10'000; ++i) {
    all.Add(i * 17);
    (i % 2 == 0 ? even : odd).Add(i * 17);
  }
  even.Merge(odd);
  EXPECT_EQ(even.count(), all.count());
  EXPECT_EQ(even.max(), all.max());
  EXPECT_EQ(even.Quantile(0.999), all.Quantile(0.999));
  EXPECT_EQ(even.Buckets(), all.Buckets());
}

TEST(LatencyHistogram, BucketsHoldEveryValueInAscendingOrder) {
  LatencyHistogram histogram;
  uint64_t added = 0;
  for (uint64_t value = 1; value < 1'000'000'000; value = value * 5 / 4 + 1) {
    histogram.Add(value);
    ++added;
  }
  uint64_t counted = 0;
  uint64_t last = 0;
  for (const auto& [upper, count] : histogram.Buckets()) {
    EXPECT_GT(upper, last);
    last = upper;
    counted += count;
  }
  EXPECT_EQ(counted, added);
}

TEST(LatencyHistogram, EmptyOneHasNoQuantiles) {
  EXPECT_EQ(LatencyHistogram().Quantile(0.99), 0U);
  EXPECT_TRUE(LatencyHistogram().Buckets().empty());
}

}  // namespace
}  // namespace varve
