// Which long reads follow each other, what is read ahead of them, and how long that is kept.
#include "engine/table/read_streams.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace varve {
namespace {

constexpr TableId kTable{7};
constexpr uint64_t kUntil = 256 * kMiB;
constexpr uint64_t kBlockBytes = 8 * kKiB;
constexpr uint64_t kSector = 512;
constexpr uint32_t kStreams = 4;

class ReadStreamsTest : public ::testing::Test {
 protected:
  // A walk of its own begins there, and reads a MiB.
  std::optional<ReadStreams::Range> Note(uint64_t begin, TableId table = kTable, uint64_t until = kUntil) {
    return streams_.Note(table, {begin, begin + kMiB}, until, kBlockBytes);
  }
  // Reads what Note answered, and keeps it.
  std::weak_ptr<PassingRead> Read(const ReadStreams::Range& range, TableId table = kTable) {
    const uint64_t start = RoundDown(range.begin, kSector);
    const uint64_t bytes = RoundUp(range.end, kSector) - start;
    auto read = std::make_shared<PassingRead>(start, std::vector<DevicePiece>{{DeviceOffset(start), bytes}},
                                              ReadRun::ForBlocksThatPass(bytes, kSector));
    streams_.Keep(table, read);
    return read;
  }
  // A stream of two reads in a row from `begin` on, with what is read ahead of them. Answers that.
  ReadStreams::Range Begin(uint64_t begin, TableId table = kTable) {
    EXPECT_FALSE(Note(begin, table));
    const std::optional<ReadStreams::Range> next = Note(begin + kMiB, table);
    EXPECT_TRUE(next);
    Read(next.value(), table);
    return *next;
  }
  bool Has(uint64_t table_offset, TableId table = kTable) const {
    return streams_.Find(table, {table_offset, 4 * kKiB, 0, Generation(1)}) != nullptr;
  }

  ReadStreams streams_;
};

TEST_F(ReadStreamsTest, TheSecondReadInARowIsReadAheadOf) {
  EXPECT_FALSE(Note(0));
  const std::optional<ReadStreams::Range> next = Note(kMiB);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->begin, 2 * kMiB - kBlockBytes);
  EXPECT_EQ(next->end, 2 * kMiB + ReadStreams::kReadBytes);
  EXPECT_TRUE(next->goes_on);
}

TEST_F(ReadStreamsTest, PartsOfTheIndexMayLieBetween) {
  EXPECT_FALSE(Note(0));
  EXPECT_TRUE(Note(kMiB + 32 * kKiB));
}

TEST_F(ReadStreamsTest, AReadMayBeginInTheBlockThatTheOneBeforeEndsWith) {
  EXPECT_FALSE(Note(kMiB));
  EXPECT_TRUE(Note(2 * kMiB - 32 * kKiB));
}

TEST_F(ReadStreamsTest, ReadsElsewhereDoNotFollow) {
  EXPECT_FALSE(Note(0));
  EXPECT_FALSE(Note(kMiB + 33 * kKiB));
  EXPECT_FALSE(Note(8 * kMiB));
  EXPECT_FALSE(Note(9 * kMiB - 33 * kKiB));
  EXPECT_FALSE(Note(kMiB, TableId(8)));
}

TEST_F(ReadStreamsTest, AWalkThatGoesOnIsNoFurtherRead) {
  EXPECT_FALSE(Note(0));
  EXPECT_FALSE(streams_.Note(kTable, {kMiB, 2 * kMiB, true}, kUntil, kBlockBytes));
  EXPECT_FALSE(streams_.Note(kTable, {2 * kMiB, 3 * kMiB, true}, kUntil, kBlockBytes));
  EXPECT_TRUE(Note(3 * kMiB));
}

TEST_F(ReadStreamsTest, AWalkWhoseBeginningWasNotNotedIsTheFirstRead) {
  EXPECT_FALSE(streams_.Note(kTable, {0, kMiB, true}, kUntil, kBlockBytes));
  EXPECT_TRUE(Note(kMiB));
}

TEST_F(ReadStreamsTest, NothingIsReadBehindTheEnd) {
  const uint64_t until = 2 * kMiB + 100 * kKiB;
  EXPECT_FALSE(Note(0, kTable, until));
  const std::optional<ReadStreams::Range> next = Note(kMiB, kTable, until);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->end, until);
  EXPECT_FALSE(Note(2 * kMiB, kTable, until));
}

TEST_F(ReadStreamsTest, TheNextIsUnderWayWhenReadsComeCloserThanTheDistance) {
  const ReadStreams::Range ahead = Begin(0);
  const uint64_t far = ahead.end - ReadStreams::kDistanceBytes;
  EXPECT_FALSE(streams_.Note(kTable, {far, far + kBlockBytes, true}, kUntil, kBlockBytes));
  const std::optional<ReadStreams::Range> next =
      streams_.Note(kTable, {far + 1, far + kBlockBytes, true}, kUntil, kBlockBytes);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->begin, ahead.end - kBlockBytes);
  EXPECT_EQ(next->end, ahead.end + ReadStreams::kReadBytes);
}

TEST_F(ReadStreamsTest, WhatWasReadAheadIsFoundByBlocksThatLieInItWhole) {
  const ReadStreams::Range ahead = Begin(0);
  EXPECT_TRUE(Has(ahead.begin));
  EXPECT_TRUE(Has(ahead.end - 4 * kKiB));
  EXPECT_FALSE(Has(ahead.end - 4 * kKiB + 1));
  EXPECT_FALSE(Has(ahead.begin - 1));
  EXPECT_FALSE(Has(ahead.begin, TableId(8)));
}

TEST_F(ReadStreamsTest, ABlockBetweenTwoReadsIsInOneOfThem) {
  const ReadStreams::Range first = Begin(0);
  const std::optional<ReadStreams::Range> second = Note(2 * kMiB);
  ASSERT_TRUE(second);
  Read(*second);
  for (uint64_t at = first.end - kBlockBytes; at < first.end; at += kSector) {
    EXPECT_NE(streams_.Find(kTable, {at, kBlockBytes, 0, Generation(1)}), nullptr) << first.end - at;
  }
}

TEST_F(ReadStreamsTest, ReadsThatComeOutOfOrderFindWhatLiesAMegabyteBehind) {
  const ReadStreams::Range first = Begin(0);
  const std::optional<ReadStreams::Range> second = Note(2 * kMiB);
  ASSERT_TRUE(second);
  Read(*second);
  const std::optional<ReadStreams::Range> third = Note(3 * kMiB);
  ASSERT_TRUE(third);
  Read(*third);
  const uint64_t last = first.end + kMiB;
  streams_.Note(kTable, {last - 1, last + kMiB}, kUntil, kBlockBytes);
  EXPECT_TRUE(Has(first.begin));
  streams_.Note(kTable, {last, last + kMiB}, kUntil, kBlockBytes);
  EXPECT_FALSE(Has(first.begin));
  EXPECT_TRUE(Has(second->end - 4 * kKiB));
}

TEST_F(ReadStreamsTest, AReadThatComesOutOfOrderBelongsToItsStream) {
  // As many as there are: one more would drop the oldest.
  for (uint32_t i = 1; i < kStreams; ++i) {
    Begin(0, TableId(100 + i));
  }
  const ReadStreams::Range ahead = Begin(4 * kMiB);
  EXPECT_FALSE(streams_.Note(kTable, {4 * kMiB, 5 * kMiB}, kUntil, kBlockBytes));
  for (uint32_t i = 1; i < kStreams; ++i) {
    EXPECT_TRUE(Has(ahead.begin - 4 * kMiB, TableId(100 + i)));
  }
  // No stream looks back so far.
  EXPECT_FALSE(Note(4 * kMiB - 1));
  EXPECT_FALSE(Has(ahead.begin - 4 * kMiB, TableId(101)));
  EXPECT_TRUE(Has(ahead.begin));
}

TEST_F(ReadStreamsTest, FourStreamsGoOnSideBySideInOneTableOrSeveral) {
  std::array<ReadStreams::Range, kStreams> ahead;
  for (uint32_t i = 0; i < kStreams; ++i) {
    ahead[i] = Begin(i / 2 * 64 * kMiB, TableId(i % 2));
  }
  for (uint32_t i = 0; i < kStreams; ++i) {
    EXPECT_TRUE(Has(ahead[i].begin, TableId(i % 2)));
    const std::optional<ReadStreams::Range> next = Note(i / 2 * 64 * kMiB + 2 * kMiB, TableId(i % 2));
    ASSERT_TRUE(next);
    EXPECT_EQ(next->begin, ahead[i].end - kBlockBytes);
  }
}

TEST_F(ReadStreamsTest, AFifthTakesThePlaceOfTheOneThatWasUsedLongestAgo) {
  std::array<ReadStreams::Range, kStreams> ahead;
  for (uint32_t i = 0; i < kStreams; ++i) {
    ahead[i] = Begin(0, TableId(i));
  }
  EXPECT_TRUE(Note(2 * kMiB, TableId(0)));
  EXPECT_FALSE(Note(0, TableId(kStreams)));
  EXPECT_TRUE(Has(ahead[0].begin, TableId(0)));
  EXPECT_FALSE(Has(ahead[1].begin, TableId(1)));
  EXPECT_TRUE(Has(ahead[2].begin, TableId(2)));
}

TEST_F(ReadStreamsTest, WhatIsReadForAStreamThatIsGoneIsGivenUp) {
  EXPECT_FALSE(Note(0));
  const std::optional<ReadStreams::Range> next = Note(kMiB);
  ASSERT_TRUE(next);
  for (uint32_t i = 0; i < kStreams; ++i) {
    Begin(0, TableId(100 + i));
  }
  EXPECT_TRUE(Read(*next).expired());
}

TEST_F(ReadStreamsTest, WhatWasTakenBackIsReadAheadLater) {
  EXPECT_FALSE(Note(0));
  const std::optional<ReadStreams::Range> next = Note(kMiB);
  ASSERT_TRUE(next);
  streams_.TakeBack(kTable, *next);
  const std::optional<ReadStreams::Range> again =
      streams_.Note(kTable, {2 * kMiB - kBlockBytes, 2 * kMiB + kBlockBytes}, kUntil, kBlockBytes);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->begin, 2 * kMiB);
}

TEST_F(ReadStreamsTest, TheOldestStreamOfAnotherTableIsDropped) {
  const ReadStreams::Range ahead = Begin(0);
  Begin(0, TableId(8));
  Begin(0, TableId(9));
  EXPECT_TRUE(streams_.DropOldest(kTable));
  EXPECT_TRUE(Has(ahead.begin));
  EXPECT_FALSE(Has(ahead.begin, TableId(8)));
  EXPECT_TRUE(Has(ahead.begin, TableId(9)));
  EXPECT_TRUE(streams_.DropOldest(kTable));
  EXPECT_FALSE(Has(ahead.begin, TableId(9)));
  EXPECT_FALSE(streams_.DropOldest(kTable));
  EXPECT_TRUE(Has(ahead.begin));
}

TEST_F(ReadStreamsTest, AStreamThatWasDroppedBeginsAnew) {
  Begin(0, TableId(8));
  EXPECT_TRUE(streams_.DropOldest(kTable));
  EXPECT_FALSE(Note(2 * kMiB, TableId(8)));
  EXPECT_TRUE(Note(3 * kMiB, TableId(8)));
}

}  // namespace
}  // namespace varve
