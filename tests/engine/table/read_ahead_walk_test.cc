#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "engine/base/read_ahead_marks.h"
#include "engine/table/background_reads.h"
#include "engine/table/table_reader.h"
#include "tests/engine/table/table_fixture.h"

namespace varve {
namespace {

// Two levels of index, and blocks of a few entries each.
constexpr uint64_t kEntries = 6000;
constexpr size_t kValueBytes = 1000;

struct Walked {
  Status status;
  uint64_t entries = 0;
};

class ReadAheadWalkTest : public ::testing::Test {
 protected:
  ReadAheadWalkTest() : with_({.cache_bytes = 32 * kMiB, .yields = true}), view_(with_.Build(entries_)) {}
  ~ReadAheadWalkTest() override { with_.Run(background_.End()); }

  TableIteratorOptions Options() {
    TableIteratorOptions options;
    options.background = &background_;
    options.goes_on = true;
    return options;
  }

  // Up to `count` entries from that on which `from` is the number of; checks each. In a coroutine, as a
  // store's iterators are used.
  Walked Walk(TableIteratorOptions options, uint64_t from = 0, uint64_t count = kEntries) {
    return with_.Run(WalkOn(options, from, count));
  }

  Task<Walked> WalkOn(TableIteratorOptions options, uint64_t from, uint64_t count) {
    const std::unique_ptr<InternalIterator> it = NewTableIterator(with_.environment, view_, options);
    const std::string start = InternalKeyOf(NumberedKey(from), kSequenceNumberMax.value);
    Walked walked;
    auto expected = entries_.lower_bound(start);
    if (it->Seek(start) == Step::kNeedsIo) {
      co_await it->Load();
    }
    while (it->Valid() && walked.entries < count) {
      EXPECT_EQ(it->key(), expected->first);
      EXPECT_EQ(it->value(), expected->second);
      ++expected;
      ++walked.entries;
      if (it->Next() == Step::kNeedsIo) {
        co_await it->Load();
      }
    }
    walked.status = it->status();
    co_return walked;
  }

  uint64_t reads() const { return with_.device.counters().of(IoPurpose::kUserRead).reads.load(); }
  uint64_t read_bytes() const { return with_.device.counters().of(IoPurpose::kUserRead).read_bytes.load(); }

  const Entries entries_ = NumberedEntries(kEntries, kValueBytes);
  TableFixture with_;
  BackgroundReads background_{ReadPages::kCacheBytesMin};
  const TableView view_;
};

TEST_F(ReadAheadWalkTest, GivesWhatAWalkGivesThatWaits) {
  EXPECT_EQ(Walk(Options()).entries, kEntries);
  EXPECT_LE(reads(), view_.used_bytes / (BackgroundReads::kReadBytesMax / 2));
  EXPECT_LE(read_bytes(), view_.used_bytes + 64 * kKiB);
}

TEST_F(ReadAheadWalkTest, AnIteratorFindsWhatTheOneBeforeBegan) {
  ReadAheadMarks marks;
  TableIteratorOptions options = Options();
  options.marks = &marks;
  for (uint64_t from = 0; from < kEntries; from += 500) {
    EXPECT_EQ(Walk(options, from, 500).entries, 500u);
  }
  EXPECT_LE(reads(), view_.used_bytes / (BackgroundReads::kReadBytesMax / 2));
  EXPECT_LE(read_bytes(), view_.used_bytes + 64 * kKiB);
}

TEST_F(ReadAheadWalkTest, WrongMarksCostNoEntry) {
  for (const uint64_t mark : {uint64_t{1}, uint64_t{700} * kKiB, view_.used_bytes, UINT64_MAX / 2}) {
    ReadAheadMarks marks;
    marks.Set({view_.id, view_.segments[0].footer.table_offset}, mark);
    TableIteratorOptions options = Options();
    options.marks = &marks;
    with_.cache.EraseTable(view_.id);
    EXPECT_EQ(Walk(options).entries, kEntries) << mark;
  }
}

TEST_F(ReadAheadWalkTest, NothingBehindTheLastKeyIsRead) {
  TableIteratorOptions options = Options();
  options.last_key = NumberedKey(600);
  EXPECT_GE(Walk(options).entries, 601u);
  EXPECT_LE(read_bytes(), 600 * (kValueBytes + 64) + 128 * kKiB);
}

TEST_F(ReadAheadWalkTest, AShortWalkReadsNothingAhead) {
  TableIteratorOptions options = Options();
  options.goes_on = false;
  EXPECT_EQ(Walk(options, 100, 10).entries, 10u);
  EXPECT_LE(read_bytes(), 100 * kKiB);
}

TEST_F(ReadAheadWalkTest, ADamagedBlockIsNamedByTheWalk) {
  // In the middle of the data.
  with_.device.Corrupt(TableFixture::DeviceOffsetOf(view_, view_.used_bytes / 2), 1);
  const Walked walked = Walk(Options());
  EXPECT_TRUE(walked.status.Is(ErrorCode::kCorruption)) << walked.status.ToString();
  EXPECT_LT(walked.entries, kEntries);
}

TEST_F(ReadAheadWalkTest, WhatCouldNotBeReadAheadIsReadByTheWalk) {
  with_.device.FailRead(6);
  EXPECT_EQ(Walk(Options()).entries, kEntries);
}

TEST_F(ReadAheadWalkTest, NoneBeginsAfterTheEnd) {
  BackgroundReads ended(32 * kMiB);
  with_.Run(ended.End());
  TableIteratorOptions options = Options();
  options.background = &ended;
  EXPECT_EQ(Walk(options).entries, kEntries);
}

TEST_F(ReadAheadWalkTest, TheEndWaitsForWhatIsUnderWay) {
  BackgroundReads reads(32 * kMiB);
  TableIteratorOptions options = Options();
  options.background = &reads;
  EXPECT_EQ(Walk(options, 0, 10).entries, 10u);
  const uint64_t inserts = with_.cache.statistics().of(BlockKind::kData).inserts;
  with_.Run(reads.End());
  EXPECT_GT(with_.cache.statistics().of(BlockKind::kData).inserts, inserts + 100);
}

}  // namespace
}  // namespace varve
