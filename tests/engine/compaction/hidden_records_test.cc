// What merges do with records that range tombstones hide, and what they say of it.
#include <gtest/gtest.h>

#include <string>

#include "engine/compaction/hidden_estimate.h"
#include "engine/version/range_deletes.h"
#include "tests/engine/compaction/small_store.h"

namespace varve {
namespace {

constexpr uint64_t kKeys = 2000;
const SnapshotList kNewest{SequenceNumber(1 << 30)};

// Level 2 holds all keys, a table of some 128 KiB after the other, with filters that have a reserve.
struct FilledStore : SmallStore {
  FilledStore() : SmallStore(512) {
    segment.filter_reserve = 1;
    Put(0, kKeys);
    MergeAll(0);
    MergeAll(1);
  }
  // Into a table of level 0.
  void Put(uint64_t from, uint64_t to) {
    Memtable memtable(4 * kMiB);
    AddNumbered(memtable, from, to, 1, sequence);
    Flush(memtable);
  }

  uint64_t sequence = 0;
};

// A range tombstone over half of level 2, and then a record in the middle of it.
void ExpectPurged(ChildMerge way, bool purged) {
  FilledStore store;
  const SequenceNumber tombstone(++store.sequence);
  VersionEdit edit;
  edit.added_range_tombstones = {{NumberedKey(0), NumberedKey(kKeys / 2), tombstone}};
  edit.last_sequence = tombstone;
  store.Install(edit);
  store.Put(100, 101);
  store.MergeAll(0, kNewest);
  store.limits.block = way == ChildMerge::kBlock;
  store.limits.append = way == ChildMerge::kAppend;
  const Result<JobOutput> merged = store.RunMerge(store.PlanAll(1), kNewest);
  ASSERT_TRUE(merged.ok()) << merged.ToString();
  // Without a technique, all children become new tables at once.
  ASSERT_EQ(merged->statistics.children_by[static_cast<size_t>(way)], way == ChildMerge::kTable ? 0u : 1u);
  store.Install(merged->edit);
  const std::shared_ptr<const Version> version = store.versions->current();
  EXPECT_EQ(version->tree(2).Find(NumberedKey(100))->view().purged_up_to >= tombstone, purged);
  EXPECT_EQ(MayHideAny(*version, *version->FindRangeTombstone(tombstone)), !purged);
}

TEST(HiddenRecords, ATableMergeSaysThatItsTablesArePurged) {
  ExpectPurged(ChildMerge::kTable, true);
}

TEST(HiddenRecords, ABlockMergeDoesNotSayThatOfBlocksThatStay) {
  ExpectPurged(ChildMerge::kBlock, false);
}

TEST(HiddenRecords, AnAppendDoesNotSayThatOfSegmentsBefore) {
  ExpectPurged(ChildMerge::kAppend, false);
}

TEST(HiddenRecords, IndexesTellHowMuchOfATableIsHidden) {
  FilledStore store;
  const uint64_t deleted_at = store.sequence + 1;
  RangeTombstones tombstones;
  tombstones.Add({NumberedKey(0), NumberedKey(kKeys / 2), SequenceNumber(deleted_at)});
  uint64_t hidden = 0;
  uint64_t bytes = 0;
  store.versions->current()->ForEachTable([&](const LiveTable& table) {
    const auto estimate = [&](uint64_t at) {
      return store.executor
          .Run(EstimateHidden(store.jobs->table, table.view(), tombstones, SequenceNumber(at)))
          .value();
    };
    EXPECT_EQ(estimate(deleted_at - 1), 0u) << "a snapshot sees it";
    hidden += estimate(deleted_at);
    bytes += table.view().data_bytes();
    if (table.largest_key() < NumberedKey(kKeys / 2)) {
      EXPECT_EQ(estimate(deleted_at), table.view().data_bytes());
    }
    if (table.smallest_key() >= NumberedKey(kKeys / 2)) {
      EXPECT_EQ(estimate(deleted_at), 0u);
    }
  });
  EXPECT_NEAR(static_cast<double>(hidden) / static_cast<double>(bytes), 0.5, 0.02);
}

}  // namespace
}  // namespace varve
