#include "tools/bench/generators.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

namespace varve {
namespace {

std::vector<uint64_t> Histogram(NumberGenerator& generator, uint64_t items, uint64_t draws) {
  Prng random(42);
  std::vector<uint64_t> counts(items);
  for (uint64_t i = 0; i < draws; ++i) {
    const uint64_t number = generator.Next(random, items);
    EXPECT_LT(number, items);
    ++counts[number];
  }
  return counts;
}

// How far counts are from what was expected: about the number of cells when they fit.
double ChiSquare(const std::vector<uint64_t>& counts, const std::vector<double>& expected) {
  double sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double away = static_cast<double>(counts[i]) - expected[i];
    sum += away * away / expected[i];
  }
  return sum;
}

double ShareOf(const std::vector<uint64_t>& counts, size_t begin, size_t end) {
  uint64_t inside = 0;
  uint64_t all = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    all += counts[i];
    inside += i >= begin && i < end ? counts[i] : 0;
  }
  return static_cast<double>(inside) / static_cast<double>(all);
}

TEST(ZetaSum, IsTheSumOfItsTermsAlsoWhereItIsNotAddedUp) {
  for (const double constant : {0.5, 0.9, 0.99}) {
    double sum = 0;
    uint64_t added = 0;
    for (const uint64_t items : {1U, 2U, 1000U, 10'000U, 10'001U, 1'000'000U}) {
      while (added < items) {
        sum += std::pow(static_cast<double>(++added), -constant);
      }
      EXPECT_NEAR(ZetaSum(items, constant), sum, sum * 1e-12) << items << " " << constant;
    }
  }
}

TEST(ZetaSum, IsYcsbsConstantForItsSpaceOfScrambledRanks) {
  // ScrambledZipfianGenerator.ZETAN of YCSB, which was added up term by term.
  EXPECT_NEAR(ZetaSum(10'000'000'000, 0.99), 26.46902820178302, 1e-6);
}

TEST(FnvHash, IsTheKnownOne) {
  // FNV-1a of eight zero bytes.
  EXPECT_EQ(FnvHash(0), 0xa8c7f832281a39c5U);
}

TEST(Generators, UniformDrawsAreUniform) {
  UniformGenerator generator;
  constexpr uint64_t kItems = 1000;
  constexpr uint64_t kDraws = 1'000'000;
  const std::vector<uint64_t> counts = Histogram(generator, kItems, kDraws);
  const double chi = ChiSquare(counts, std::vector<double>(kItems, double{kDraws} / kItems));
  // 999 degrees of freedom: mean 999, standard deviation 44.7.
  EXPECT_GT(chi, 999 - 5 * 44.7);
  EXPECT_LT(chi, 999 + 5 * 44.7);
}

TEST(Generators, ZipfianRanksComeAsOftenAsTheirWeights) {
  constexpr double kConstant = 0.99;
  constexpr uint64_t kItems = 10'000;
  constexpr uint64_t kDraws = 2'000'000;
  ZipfianGenerator generator(kConstant);
  const std::vector<uint64_t> counts = Histogram(generator, kItems, kDraws);
  const double zeta = ZetaSum(kItems, kConstant);
  const auto expected = [&](uint64_t rank) {
    return static_cast<double>(kDraws) * std::pow(static_cast<double>(rank + 1), -kConstant) / zeta;
  };
  // Exact for the first two ranks: five standard deviations.
  for (const uint64_t rank : {0U, 1U}) {
    EXPECT_NEAR(static_cast<double>(counts[rank]), expected(rank), 5 * std::sqrt(expected(rank))) << rank;
  }
  // The method's approximation for the others: by decades of ranks.
  for (uint64_t begin = 2; begin < kItems; begin *= 5) {
    const uint64_t end = std::min(begin * 5, kItems);
    double should = 0;
    for (uint64_t rank = begin; rank < end; ++rank) {
      should += expected(rank) / double{kDraws};
    }
    EXPECT_NEAR(ShareOf(counts, begin, end), should, should * 0.12) << begin;
  }
}

TEST(Generators, ZipfianStaysRightWhileRecordsAreAddedOneByOne) {
  Prng random(1);
  ZipfianGenerator grown(0.99);
  for (uint64_t items = 1; items <= 5000; ++items) {
    EXPECT_LT(grown.Next(random, items), items);
  }
  ZipfianGenerator fresh(0.99);
  Prng first(7);
  Prng second(7);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(grown.Next(first, 5000), fresh.Next(second, 5000));
  }
}

TEST(Generators, ScrambledZipfianScattersThePopularRecords) {
  constexpr uint64_t kItems = 1000;
  constexpr uint64_t kDraws = 1'000'000;
  ScrambledZipfianGenerator generator(0.99);
  const std::vector<uint64_t> counts = Histogram(generator, kItems, kDraws);
  const uint64_t most_popular = FnvHash(0) % kItems;
  EXPECT_EQ(static_cast<uint64_t>(std::max_element(counts.begin(), counts.end()) - counts.begin()),
            most_popular);
  // Rank 0 alone takes 1/26.469 of the draws; whatever else hashes to its record comes on top.
  EXPECT_GT(static_cast<double>(counts[most_popular]) / kDraws, 1 / 26.469);
  // Neither half of the records has most of the draws, as they would in order of rank.
  EXPECT_NEAR(ShareOf(counts, 0, kItems / 2), 0.5, 0.15);
}

TEST(Generators, LatestPrefersTheNewestRecord) {
  constexpr uint64_t kItems = 1000;
  LatestGenerator generator(0.99);
  const std::vector<uint64_t> counts = Histogram(generator, kItems, 200'000);
  const double newest = 1 / ZetaSum(kItems, 0.99);
  EXPECT_NEAR(ShareOf(counts, kItems - 1, kItems), newest, newest * 0.05);
  EXPECT_GT(counts[kItems - 1], counts[kItems - 10]);
  EXPECT_GT(counts[kItems - 10], counts[10]);
}

TEST(Generators, FifteenPercentOfTheRecordsTakeNearlyAllOfRangeHot) {
  constexpr uint64_t kItems = 10'000;
  const std::unique_ptr<NumberGenerator> generator = MakeGenerator(Distribution::kHotRange, 0.99);
  const std::vector<uint64_t> counts = Histogram(*generator, kItems, 500'000);
  EXPECT_NEAR(ShareOf(counts, 4000, 5500), 0.98, 0.002);
  EXPECT_NEAR(ShareOf(counts, 0, 4000), 0.02 * 4000 / 8500, 0.001);
  EXPECT_GT(counts[0] + counts[1] + counts[2] + counts[3] + counts[4] + counts[5], 0U);
}

TEST(Generators, AWholeRangeThatIsHotLeavesNothingOutside) {
  HotRangeGenerator generator(0, 1, 0.5);
  Prng random(3);
  for (int i = 0; i < 100; ++i) {
    EXPECT_LT(generator.Next(random, 3), 3U);
  }
}

TEST(Generators, OneRecordIsAllThatCanBeDrawn) {
  Prng random(5);
  for (const Distribution distribution :
       {Distribution::kUniform, Distribution::kZipfian, Distribution::kScrambledZipfian,
        Distribution::kLatest, Distribution::kHotRange}) {
    const std::unique_ptr<NumberGenerator> generator = MakeGenerator(distribution, 0.99);
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(generator->Next(random, 1), 0U);
    }
  }
}

}  // namespace
}  // namespace varve
