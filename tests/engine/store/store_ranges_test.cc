// The store with deletes of ranges: what they hide is not seen, whatever merges run, and goes; and so do
// they.
#include "tests/engine/store/store_ranges.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace varve::testing {
namespace {

// All but at most a quarter of a table.
TEST_F(StoreRanges, OnceAStoreHasSettledADeletedRangeIsGone) {
  Open();
  Fill(2000);
  DeleteRange(500, 1500);
  EXPECT_EQ(harness_.Scan(), state_);
  Settle();
  EXPECT_LE(entries(), state_.size() * 4 / 3);
  ExpectAll(2000);
}

TEST_F(StoreRanges, WithTheLastOfWhatItHidesTheTombstoneGoes) {
  Open();
  Fill(2000);
  DeleteRange(0, 2000);
  Settle();
  EXPECT_EQ(entries(), 0u);
  EXPECT_EQ(tombstones(), 0u);
}

TEST_F(StoreRanges, ItIsGoneInSecondsThoughNothingElseIsWritten) {
  Open();
  Fill(2000);
  DeleteRange(500, 1500);
  Wait(5'000'000'000);
  EXPECT_LE(entries(), state_.size() * 4 / 3);
}

TEST_F(StoreRanges, ATrickleOfThemDoesNotWriteATableEach) {
  Open();
  Fill(2000);
  const uint64_t before = flushes();
  for (uint64_t n = 0; n < 100; n++) {
    DeleteRange(n, n + 1);
    Wait(2'100'000'000);
  }
  EXPECT_LE(flushes() - before, 15u);
  ExpectAll(2000);
}

// When its time has come, another memtable is on its way.
TEST_F(StoreRanges, ItIsGoneInSecondsThoughAMemtableWasBeingWrittenOut) {
  Open();
  Fill(2000);
  DeleteRange(5000, 5001);
  const auto burst = [this]() -> Task<void> {
    const std::string value(1000, 'v');
    for (uint64_t bytes = 0; bytes < options_.memtable_bytes * 5 / 4; bytes += value.size()) {
      WriteBatch batch;
      const std::string key = KeyNumbered(3000 + bytes / value.size());
      batch.Put(key, value);
      state_[key] = value;
      EXPECT_TRUE((co_await harness_.store().Write(batch, Durability::kInterval)).ok());
    }
    WriteBatch batch;
    batch.DeleteRange(KeyNumbered(500), KeyNumbered(1500));
    EXPECT_TRUE((co_await harness_.store().Write(batch, Durability::kInterval)).ok());
    harness_.clock().AdvanceTo(harness_.clock().MonotonicNanos() + 2'000'000'000);
  };
  harness_.Run(burst());
  state_.erase(state_.lower_bound(KeyNumbered(500)), state_.lower_bound(KeyNumbered(1500)));
  Wait(10'000'000'000);
  EXPECT_LE(entries(), state_.size() * 4 / 3);
}

TEST_F(StoreRanges, ItIsGoneThoughAnIndexCouldNotBeReadAtFirst) {
  options_.memtable_bytes = 1 * kMiB;
  options_.table_bytes = 1 * kMiB;
  Open();
  Fill(2000);
  // Flushes leave indexes in the cache.
  ASSERT_TRUE(harness_.Close().ok());
  Open();
  DeleteRange(500, 1500);
  harness_.device().FailRead();
  Wait(30'000'000'000);
  EXPECT_LE(entries(), state_.size() * 4 / 3);
}

TEST_F(StoreRanges, WhatIsWrittenIntoADeletedRangeLaterIsThere) {
  Open();
  Fill(2000);
  DeleteRange(500, 1500);
  for (uint64_t n = 700; n < 900; n += 3) {
    Put(n);
  }
  ExpectAll(2000);
  Settle();
  ExpectAll(2000);
  EXPECT_LE(entries(), state_.size() * 4 / 3);
}

TEST_F(StoreRanges, WhatIsWrittenAndDeletedWithinAMemtableLeavesNothing) {
  Open();
  for (uint64_t n = 0; n < 100; n++) {
    Put(n, 10);
  }
  DeleteRange(0, 100);
  Settle();
  EXPECT_EQ(entries(), 0u);
  EXPECT_EQ(tombstones(), 0u);
}

TEST_F(StoreRanges, ASnapshotSeesTheRangeUntilItIsGone) {
  Open();
  Fill(2000);
  std::shared_ptr<const Snapshot> snapshot = harness_.store().GetSnapshot();
  const State before = state_;
  DeleteRange(500, 1500);
  DeleteRange(600, 700);
  Settle();
  EXPECT_EQ(harness_.Scan({}, {}, snapshot.get()), before);
  EXPECT_EQ(harness_.Get(KeyNumbered(650), snapshot.get()), before.at(KeyNumbered(650)));
  EXPECT_GE(entries(), 2000u);
  EXPECT_GT(tombstones(), 0u);
  ExpectAll(2000);
  snapshot.reset();
  Put(0);
  Settle();
  EXPECT_LE(entries(), state_.size() * 4 / 3);
  ExpectAll(2000);
}

// Merges meet tables of which readers of the newest state see nothing.
TEST_F(StoreRanges, MergesKeepTablesOfWhichOnlyASnapshotSeesAnything) {
  options_.techniques.block_merge = false;
  options_.techniques.append_merge = false;
  Open();
  Fill(2000);
  const std::shared_ptr<const Snapshot> snapshot = harness_.store().GetSnapshot();
  const State before = state_;
  DeleteRange(0, 2000);
  for (uint64_t round = 0; round < 3; round++) {
    Fill(2000);
    EXPECT_TRUE(harness_.Scan({}, {}, snapshot.get()) == before) << round;
  }
  ExpectAll(2000);
}

TEST_F(StoreRanges, ItHoldsAfterACrashFromTheLogAndAfterACloseFromTheManifest) {
  Open();
  Fill(1000);
  std::shared_ptr<const Snapshot> snapshot = harness_.store().GetSnapshot();
  DeleteRange(100, 900, Durability::kDurable);
  snapshot.reset();
  harness_.Crash();
  watcher_.Forget();
  Open();
  ExpectAll(1000);
  snapshot = harness_.store().GetSnapshot();
  DeleteRange(0, 50);
  Settle();
  EXPECT_GT(tombstones(), 0u);
  snapshot.reset();
  ASSERT_TRUE(harness_.Close().ok());
  watcher_.Forget();
  Open();
  ExpectAll(1000);
}

// At once: what the range held is on the device, and nothing has been merged yet.
TEST_F(StoreRanges, ASeekIntoADeletedRangeReadsHardlyMoreThanAnotherHoweverMuchTheRangeHeld) {
  Open();
  Fill(8000);
  const uint64_t reads = ReadsOfSeek(4000);
  ASSERT_GT(reads, 0u);
  DeleteRange(1000, 7000);
  EXPECT_LE(ReadsOfSeek(4000), 3 * reads);
  EXPECT_LE(ReadsOfSeek(1000), 3 * reads);
}

TEST_F(StoreRanges, OneMakesRoomOnAFullDevice) {
  options_.memtable_bytes = 1 * kMiB;
  options_.table_bytes = 1 * kMiB;
  options_.level1_bytes = 4 * kMiB;
  Open();
  const std::string value(100 * kKiB, 'v');
  uint64_t written = 0;
  while (harness_.Put(KeyNumbered(written), value).ok()) {
    state_[KeyNumbered(written)] = value;
    ASSERT_LT(++written, 5000u);
  }
  DeleteRange(0, written - 10);
  for (uint64_t n = 0; n < written / 2; n++) {
    ASSERT_TRUE(harness_.Put(KeyNumbered(n), value).ok()) << n << " of " << written;
    state_[KeyNumbered(n)] = value;
  }
  ExpectAll(written);
}

// The batch does not say that it frees space.
TEST_F(StoreRanges, OneOfABatchThatWritesTooMakesRoom) {
  options_.memtable_bytes = 1 * kMiB;
  options_.table_bytes = 1 * kMiB;
  options_.level1_bytes = 4 * kMiB;
  Open();
  const std::string value(100 * kKiB, 'v');
  uint64_t written = 0;
  while (harness_.Put(KeyNumbered(written), value).ok()) {
    ASSERT_LT(++written, 5000u);
  }
  WriteBatch batch;
  batch.Put("a", "small");
  batch.DeleteRange(KeyNumbered(0), KeyNumbered(written));
  ASSERT_TRUE(harness_.Write(batch, Durability::kInterval).ok());
  EXPECT_TRUE(harness_.Put(KeyNumbered(0), value).ok());
}

// Merges that give nothing back while a reader holds what they replace leave the rest of the device alone.
TEST_F(StoreRanges, WhatReadersHoldIsNotMergedAtTheCostOfTheInternalShare) {
  options_.memtable_bytes = 1 * kMiB;
  options_.table_bytes = 1 * kMiB;
  options_.level1_bytes = 4 * kMiB;
  Open();
  const std::string value(100 * kKiB, 'v');
  uint64_t written = 0;
  while (harness_.Put(KeyNumbered(written), value).ok()) {
    ASSERT_LT(++written, 5000u);
  }
  DeleteRange(written * 15 / 16, written);
  Settle();
  const std::unique_ptr<StoreIterator> reader = harness_.store().NewIterator("", "", {});
  harness_.Finish(*reader, reader->Seek(KeyNumbered(0)));
  WriteBatch batch;
  for (uint64_t n = 0; n < written * 15 / 16; n += 10) {
    batch.DeleteRange(KeyNumbered(n), KeyNumbered(n + 4));
  }
  ASSERT_TRUE(harness_.Write(batch, Durability::kInterval).ok());
  Wait(10'000'000'000);
  EXPECT_TRUE(harness_.Put("a", value).ok()) << harness_.store().StatisticsJson();
}

TEST_F(StoreRanges, ATableOfWhichNobodySeesAnythingIsNotReadToBeDropped) {
  Open();
  Fill(4000);
  const auto read_by_merges = [&]() -> uint64_t {
    return harness_.device().counters().by_purpose[static_cast<size_t>(IoPurpose::kCompaction)].read_bytes;
  };
  const uint64_t before = read_by_merges();
  const uint64_t held = watcher_.newest().totals().total_bytes;
  DeleteRange(0, 5000);
  Settle();
  EXPECT_EQ(entries(), 0u);
  // Indexes only.
  EXPECT_LT(read_by_merges() - before, held / 4);
}

TEST_F(StoreRanges, OneDeletedAgainAndAgainKeepsOneTombstone) {
  Open();
  Fill(2000);
  // Of a table each hides a key: too little for a merge of its own.
  for (int i = 0; i < 50; i++) {
    DeleteRange(1000, 1001);
    Put(1000);
    if (i % 5 == 0) {
      Settle();
    }
  }
  Settle();
  EXPECT_LE(tombstones(), 1u);
  ExpectAll(2000);
}

TEST_F(StoreRanges, NothingComesBackWhateverTechniquesAreOn) {
  for (uint64_t on = 0; on < 8; on++) {
    SCOPED_TRACE("techniques " + std::to_string(on));
    options_.techniques.append_merge = (on & 1) != 0;
    options_.techniques.block_merge = (on & 2) != 0;
    options_.techniques.sst_log = (on & 4) != 0;
    options_.techniques.compaction_buffer = (on & 4) != 0;
    options_.techniques.delete_aware = (on & 1) != 0;
    options_.buffer_share = 1;
    options_.buffer_hot_share = 0;
    options_.sst_log_share = 0.5;
    watcher_.Forget();
    Open();
    for (int i = 0; i < 4000; i++) {
      const uint64_t n = random_.Below(1000);
      if (random_.OneIn(60)) {
        DeleteRange(n, n + random_.Between(1, 150));
      } else {
        Put(n, random_.Between(10, 300));
      }
      if (i % 500 == 0) {
        ExpectAll(1000);
      }
    }
    Settle();
    ExpectAll(1000);
    ASSERT_TRUE(harness_.Close().ok());
  }
}

}  // namespace
}  // namespace varve::testing
