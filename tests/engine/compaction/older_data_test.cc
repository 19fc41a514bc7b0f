// Tombstones that end before the last level: what is asked of the tables below, and what must stay.
#include <gtest/gtest.h>

#include "tests/engine/compaction/record_model.h"
#include "tests/engine/compaction/small_store.h"

namespace varve {
namespace {

// A store whose level 2 holds every even key below 4000.
struct EvenKeys : SmallStore {
  explicit EvenKeys(double bits_per_key = 10) : SmallStore(512) {
    segment.bits_per_key = bits_per_key;
    jobs->removes_tombstones_early = true;
    Memtable even(4 * kMiB);
    for (uint64_t n = 0; n < 4000; n += 2) {
      even.Add(SequenceNumber(1 + n), RecordKind::kValue, NumberedKey(n), std::string(200, 'v'));
    }
    Flush(even);
    MergeAll(0);
    MergeAll(1);
  }
  static void Delete(Memtable& into, uint64_t from, uint64_t to, uint64_t step, uint64_t sequence = 10'000) {
    for (uint64_t n = from; n < to; n += step) {
      into.Add(SequenceNumber(sequence + n), RecordKind::kTombstone, NumberedKey(n), "");
    }
  }
  // Writes tombstones of those keys to level 0, by a flush that knows nothing of what is older.
  void FlushDeletes(uint64_t from, uint64_t to, uint64_t step, uint64_t sequence = 10'000,
                    SnapshotList snapshots = {}) {
    Memtable deletes(4 * kMiB);
    Delete(deletes, from, to, step, sequence);
    Flush(deletes, std::move(snapshots));
  }
  uint64_t TombstonesOf(uint32_t level) const { return versions->current()->totals(level).tombstones; }
};

TEST(OlderDataOfTables, TombstonesOfKeysThatNoFilterBelowKnowsAreNotWritten) {
  EvenKeys store;
  store.FlushDeletes(0, 4000, 1);
  ASSERT_EQ(store.TombstonesOf(0), 4000U);
  Result<JobOutput> output = store.RunMerge(store.PlanAll(0), {});
  ASSERT_TRUE(output.ok());
  const uint64_t early = output->statistics.tombstones_removed_early;
  EXPECT_GT(early, 1900U);
  EXPECT_LE(early, 2000U);
  store.Install(output->edit);
  // Between two tables it takes no filter to know.
  EXPECT_LE(store.TombstonesOf(1), 4000 - early);
  EXPECT_GE(store.TombstonesOf(1), 2000U);
  for (uint64_t n = 0; n < 4000; n += 37) {
    EXPECT_EQ(store.Read(NumberedKey(n)), std::nullopt) << n;
  }
  store.MergeAll(1);
  EXPECT_EQ(store.versions->current()->totals().entries, 0U);
}

TEST(OlderDataOfTables, WithoutFiltersTheGapsBetweenBlocksTell) {
  EvenKeys store(0);
  store.FlushDeletes(0, 4000, 1);
  Result<JobOutput> output = store.RunMerge(store.PlanAll(0), {});
  ASSERT_TRUE(output.ok());
  // About 18 records a block: one odd key of 18 lies between two.
  EXPECT_GT(output->statistics.tombstones_removed_early, 50U);
  EXPECT_LT(output->statistics.tombstones_removed_early, 300U);
  store.Install(output->edit);
  for (uint64_t n = 0; n < 4000; n += 2) {
    EXPECT_EQ(store.Read(NumberedKey(n)), std::nullopt) << n;
  }
}

TEST(OlderDataOfTables, WhereItIsOffNothingIsAsked) {
  EvenKeys store;
  store.jobs->removes_tombstones_early = false;
  store.FlushDeletes(1, 3999, 2);
  const uint64_t asked = store.cache.statistics().of(BlockKind::kFilter).hits +
                         store.cache.statistics().of(BlockKind::kFilter).misses;
  store.MergeAll(0);
  EXPECT_GT(store.TombstonesOf(1), 1900U);
  EXPECT_EQ(store.cache.statistics().of(BlockKind::kFilter).hits +
                store.cache.statistics().of(BlockKind::kFilter).misses,
            asked);
}

TEST(OlderDataOfTables, ATombstoneThatASnapshotIsOlderThanStays) {
  EvenKeys store;
  const SnapshotList snapshots{SequenceNumber(9'000)};
  store.FlushDeletes(1, 1001, 2, 10'000, snapshots);
  store.MergeAll(0, snapshots);
  EXPECT_EQ(store.TombstonesOf(1), 500U);
}

TEST(OlderDataOfTables, AnAppendedSegmentLeavesOutWhatNothingBelowAndNoSegmentBeforeHolds) {
  EvenKeys store;
  // Level 1 gets the keys that 3 divides, as one segment.
  Memtable thirds(4 * kMiB);
  for (uint64_t n = 0; n < 4000; n += 3) {
    thirds.Add(SequenceNumber(20'000 + n), RecordKind::kValue, NumberedKey(n), std::string(200, 't'));
  }
  store.Flush(thirds);
  store.MergeAll(0);
  store.limits.append = true;
  store.limits.growth_max = 6;
  store.FlushDeletes(0, 400, 1, 30'000);
  Result<JobOutput> output = store.RunMerge(store.PlanAll(0), {});
  ASSERT_TRUE(output.ok());
  ASSERT_GT(output->statistics.children_by[static_cast<size_t>(ChildMerge::kAppend)], 0U);
  // A third of all keys is neither even nor divided by three.
  EXPECT_GT(output->statistics.tombstones_removed_early, 120U);
  EXPECT_LE(output->statistics.tombstones_removed_early, 134U);
  store.Install(output->edit);
  for (uint64_t n = 0; n < 400; ++n) {
    EXPECT_EQ(store.Read(NumberedKey(n)), std::nullopt) << n;
  }
  EXPECT_EQ(store.Read(NumberedKey(402)), std::string(200, 't'));
}

TEST(OlderDataOfTables, AChildThatOnlyNeedlessTombstonesReachStaysAsItIs) {
  EvenKeys store;
  Memtable some(4 * kMiB);
  for (uint64_t n = 0; n < 4000; n += 2) {
    some.Add(SequenceNumber(20'000 + n), RecordKind::kValue, NumberedKey(n), std::string(200, 's'));
  }
  store.Flush(some);
  store.MergeAll(0);
  store.limits.append = true;
  store.limits.growth_max = 6;
  const uint64_t entries = store.versions->current()->totals(1).entries;
  // Of these no filter answers wrongly.
  store.FlushDeletes(101, 121, 2, 40'000);
  store.MergeAll(0);
  EXPECT_EQ(store.versions->current()->totals(1).entries, entries);
  EXPECT_EQ(store.TombstonesOf(1), 0U);
  store.ExpectSpaceIsAccountedFor();
}

TEST(OlderDataOfTables, AFlushWritesNoTombstoneOfWhatNoTableHolds) {
  EvenKeys store;
  Memtable level0(1 * kMiB);
  level0.Add(SequenceNumber(9'001), RecordKind::kValue, NumberedKey(101), "in level 0");
  store.Flush(level0);
  Memtable deletes(1 * kMiB);
  EvenKeys::Delete(deletes, 90, 110, 1);
  FlushInput input;
  input.records = std::make_unique<MemtableRecords>(deletes);
  input.bytes_max = deletes.totals().user_bytes;
  input.entries_max = deletes.totals().entries;
  input.base = store.versions->current();
  // So few that reading filters for them would not pay: they are cached.
  for (uint64_t n = 90; n < 110; ++n) {
    (void)store.Read(NumberedKey(n));
  }
  Result<JobOutput> output = store.executor.Run(RunFlush(*store.jobs, std::move(input)));
  ASSERT_TRUE(output.ok());
  store.Install(output->edit);
  EXPECT_GE(store.TombstonesOf(0), 11U);
  EXPECT_LE(store.TombstonesOf(0), 12U);
  for (uint64_t n = 90; n < 110; ++n) {
    EXPECT_EQ(store.Read(NumberedKey(n)), std::nullopt) << n;
  }
}

TEST(OlderDataOfTables, ATableThatCannotBeReadMayHoldEverything) {
  EvenKeys store;
  store.FlushDeletes(1, 3999, 2);
  for (auto cursor = store.versions->current()->tree(2).First(); cursor.Valid(); cursor.Next()) {
    for (const TableExtent& part : cursor->view().extents) {
      store.device.Corrupt(part.extent.offset().value, part.extent.bytes());
    }
  }
  // Nothing of them is cached either.
  store.cache.EraseTable(store.versions->current()->tree(2).First()->id());
  Result<JobOutput> output = store.RunMerge(store.PlanAll(0), {});
  ASSERT_TRUE(output.ok()) << output.ToString();
  EXPECT_EQ(output->statistics.tombstones_removed_early, 0U);
}

}  // namespace
}  // namespace varve
