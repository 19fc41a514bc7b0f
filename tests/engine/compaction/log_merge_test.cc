// Merges of a table of a Log with itself: it stays where it is in the order, and nobody sees a difference.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/engine/compaction/small_store.h"

namespace varve {
namespace {

// Level 2 holds keys 0 to 999; three tables lie in the Log of level 1, of which the second has four segments:
// tombstones of keys 0 to 99, and each hundred after them over again.
class JobsInALog : public testing::TestWithParam<uint32_t> {
 protected:
  JobsInALog() {
    Memtable below(1 * kMiB);
    Fill(below, 1, 0, 1000);
    store_.Flush(below);
    store_.MergeAll(0);
    store_.MergeAll(1);
    store_.limits.append = true;
    store_.limits.wasted_share_max = 100;
    IntoLog(2000, 0, 50);
    for (uint64_t i = 0; i < 4; ++i) {
      Memtable part(1 * kMiB);
      for (uint64_t n = 0; n < 100; ++n) {
        part.Add(SequenceNumber(3000 + 100 * i + n), i == 3 ? RecordKind::kTombstone : RecordKind::kValue,
                 NumberedKey(n), i == 3 ? "" : fmt::format("{}.{}", n, i));
      }
      Fill(part, 4000 + 1000 * i, 100 + 100 * i, 300 + 100 * i);
      store_.Flush(part);
      CompactionPlan append = store_.PlanAll(0);
      append.output_table_bytes = 1 * kMiB;
      store_.Merge(append);
    }
    Move();
    IntoLog(9000, 20, 30);
    store_.limits.append = false;
  }

  // The Tree of level 1.
  void Move() {
    CompactionPlan plan = store_.PlanAll(1);
    ASSERT_EQ(plan.inputs.size(), 1u);
    plan.children.clear();
    plan.kind = MergeKind::kPseudoCompaction;
    plan.output_level = 1;
    plan.output_part = Part::kLog;
    store_.Install(MoveEdit(plan));
  }
  void IntoLog(uint64_t sequence, uint64_t from, uint64_t to) {
    Memtable records(1 * kMiB);
    Fill(records, sequence, from, to);
    store_.Flush(records);
    store_.MergeAll(0);
    Move();
  }
  std::vector<StampedTable> Log() const { return store_.versions->current()->level(1).log; }
  static CompactionPlan PlanOf(const StampedTable& placed) {
    CompactionPlan plan;
    plan.output_level = 1;
    plan.output_part = Part::kLog;
    plan.AddInput(plan.output_place(), placed.table);
    return plan;
  }
  Result<TableLookup> Get(const LiveTable& table, uint64_t n, uint64_t snapshot) {
    const std::string key = NumberedKey(n);
    return store_.executor.Run(
        GetFromTable(store_.jobs->table, table.view(), PointQuery(key, SequenceNumber(snapshot)), true));
  }

  SmallStore store_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(SectorBytes, JobsInALog, testing::Values(512, 4096));

TEST_P(JobsInALog, ATableThatIsMergedWithItselfKeepsItsPlaceAndWhatAnybodySees) {
  std::vector<StampedTable> before = Log();
  ASSERT_EQ(before.size(), 3u);
  ASSERT_EQ(before[1]->view().segments.size(), 4u);
  const SnapshotList snapshots{SequenceNumber(3150), SequenceNumber(100'000)};
  store_.Merge(PlanOf(before[1]), snapshots);
  const std::vector<StampedTable> after = Log();
  ASSERT_EQ(after.size(), 3u);
  EXPECT_EQ(after[0]->id(), before[0]->id());
  EXPECT_EQ(after[1].stamp, before[1].stamp);
  EXPECT_EQ(after[2]->id(), before[2]->id());
  const LiveTable& merged = *after[1].table;
  EXPECT_NE(merged.id(), before[1]->id());
  EXPECT_EQ(merged.view().segments.size(), 1u);
  EXPECT_LT(merged.entries(), before[1]->entries());
  // Level 2 and the older table of the Log hold what they hide.
  EXPECT_EQ(merged.tombstones(), 100u);
  for (const uint64_t n : {0, 25, 99, 150, 250, 450, 599, 600}) {
    for (const uint64_t snapshot : {3150, 100'000}) {
      const Result<TableLookup> was = Get(*before[1].table, n, snapshot);
      const Result<TableLookup> is = Get(merged, n, snapshot);
      ASSERT_TRUE(was.ok() && is.ok());
      EXPECT_EQ(is->kind, was->kind) << n << " at " << snapshot;
      if (was->kind == TableLookup::Kind::kValue) {
        EXPECT_EQ(is->value.bytes(), was->value.bytes());
      }
    }
  }
  before.clear();
  store_.ExpectSpaceIsAccountedFor();
}

TEST_P(JobsInALog, TombstonesStayForWhatLiesBelowThem) {
  store_.Merge(PlanOf(Log()[1]), {SequenceNumber(100'000)});
  EXPECT_EQ(Log()[1]->view().segments.size(), 1u);
  EXPECT_EQ(Log()[1]->tombstones(), 100u);
}

// A get asks it beside the tables below, and there is more of those.
TEST_P(JobsInALog, ItsFilterMisleadsLessThanThoseBelow) {
  store_.Merge(PlanOf(Log()[2]));
  const double bits = store_.segment.bits_per_key;
  const LiveTable& merged = *Log()[2].table;
  ASSERT_EQ(merged.view().segments.size(), 1u);
  EXPECT_GT(merged.view().segments.front().filter.bits_per_key, bits + 4);
  EXPECT_EQ(store_.versions->current()->tree(2).First()->view().segments.front().filter.bits_per_key, bits);
}

TEST_P(JobsInALog, NothingIsLeftOfATableThatARangeTombstoneHides) {
  Memtable hides(1 * kMiB);
  hides.Add(SequenceNumber(20'000), RecordKind::kValue, NumberedKey(5000), "other");
  FlushInput input;
  input.records = std::make_unique<MemtableRecords>(hides);
  input.bytes_max = hides.totals().user_bytes;
  input.entries_max = 1;
  Result<JobOutput> flushed = store_.executor.Run(RunFlush(*store_.jobs, std::move(input)));
  ASSERT_TRUE(flushed.ok());
  flushed->edit.added_range_tombstones.push_back({NumberedKey(0), NumberedKey(999), SequenceNumber(19'000)});
  store_.Install(flushed->edit);
  std::vector<StampedTable> before = Log();
  store_.Merge(PlanOf(before[1]), {SequenceNumber(20'000)});
  const std::vector<StampedTable> after = Log();
  ASSERT_EQ(after.size(), 2u);
  EXPECT_EQ(after[0]->id(), before[0]->id());
  EXPECT_EQ(after[1]->id(), before[2]->id());
  before.clear();
  store_.ExpectSpaceIsAccountedFor();
}

}  // namespace
}  // namespace varve
