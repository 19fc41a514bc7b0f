// Long walks whose blocks pass: reads over parts of the index, in pieces, and ahead of walks that follow.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/table/background_reads.h"
#include "engine/table/table_reader.h"
#include "tests/engine/table/table_fixture.h"

namespace varve {
namespace {

// Two levels of index, and blocks that hold one entry each.
constexpr uint64_t kEntries = 3000;
constexpr size_t kValueBytes = 4000;
constexpr uint64_t kEntryBytes = kValueBytes + 100;
constexpr uint64_t kOneRead = 250;

class ReadsThroughTest : public ::testing::TestWithParam<bool> {
 public:
  ReadsThroughTest() : with_({.cache_bytes = 8 * kMiB, .yields = GetParam()}), view_(with_.Build(entries_)) {}
  ~ReadsThroughTest() override { with_.Run(background_.End()); }

  // As a walk over a file's content is.
  TableIteratorOptions Options(uint64_t stretch_bytes = 0) {
    TableIteratorOptions options;
    options.fill_cache = false;
    options.fill_index = true;
    options.background = &background_;
    options.readahead_bytes = 1 * kMiB + 128 * kKiB;
    options.first_read_bytes = options.readahead_bytes;
    options.reads_through_bytes = 16 * kKiB;
    options.stretch_bytes = stretch_bytes;
    return options;
  }

  // The entries from that on which `from` is the number of, `count` of them, all checked.
  Status Walk(TableIteratorOptions options, uint64_t from, uint64_t count) {
    options.last_key = NumberedKey(from + count);
    return with_.Run(WalkOn(options, from, count));
  }
  Task<Status> WalkOn(TableIteratorOptions options, uint64_t from, uint64_t count) {
    const std::unique_ptr<InternalIterator> it = NewTableIterator(with_.environment, view_, options);
    const std::string start = InternalKeyOf(NumberedKey(from), kSequenceNumberMax.value);
    auto expected = entries_.lower_bound(start);
    if (it->Seek(start) == Step::kNeedsIo) {
      co_await it->Load();
    }
    for (uint64_t i = 0; i < count && expected != entries_.end(); ++i, ++expected) {
      if (!it->Valid()) {
        EXPECT_FALSE(it->status().ok()) << "the walk ended after " << i;
        co_return it->status();
      }
      EXPECT_EQ(it->key(), expected->first);
      EXPECT_TRUE(it->value() == expected->second) << i;
      if (it->Next() == Step::kNeedsIo) {
        co_await it->Load();
      }
    }
    co_return it->status();
  }
  // All index parts enter the cache.
  void WarmIndex() {
    ASSERT_TRUE(Walk(Options(), 0, kEntries).ok());
    ResetCounts();
  }
  void ResetCounts() {
    reads_before_ = Counters().reads.load();
    bytes_before_ = Counters().read_bytes.load();
  }
  uint64_t reads() const { return Counters().reads.load() - reads_before_; }
  uint64_t read_bytes() const { return Counters().read_bytes.load() - bytes_before_; }
  const IoCounters::OfPurpose& Counters() const { return with_.device.counters().of(IoPurpose::kUserRead); }

  const Entries entries_ = NumberedEntries(kEntries, kValueBytes);
  TableFixture with_;
  BackgroundReads background_{256 * kMiB};
  const TableView view_;
  uint64_t reads_before_ = 0;
  uint64_t bytes_before_ = 0;
};

TEST_P(ReadsThroughTest, AReadGoesOnOverPartsOfTheIndexThatAreCached) {
  WarmIndex();
  uint64_t walks = 0;
  for (uint64_t from = 0; from + kOneRead <= kEntries; from += kOneRead, ++walks) {
    ASSERT_TRUE(Walk(Options(), from, kOneRead).ok());
  }
  // One read each, in pieces of which the device is told.
  EXPECT_LE(reads(), walks * CeilDiv(kOneRead * kEntryBytes, PassingRead::kPieceBytes));
  EXPECT_LE(read_bytes(), walks * (kOneRead + 2) * kEntryBytes + walks * 32 * kKiB);
  // Without it, each part of the index ends a read.
  ResetCounts();
  TableIteratorOptions options = Options();
  options.reads_through_bytes = 0;
  options.background = nullptr;
  ASSERT_TRUE(Walk(options, 0, kEntries).ok());
  const uint64_t without = reads();
  ResetCounts();
  options.reads_through_bytes = 16 * kKiB;
  ASSERT_TRUE(Walk(options, 0, kEntries).ok());
  EXPECT_LT(2 * reads(), without);
  EXPECT_LE(reads(), view_.used_bytes / options.readahead_bytes + 2);
}

TEST_P(ReadsThroughTest, WithoutTheIndexInTheCacheTheWalkGivesTheSame) {
  ASSERT_TRUE(Walk(Options(), 0, kEntries).ok());
  with_.cache.EraseTable(view_.id);
  for (uint64_t from = 7; from + 300 <= kEntries; from += 300) {
    with_.cache.EraseTable(view_.id);
    ASSERT_TRUE(Walk(Options(), from, 300).ok());
  }
}

TEST_P(ReadsThroughTest, WhatPassesDoesNotEnterTheCacheNorAsksItForEachBlock) {
  WarmIndex();
  const CacheStatistics before = with_.cache.statistics();
  ASSERT_TRUE(Walk(Options(), 100, kOneRead).ok());
  const CacheStatistics after = with_.cache.statistics();
  EXPECT_EQ(after.of(BlockKind::kData).inserts, before.of(BlockKind::kData).inserts);
  EXPECT_EQ(with_.cache.CachedDataBlocks(view_.id), 0u);
}

TEST_P(ReadsThroughTest, WalksThatFollowEachOtherFindWhatWasReadAhead) {
  WarmIndex();
  uint64_t from = 0;
  const uint64_t stretch = kEntries * kValueBytes;
  for (; from < 3 * kOneRead; from += kOneRead) {
    ASSERT_TRUE(Walk(Options(stretch - from * kValueBytes), from, kOneRead).ok());
  }
  // All that comes now has been read when it is asked for, or is being read.
  for (; from + kOneRead <= kEntries; from += kOneRead) {
    if (!GetParam()) {
      const uint64_t end = std::min((from + kOneRead) * kValueBytes, view_.used_bytes);
      ASSERT_GE(read_bytes() + 64 * kKiB, end) << from;
    }
    ASSERT_TRUE(Walk(Options(stretch - from * kValueBytes), from, kOneRead).ok());
  }
  // Nothing twice but where reads overlap, and nothing behind the stretch.
  EXPECT_LE(read_bytes(), view_.used_bytes + view_.used_bytes / 50);
}

TEST_P(ReadsThroughTest, NothingIsReadAheadBehindTheStretchNorForWalksThatDoNotFollow) {
  WarmIndex();
  ASSERT_TRUE(Walk(Options(2 * kOneRead * kValueBytes), 0, kOneRead).ok());
  ASSERT_TRUE(Walk(Options(kOneRead * kValueBytes), kOneRead, kOneRead).ok());
  EXPECT_LE(read_bytes(), 2 * (kOneRead + 20) * kEntryBytes);
  ResetCounts();
  for (const uint64_t from : {2000, 800, 1600, 2400, 1200}) {
    ASSERT_TRUE(Walk(Options(kEntries * kValueBytes), from, kOneRead).ok());
  }
  EXPECT_LE(read_bytes(), 5 * (kOneRead + 20) * kEntryBytes);
}

TEST_P(ReadsThroughTest, ManyStreamsAtOnceAreServedAndKeepWithinTheirPages) {
  WarmIndex();
  const uint64_t stretch = kEntries * kValueBytes;
  for (uint64_t step = 0; step < 2; ++step) {
    for (uint64_t stream = 0; stream < 6; ++stream) {
      const uint64_t from = stream * 500 + step * kOneRead;
      ASSERT_TRUE(Walk(Options(stretch - from * kValueBytes), from, kOneRead).ok());
    }
  }
  EXPECT_LE(read_bytes(), 2 * view_.used_bytes);
}

TEST_P(ReadsThroughTest, APieceThatFailsIsReadAgainBlockByBlock) {
  WarmIndex();
  with_.device.FailRead(1);
  EXPECT_TRUE(Walk(Options(), 0, kOneRead).ok());
  // Also what was read ahead.
  const uint64_t stretch = kEntries * kValueBytes;
  for (uint64_t from = 0; from + kOneRead <= kEntries; from += kOneRead) {
    // What one walk reads ahead the next ones read again.
    if (from / kOneRead % 4 == 0) {
      with_.device.FailRead(from / kOneRead % 3);
    }
    EXPECT_TRUE(Walk(Options(stretch - from * kValueBytes), from, kOneRead).ok()) << from;
  }
  with_.device.Heal();
}

TEST_P(ReadsThroughTest, ABlockThatCannotBeReadFailsTheWalkAndNoOther) {
  WarmIndex();
  const uint64_t at = TableFixture::DeviceOffsetOf(view_, 600 * kEntryBytes);
  with_.device.MakeUnreadable(at, 512);
  EXPECT_TRUE(Walk(Options(), 0, 550).ok());
  EXPECT_TRUE(Walk(Options(), 500, kOneRead).Is(ErrorCode::kDeviceError));
  EXPECT_TRUE(Walk(Options(), 650, kOneRead).ok());
}

TEST_P(ReadsThroughTest, ADamagedBlockIsNamedAsCorrupt) {
  WarmIndex();
  with_.device.Corrupt(TableFixture::DeviceOffsetOf(view_, 600 * kEntryBytes), 1);
  EXPECT_TRUE(Walk(Options(), 0, 550).ok());
  EXPECT_TRUE(Walk(Options(), 500, kOneRead).Is(ErrorCode::kCorruption));
  TableIteratorOptions passes_over = Options();
  passes_over.pass_over_damage = true;
  passes_over.last_key = NumberedKey(800);
  uint64_t entries = 0;
  with_.Run([](ReadsThroughTest& test, TableIteratorOptions options, uint64_t& count) -> Task<void> {
    const std::unique_ptr<InternalIterator> it =
        NewTableIterator(test.with_.environment, test.view_, options);
    if (it->Seek(InternalKeyOf(NumberedKey(500), kSequenceNumberMax.value)) == Step::kNeedsIo) {
      co_await it->Load();
    }
    while (it->Valid()) {
      ++count;
      if (it->Next() == Step::kNeedsIo) {
        co_await it->Load();
      }
    }
  }(*this, passes_over, entries));
  EXPECT_GE(entries, 299u);
}

// The place of a block that nobody needs may be written anew between the read ahead and its use.
TEST_P(ReadsThroughTest, WhatWasReadAheadBeforeItWasWrittenIsReadAgain) {
  WarmIndex();
  const uint64_t offset = TableFixture::DeviceOffsetOf(view_, 3 * kOneRead * kEntryBytes);
  const std::string there = with_.device.Peek(offset, 64 * kKiB);
  const uint64_t stretch = kEntries * kValueBytes;
  with_.device.Corrupt(offset, 64 * kKiB);
  for (uint64_t from = 0; from < 2 * kOneRead; from += kOneRead) {
    ASSERT_TRUE(Walk(Options(stretch - from * kValueBytes), from, kOneRead).ok());
  }
  ASSERT_TRUE(Walk(Options(stretch - 2 * kOneRead * kValueBytes), 2 * kOneRead, kOneRead / 2).ok());
  with_.device.Poke(offset, there);
  EXPECT_TRUE(Walk(Options(stretch - 2 * kOneRead * kValueBytes), 2 * kOneRead, 2 * kOneRead).ok());
}

TEST_P(ReadsThroughTest, NoneBeginsAfterTheEnd) {
  BackgroundReads ended(256 * kMiB);
  with_.Run(ended.End());
  TableIteratorOptions options = Options(kEntries * kValueBytes);
  options.background = &ended;
  EXPECT_TRUE(Walk(options, 0, kEntries).ok());
}

TEST_P(ReadsThroughTest, AWalkThatIsGivenUpLeavesItsReadsToEnd) {
  WarmIndex();
  BackgroundReads reads(256 * kMiB);
  TableIteratorOptions options = Options(kEntries * kValueBytes);
  options.background = &reads;
  for (uint64_t from = 0; from < 4 * kOneRead; from += kOneRead) {
    ASSERT_TRUE(Walk(options, from, 10).ok());
  }
  with_.Run(reads.End());
}

// Without pages nothing is read ahead.
TEST_P(ReadsThroughTest, ASmallCacheGivesTheSame) {
  WarmIndex();
  BackgroundReads small(8 * kMiB);
  TableIteratorOptions options = Options(kEntries * kValueBytes);
  options.background = &small;
  for (uint64_t from = 0; from + kOneRead <= kEntries; from += kOneRead) {
    ASSERT_TRUE(Walk(options, from, kOneRead).ok());
  }
  EXPECT_LE(read_bytes(), view_.used_bytes + 12 * 16 * kKiB);
  with_.Run(small.End());
}

INSTANTIATE_TEST_SUITE_P(Devices, ReadsThroughTest, ::testing::Bool(),
                         [](const auto& at_once) { return at_once.param ? "Yields" : "AtOnce"; });

}  // namespace
}  // namespace varve
