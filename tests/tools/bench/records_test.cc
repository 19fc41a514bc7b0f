#include "tools/bench/records.h"

#include <gtest/gtest.h>

#include <string>

namespace varve {
namespace {

std::string Key(uint64_t number, bool missing = false, size_t bytes = 16) {
  std::string key;
  EncodeBenchKey(number, missing, bytes, key);
  return key;
}

TEST(BenchKeys, SortByNumberAndHaveTheSizeAskedFor) {
  for (const size_t bytes : {8U, 16U, 100U}) {
    for (const uint64_t number : {0U, 1U, 255U, 256U, 1'000'000U}) {
      EXPECT_EQ(Key(number, false, bytes).size(), bytes);
      EXPECT_LT(Key(number, false, bytes), Key(number + 1, false, bytes));
    }
  }
}

TEST(BenchKeys, AMissingKeyLiesBetweenTwoRecords) {
  for (const size_t bytes : {8U, 16U}) {
    EXPECT_LT(Key(7, false, bytes), Key(7, true, bytes));
    EXPECT_LT(Key(7, true, bytes), Key(8, false, bytes));
  }
}

TEST(BenchValues, HaveSizesInTheRangeAndDifferFromEachOther) {
  ValueSource values(100, 200, 1);
  Prng random(1);
  std::string last;
  size_t least = SIZE_MAX;
  size_t most = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::string_view value = values.Next(random);
    least = std::min(least, value.size());
    most = std::max(most, value.size());
    ASSERT_NE(value, last);
    last = value;
  }
  EXPECT_EQ(least, 100U);
  EXPECT_EQ(most, 200U);
}

TEST(BenchValues, MayBeLargerThanTheUsualBuffer) {
  constexpr size_t kBytes = 6 * 1024 * 1024;
  ValueSource values(kBytes, kBytes, 1);
  Prng random(1);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(values.Next(random).size(), kBytes);
  }
}

}  // namespace
}  // namespace varve
