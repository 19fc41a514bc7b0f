#include "engine/table/shadow_estimate.h"

#include <gtest/gtest.h>

#include "engine/base/checksum.h"
#include "tests/engine/table/table_fixture.h"
#include "tests/support/turns_beside.h"

namespace varve {
namespace {

Entries Keys(uint64_t from, uint64_t to, uint64_t step, uint64_t sequence) {
  Entries entries;
  for (uint64_t i = from; i < to; i += step) {
    entries[InternalKeyOf(NumberedKey(i), sequence)] = std::string(20, 'v');
  }
  return entries;
}

std::vector<uint64_t> HashesOf(const Entries& entries) {
  std::vector<uint64_t> hashes;
  for (const auto& [key, value] : entries) {
    hashes.push_back(Hash64(UserKeyOf(key)));
  }
  return hashes;
}

TEST(ShadowEstimate, CountsAKeyInTheNewestSegmentThatHoldsIt) {
  TableFixture fixture;
  const TableView first = fixture.Build(Keys(0, 20'000, 1, 1));
  const TableView view = fixture.Append(first, Keys(0, 20'000, 4, 2));
  const auto estimate = [&](const Entries& entries) {
    return fixture.Run(EstimateShadowed(fixture.environment, view, HashesOf(entries), IoPurpose::kCompaction))
        .value();
  };
  // All keys of the newer segment: none of the older one's is shadowed anew.
  std::vector<uint64_t> shadowed = estimate(Keys(0, 20'000, 8, 3));
  EXPECT_NEAR(static_cast<double>(shadowed[1]), 2500, 60);
  EXPECT_LT(shadowed[0], 60U);
  // Half of them in each.
  shadowed = estimate(Keys(0, 20'000, 2, 3));
  EXPECT_NEAR(static_cast<double>(shadowed[1]), 5000, 900);
  EXPECT_NEAR(static_cast<double>(shadowed[0]), 5000, 900);
  // New keys.
  shadowed = estimate(Keys(30'000, 40'000, 1, 3));
  EXPECT_LT(shadowed[0] + shadowed[1], 300U);
}

TEST(ShadowEstimate, LetsOthersRunWhileItLooksAtManyKeys) {
  TableFixture fixture;
  // Its filter is one page, which all of them are asked of.
  const TableView view = fixture.Build(Keys(0, 1000, 1, 1));
  std::vector<uint64_t> hashes;
  for (uint64_t i = 0; i < 200'000; ++i) {
    hashes.push_back(Hash64(NumberedKey(i)));
  }
  TurnsBeside beside;
  const auto estimate =
      fixture.Run(beside.Count(EstimateShadowed(fixture.environment, view, hashes, IoPurpose::kCompaction)));
  ASSERT_TRUE(estimate.ok()) << estimate.ToString();
  EXPECT_NEAR(static_cast<double>(estimate->front()), 1000, 1000);
  // A look for the smallest, one for the page's, and 8192 at a time for the pages and through the filter.
  EXPECT_GE(beside.turns(), 200'000U / 32'768 * 2 + 200'000U / 8192 * 2);
}

TEST(ShadowEstimate, SaysNothingOfASegmentWithoutAFilter) {
  TableFixture fixture;
  const TableView view = fixture.Build(Keys(0, 100, 1, 1), SegmentOptions{.bits_per_key = 0});
  const std::vector<uint64_t> shadowed =
      fixture
          .Run(EstimateShadowed(fixture.environment, view, HashesOf(Keys(0, 100, 1, 2)),
                                IoPurpose::kCompaction))
          .value();
  EXPECT_EQ(shadowed, std::vector<uint64_t>{0});
}

TEST(ShadowEstimate, NeedsFewPagesOfALargeFilter) {
  TableFixture fixture;
  const TableView view = fixture.Build(Keys(0, 60'000, 1, 1));
  const auto& read_bytes = fixture.device.counters().of(IoPurpose::kCompaction).read_bytes;
  const uint64_t before = read_bytes;
  const auto estimate = fixture.Run(
      EstimateShadowed(fixture.environment, view, HashesOf(Keys(0, 60'000, 1, 2)), IoPurpose::kCompaction));
  EXPECT_TRUE(estimate.ok()) << estimate.ToString();
  EXPECT_LT(read_bytes - before, view.meta_bytes() / 4);
}

}  // namespace
}  // namespace varve
