// The store with as many deletes of ranges as anybody likes: however many there are, it takes writes.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "tests/engine/store/store_ranges.h"

namespace varve::testing {
namespace {

// Ranges over ranges: the parts that they make of each other are many more than they.
TEST_F(StoreRanges, AMemtableTakesSoManyAndNoMore) {
  options_.memtable_bytes = 16 * kMiB;
  Open();
  for (uint64_t n = 0; n < 3000; n++) {
    Put(n, 10);
    DeleteRange(n / 2, n);
  }
  ExpectAll(3000);
  Settle();
  EXPECT_GE(flushes(), 3u);
  ExpectAll(3000);
}

TEST_F(StoreRanges, ABatchTakesSoManyAndNoMore) {
  Open();
  WriteBatch batch;
  for (uint64_t n = 0; n < kBatchRangeDeletesMax; n++) {
    batch.DeleteRange(KeyNumbered(n), "z");
  }
  EXPECT_TRUE(harness_.Write(batch, Durability::kInterval).ok());
  batch.DeleteRange("a", "z");
  EXPECT_TRUE(harness_.Write(batch, Durability::kInterval).Is(ErrorCode::kInvalidArgument));
}

// More of them than are kept whatever they hide: then all has to go.
TEST_F(StoreRanges, ManySmallOnesDoNotGatherForEver) {
  options_.memtable_bytes = 1 * kMiB;
  Open();
  Fill(9500);
  for (uint64_t n = 0; n < 9500; n += 2) {
    DeleteRange(n, n + 1);
  }
  Settle();
  EXPECT_LE(tombstones(), 4096u);
  ExpectAll(9500);
}

// Ranges within ranges that a snapshot holds up: the parts that they make of each other are twice as many as
// they, and each is under as many as lie around it. Lists of all of those would take more than a gibibyte.
TEST_F(StoreRanges, AnyNumberOfNestedOnesIsTakenThoughASnapshotHoldsThemUp) {
  constexpr uint64_t kNested = 12'000;
  options_.memtable_bytes = 16 * kMiB;
  Open();
  Fill(1000);
  std::shared_ptr<const Snapshot> snapshot = harness_.store().GetSnapshot();
  const State before = state_;
  // Around key 500: each ends a little further inside than the one before.
  const auto begin = [](uint64_t n) { return KeyNumbered(100) + std::to_string(10'000'000 + n); };
  const auto end = [](uint64_t n) { return KeyNumbered(900) + std::to_string(99'999'999 - n); };
  for (uint64_t n = 0; n < kNested; n++) {
    WriteBatch batch;
    batch.DeleteRange(begin(n), end(n));
    ASSERT_TRUE(harness_.Write(batch).ok()) << n << ": " << harness_.store().read_only_reason();
  }
  state_.erase(state_.upper_bound(KeyNumbered(100)), state_.upper_bound(KeyNumbered(900)));
  Settle();
  ASSERT_EQ(harness_.store().read_only_reason(), "");
  EXPECT_LE(watcher_.newest().range_tombstones()->memory_bytes(), kNested * 1024);
  ExpectAll(1000);
  EXPECT_TRUE(harness_.Scan({}, {}, snapshot.get()) == before);
  snapshot.reset();
  // What all of them need is in the manifest.
  harness_.Crash();
  watcher_.Forget();
  Open();
  ExpectAll(1000);
  Put(0);
  Settle();
  ExpectAll(1000);
  EXPECT_EQ(tombstones(), 0u);
}

// As AMemtableTakesSoManyAndNoMore, of memtables that are made from the log: a group of it holds whatever was
// written between two writes of the log.
TEST_F(StoreRanges, AMemtableFromTheLogTakesNoMoreThanOneThatIsWritten) {
  options_.memtable_bytes = 16 * kMiB;
  options_.commit_interval_nanos = 3'600'000'000'000;
  Open();
  Fill(9000);
  std::shared_ptr<const Snapshot> snapshot = harness_.store().GetSnapshot();
  const auto deletes = [this]() -> Task<void> {
    for (uint64_t n = 0; n < 2900; n++) {
      WriteBatch batch;
      batch.DeleteRange(KeyNumbered(3 * n), KeyNumbered(3 * n + 2));
      std::optional<Status> done = harness_.store().TryWrite(batch, Durability::kInterval);
      if (!done) {
        done = co_await harness_.store().Write(batch, Durability::kInterval);
      }
      EXPECT_TRUE(done->ok());
    }
    EXPECT_TRUE((co_await harness_.store().Sync()).ok());
  };
  harness_.Run(deletes());
  for (uint64_t n = 0; n < 3 * 2900; n++) {
    if (n % 3 != 2) {
      state_.erase(KeyNumbered(n));
    }
  }
  snapshot.reset();
  harness_.Crash();
  watcher_.Forget();
  Open();
  ExpectAll(9000);
  Settle();
  // The first that was full may have been written out before the crash.
  EXPECT_GE(flushes(), 2u);
  ExpectAll(9000);
}

// Each hides something that the snapshot sees: none can go. What is refused then can be deleted key by key,
// and once the snapshot has gone ranges can be deleted again.
TEST_F(StoreRanges, AsManyAsMemoryHoldsAreTakenAndTheStoreGoesOn) {
  options_.range_tombstones_bytes = 1 * kMiB;
  Open();
  Fill(9000);
  std::shared_ptr<const Snapshot> snapshot = harness_.store().GetSnapshot();
  const State before = state_;
  uint64_t taken = 0;
  Status last;
  for (uint64_t n = 0; n < 4000 && last.ok(); n++) {
    WriteBatch batch;
    batch.DeleteRange(KeyNumbered(2 * n), KeyNumbered(2 * n + 1));
    last = harness_.Write(batch);
    if (last.ok()) {
      state_.erase(KeyNumbered(2 * n));
      taken++;
    }
  }
  EXPECT_TRUE(last.Is(ErrorCode::kBusy)) << last.ToString();
  EXPECT_GT(taken, 2000u);
  EXPECT_EQ(harness_.store().read_only_reason(), "");
  Put(8500);
  ASSERT_TRUE(harness_.Delete(KeyNumbered(8501)).ok());
  state_.erase(KeyNumbered(8501));
  Settle();
  EXPECT_LE(watcher_.newest().range_tombstones()->memory_bytes(), 2 * kMiB);
  ExpectAll(9000);
  EXPECT_TRUE(harness_.Scan({}, {}, snapshot.get()) == before);
  snapshot.reset();
  // It waits for what can go now.
  DeleteRange(8000, 8010);
  Settle();
  ExpectAll(9000);
}

// Of those that are the same one is kept.
TEST_F(StoreRanges, ThousandsOfTheSameLeaveOne) {
  options_.memtable_bytes = 16 * kMiB;
  Open();
  Fill(2000);
  std::shared_ptr<const Snapshot> snapshot = harness_.store().GetSnapshot();
  DeleteRange(500, 1500);
  Settle();
  const uint64_t held = harness_.store().space_usage().used_bytes;
  for (int i = 0; i < 5000; i++) {
    DeleteRange(500, 1500);
  }
  Settle();
  EXPECT_EQ(tombstones(), 1u);
  EXPECT_LE(harness_.store().space_usage().used_bytes, held + 512 * kKiB);
  ExpectAll(2000);
}

// Each covers half of what the one before did, and half that is new.
TEST_F(StoreRanges, OneThatOthersCoverTogetherGoes) {
  Open();
  Fill(2000);
  const std::shared_ptr<const Snapshot> snapshot = harness_.store().GetSnapshot();
  DeleteRange(500, 1500);
  Settle();
  DeleteRange(400, 1000);
  Settle();
  EXPECT_EQ(tombstones(), 2u);
  DeleteRange(1000, 1600);
  Settle();
  EXPECT_EQ(tombstones(), 2u);
  ExpectAll(2000);
}

TEST_F(StoreRanges, RangesThatAreEmptyOrEndBeforeTheyBeginAreNone) {
  Open();
  Fill(100);
  WriteBatch batch;
  batch.DeleteRange(KeyNumbered(50), KeyNumbered(50));
  batch.DeleteRange(KeyNumbered(60), KeyNumbered(40));
  EXPECT_TRUE(batch.empty());
  EXPECT_TRUE(harness_.Write(batch).ok());
  ExpectAll(100);
  batch.Put(KeyNumbered(50), "kept");
  batch.DeleteRange(KeyNumbered(60), KeyNumbered(40));
  EXPECT_EQ(batch.count(), 1u);
  EXPECT_TRUE(harness_.Write(batch).ok());
  state_[KeyNumbered(50)] = "kept";
  Settle();
  EXPECT_EQ(tombstones(), 0u);
  ExpectAll(100);
}

TEST_F(StoreRanges, ThousandsThatCoverNothingAliveLeaveNothing) {
  options_.memtable_bytes = 16 * kMiB;
  Open();
  Fill(1000);
  const std::shared_ptr<const Snapshot> snapshot = harness_.store().GetSnapshot();
  for (uint64_t n = 0; n < 3000; n++) {
    DeleteRange(2000 + n, 6000);
  }
  Settle();
  EXPECT_EQ(tombstones(), 0u);
  ExpectAll(1000);
}

}  // namespace
}  // namespace varve::testing
