#include "fs/ops/listing_ahead.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "engine/ring/spawn_on.h"
#include "tests/fs/ops/ops_fixture.h"

namespace varve {
namespace {

constexpr uint64_t kVersion = 4;

class ListingAheadTest : public testing::Test {
 protected:
  // As a walk does; false: it was withdrawn.
  bool Walk(uint64_t entries, bool at_end) {
    if (!ahead_.Begin()) {
      return false;
    }
    for (uint64_t i = 0; i < entries; ++i) {
      DirectoryEntry entry;
      const std::string name = fmt::format("{:07}", ahead_.offset() + i);
      entry.name = name;
      entry.inode = InodeNumber(1000 + i);
      entry.mode = S_IFREG;
      entry.next_offset = ahead_.offset() + i + 1;
      EXPECT_TRUE(ahead_.Keep(entry));
    }
    ahead_.End(kVersion, at_end);
    return true;
  }
  std::vector<ListedEntry> Take(size_t entries_max) {
    CollectingSink sink(entries_max);
    ahead_.Take(sink);
    return sink.entries;
  }
  template <typename T>
  T Run(Task<T> task) {
    return executor_.Run(std::move(task));
  }

  ManualClock clock_;
  LocalExecutor executor_{clock_};
  ListingAhead ahead_;
};

TEST_F(ListingAheadTest, WhatWasKeptIsTakenFromItsPlaceOn) {
  EXPECT_TRUE(ahead_.is_wanted());
  EXPECT_TRUE(Run(ahead_.Offer(10)));
  ASSERT_TRUE(Walk(5, false));
  Run(ahead_.Claim());
  EXPECT_FALSE(ahead_.Holds(11, kVersion));
  EXPECT_FALSE(ahead_.Holds(10, kVersion + 2)) << "the directory has changed";
  ASSERT_TRUE(ahead_.Holds(10, kVersion));
  const std::vector<ListedEntry> two = Take(2);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[1].name, "0000011");
  EXPECT_EQ(two[1].inode, InodeNumber(1001));
  EXPECT_EQ(two[1].mode, uint32_t{S_IFREG});
  EXPECT_EQ(two[1].next_offset, 12u);
  EXPECT_FALSE(ahead_.is_wanted()) << "some are left";
  EXPECT_FALSE(ahead_.Holds(10, kVersion));
  ASSERT_TRUE(ahead_.Holds(12, kVersion));
  EXPECT_EQ(Take(100).size(), 3u);
  EXPECT_FALSE(ahead_.Holds(15, kVersion)) << "nothing is left";
  EXPECT_TRUE(ahead_.is_wanted());
  EXPECT_EQ(ahead_.offset(), 15u);
}

TEST_F(ListingAheadTest, BehindTheEndOrAfterAWalkInVainNoneIsWanted) {
  ASSERT_TRUE(Run(ahead_.Offer(10)));
  ASSERT_TRUE(Walk(5, true));
  Run(ahead_.Claim());
  EXPECT_EQ(Take(100).size(), 5u);
  EXPECT_FALSE(ahead_.is_wanted());
  // A new pass.
  ahead_.Discard();
  EXPECT_TRUE(ahead_.is_wanted());
  ASSERT_TRUE(Run(ahead_.Offer(2)));
  ASSERT_TRUE(Walk(5, false));
  Run(ahead_.Claim());
  EXPECT_EQ(Take(3).size(), 3u);
  ahead_.Discard();
  EXPECT_FALSE(ahead_.Holds(5, kVersion));
  EXPECT_FALSE(ahead_.is_wanted());
}

TEST_F(ListingAheadTest, AWalkThatHasNotBegunIsWithdrawnAndMayBeOfferedAgain) {
  ASSERT_TRUE(Run(ahead_.Offer(10)));
  Run(ahead_.Claim());
  EXPECT_FALSE(ahead_.Holds(10, 0));
  EXPECT_FALSE(Run(ahead_.Offer(20))) << "the one that was started can do it";
  Run(ahead_.Claim());
  EXPECT_FALSE(Run(ahead_.Offer(30)));
  EXPECT_TRUE(Walk(1, false));
  Run(ahead_.Claim());
  EXPECT_TRUE(ahead_.Holds(30, kVersion));
  EXPECT_EQ(Take(100).size(), 1u);
  ASSERT_TRUE(Run(ahead_.Offer(31)));
  Run(ahead_.Claim());
  EXPECT_FALSE(Walk(1, false));
  Run(ahead_.Claim());
  EXPECT_TRUE(Run(ahead_.Offer(31))) << "the one that was started is over";
}

TEST_F(ListingAheadTest, ARequestWaitsForAWalkThatHasBegunButNotForEver) {
  ASSERT_TRUE(Run(ahead_.Offer(10)));
  ASSERT_TRUE(ahead_.Begin());
  clock_.AdvanceTo(50'000'000);
  EXPECT_FALSE(ahead_.IsMissed(clock_.MonotonicNanos()));
  bool claimed = false;
  SpawnOn(executor_, [](ListingAhead& ahead, bool& has_turn) -> Task<void> {
    co_await ahead.Claim();
    has_turn = true;
  }(ahead_, claimed));
  executor_.RunReady();
  EXPECT_FALSE(claimed);
  const uint64_t seen = clock_.MonotonicNanos();
  EXPECT_FALSE(ahead_.IsMissed(seen));
  EXPECT_FALSE(ahead_.IsMissed(seen + ListingAhead::kPatienceNanos - 1));
  EXPECT_TRUE(ahead_.IsMissed(seen + ListingAhead::kPatienceNanos));
  ahead_.End(kVersion, false);
  executor_.RunReady();
  EXPECT_TRUE(claimed);
}

TEST_F(ListingAheadTest, AsMuchIsKeptAsAnAnswerHolds) {
  ASSERT_TRUE(Run(ahead_.Offer(2)));
  ASSERT_TRUE(ahead_.Begin());
  const std::string name(9, 'n');
  DirectoryEntry entry;
  entry.name = name;
  uint64_t kept = 0;
  while (ahead_.Keep(entry)) {
    ++kept;
  }
  // 24 bytes and the name, rounded up to 40.
  EXPECT_EQ(kept, ListingAhead::kBytesMax / 40);
  ahead_.End(kVersion, false);
}

}  // namespace
}  // namespace varve
