#include "engine/table/filter.h"

#include <gtest/gtest.h>

#include "engine/base/checksum.h"

namespace varve {
namespace {

uint64_t HashOfNumber(uint64_t n) {
  const std::string key = "user" + std::to_string(n);
  return Hash64(key);
}

bool MayContain(const FilterBuilder::Image& image, uint64_t hash) {
  return FilterMayContain(image.geometry, image.pages[image.geometry.PageOf(hash)], hash);
}

double FalsePositiveRate(const FilterBuilder::Image& image) {
  constexpr uint64_t kProbes = 100000;
  uint64_t positives = 0;
  for (uint64_t i = 0; i < kProbes; ++i) {
    positives += MayContain(image, HashOfNumber(1'000'000'000 + i)) ? 1 : 0;
  }
  return static_cast<double>(positives) / kProbes;
}

FilterBuilder::Image BuildOf(uint64_t keys, double bits_per_key, double reserve = 0) {
  FilterBuilder builder;
  for (uint64_t i = 0; i < keys; ++i) {
    builder.Add(HashOfNumber(i));
  }
  return builder.Build(bits_per_key, reserve);
}

TEST(Filter, NoKeyIsEverDenied) {
  for (const uint64_t keys : {1u, 2u, 63u, 64u, 1000u, 50000u}) {
    for (const double bits : {0.5, 2.0, 5.5, 10.0, 20.0, 40.0}) {
      const FilterBuilder::Image image = BuildOf(keys, bits, 0.1);
      for (uint64_t i = 0; i < keys; ++i) {
        ASSERT_TRUE(MayContain(image, HashOfNumber(i))) << keys << " keys, " << bits << " bits";
      }
    }
  }
}

TEST(Filter, FalsePositivesAreNearNominal) {
  // 0.6185^bits, times what lines of 1024 bits cost.
  EXPECT_LT(FalsePositiveRate(BuildOf(100000, 10)), 0.0115);
  EXPECT_LT(FalsePositiveRate(BuildOf(100000, 5)), 0.11);
  EXPECT_LT(FalsePositiveRate(BuildOf(100000, 16)), 0.0012);
  EXPECT_LT(FalsePositiveRate(BuildOf(250, 10)), 0.016);
}

TEST(Filter, ExpectedRateIsTheMeasuredOne) {
  for (const double bits : {5.0, 8.0, 10.0}) {
    for (const double reserve : {0.0, 0.4}) {
      const FilterBuilder::Image image = BuildOf(100000, bits, reserve);
      const double expected = ExpectedFalsePositiveRate(image.descriptor);
      EXPECT_NEAR(FalsePositiveRate(image) / expected, 1, 0.1) << bits << " bits, reserve " << reserve;
    }
  }
  EXPECT_EQ(ExpectedFalsePositiveRate(FilterDescriptor{}), 1);
}

TEST(Filter, ReserveIsRoomForLaterKeys) {
  FilterBuilder::Image image = BuildOf(50000, 10, 0.4);
  EXPECT_EQ(image.descriptor.capacity, 70000u);
  EXPECT_EQ(image.descriptor.insertions, 50000u);
  for (uint64_t i = 50000; i < 70000; ++i) {
    const uint64_t hash = HashOfNumber(i);
    FilterInsert(image.geometry, image.pages[image.geometry.PageOf(hash)], hash);
  }
  for (uint64_t i = 0; i < 70000; ++i) {
    ASSERT_TRUE(MayContain(image, HashOfNumber(i)));
  }
  EXPECT_LT(FalsePositiveRate(image), 0.0115);
}

TEST(Filter, MemoryIsWhatWasAskedFor) {
  const FilterBuilder::Image image = BuildOf(100000, 10);
  const uint64_t bytes = uint64_t{image.geometry.pages} * image.geometry.page_bytes();
  EXPECT_GE(bytes, 125000u);
  EXPECT_LE(bytes, 125000u + 2 * 4096);
  EXPECT_LE(image.geometry.page_bytes(), 4096u);
  EXPECT_EQ(FilterBuilder::BytesFor(100000, 10, 0), bytes);
}

TEST(Filter, NoBitsMeansNoFilter) {
  const FilterBuilder::Image image = BuildOf(100, 0);
  EXPECT_EQ(image.geometry.pages, 0u);
  EXPECT_EQ(image.descriptor.capacity, 0u);
}

}  // namespace
}  // namespace varve
