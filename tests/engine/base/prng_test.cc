#include "engine/base/prng.h"

#include <gtest/gtest.h>

#include <array>

namespace varve {
namespace {

TEST(Prng, SameSeedGivesTheSameNumbers) {
  Prng a(42);
  Prng b(42);
  Prng c(43);
  int equal = 0;
  for (int i = 0; i < 1000; i++) {
    const uint64_t n = a.Next();
    EXPECT_EQ(n, b.Next());
    equal += n == c.Next() ? 1 : 0;
  }
  EXPECT_EQ(equal, 0);
}

TEST(Prng, BelowReachesEveryNumberAboutEquallyOften) {
  Prng prng(7);
  std::array<int, 10> hits{};
  for (int i = 0; i < 100000; i++) {
    hits.at(prng.Below(10))++;
  }
  for (const int n : hits) {
    EXPECT_NEAR(n, 10000, 600);
  }
}

TEST(Prng, BetweenIncludesBothEnds) {
  Prng prng(9);
  bool low = false;
  bool high = false;
  for (int i = 0; i < 200; i++) {
    const uint64_t n = prng.Between(3, 5);
    EXPECT_TRUE(n >= 3 && n <= 5);
    low |= n == 3;
    high |= n == 5;
  }
  EXPECT_TRUE(low && high);
}

}  // namespace
}  // namespace varve
