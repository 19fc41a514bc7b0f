// Golden scenarios of the choice: what a reader of docs/design/merging.md would expect.
#include "engine/compaction/merge_choice.h"

#include <gtest/gtest.h>

namespace varve {
namespace {

// A table of a MiB of records of a KiB, four to a block, as it was built.
ChildFacts FreshTable() {
  ChildFacts child;
  child.table_bytes = 1 * kMiB;
  child.block_bytes = 4 * kKiB;
  child.data_bytes = 1 * kMiB;
  child.live_bytes = child.data_bytes;
  child.data_blocks = 256;
  child.meta_bytes = 25 * kKiB;
  child.filter.capacity = 2048;
  child.filter.insertions = 1024;
  return child;
}

// `records` of a KiB each fall into as many blocks.
ChildFacts With(ChildFacts child, uint64_t records) {
  child.records = records;
  child.record_bytes = records * kKiB;
  child.dirty = DirtyFacts{records * 4 * kKiB, 0, child.data_blocks};
  return child;
}

MergeLimits Limits(bool block, bool append) {
  MergeLimits limits;
  limits.block = block;
  limits.append = append;
  return limits;
}
const MergeLimits kOff = Limits(false, false);
const MergeLimits kBlockOnly = Limits(true, false);
const MergeLimits kAppendOnly = Limits(false, true);
const MergeLimits kBoth = Limits(true, true);

TEST(MergeChoice, WithoutTechniquesEverythingIsWrittenAnew) {
  EXPECT_EQ(ChooseMerge(With(FreshTable(), 1), kOff), ChildMerge::kTable);
}

TEST(MergeChoice, WithoutRecordsNothingIs) {
  EXPECT_EQ(ChooseMerge(With(FreshTable(), 0), kOff), ChildMerge::kKeep);
  EXPECT_EQ(ChooseMerge(With(FreshTable(), 0), kBoth), ChildMerge::kKeep);
}

TEST(MergeChoice, FewRecordsMendAndManyAreAppended) {
  EXPECT_EQ(ChooseMerge(With(FreshTable(), 5), kBoth), ChildMerge::kBlock);
  EXPECT_EQ(ChooseMerge(With(FreshTable(), 100), kBoth), ChildMerge::kAppend);
  EXPECT_EQ(ChooseMerge(With(FreshTable(), 100), kBlockOnly), ChildMerge::kBlock);
  EXPECT_EQ(ChooseMerge(With(FreshTable(), 5), kAppendOnly), ChildMerge::kAppend);
}

TEST(MergeChoice, RecordsThatTouchMostBlocksMakeANewTable) {
  EXPECT_EQ(ChooseMerge(With(FreshTable(), 200), kBlockOnly), ChildMerge::kBlock);
  EXPECT_EQ(ChooseMerge(With(FreshTable(), 240), kBlockOnly), ChildMerge::kTable);
  // As many as the table has.
  EXPECT_EQ(ChooseMerge(With(FreshTable(), 2500), kBoth), ChildMerge::kTable);
}

TEST(MergeChoice, SmallRecordsTouchEveryBlockAndAreAppended) {
  ChildFacts child = FreshTable();
  child.records = 1000;
  child.record_bytes = 100 * kKiB;
  child.dirty = DirtyFacts{250 * 4 * kKiB, 0, child.data_blocks};
  EXPECT_EQ(ChooseMerge(child, kBlockOnly), ChildMerge::kTable);
  EXPECT_EQ(ChooseMerge(child, kBoth), ChildMerge::kAppend);
}

TEST(MergeChoice, AFullFilterForcesATableMergeWhereBlocksWouldDo) {
  ChildFacts child = With(FreshTable(), 5);
  child.filter.insertions = child.filter.capacity - 5;
  EXPECT_EQ(ChooseMerge(child, kBlockOnly), ChildMerge::kBlock);
  child.filter.insertions += 1;
  EXPECT_EQ(ChooseMerge(child, kBlockOnly), ChildMerge::kTable);
  EXPECT_EQ(ChooseMerge(child, kBoth), ChildMerge::kAppend);
  // A table without a filter has nothing to fill.
  child.filter = FilterDescriptor();
  EXPECT_EQ(ChooseMerge(child, kBlockOnly), ChildMerge::kBlock);
}

TEST(MergeChoice, SeveralSegmentsAreNotMended) {
  ChildFacts child = With(FreshTable(), 5);
  child.segments = 2;
  child.dirty.reset();
  EXPECT_EQ(ChooseMerge(child, kBlockOnly), ChildMerge::kTable);
  EXPECT_EQ(ChooseMerge(child, kBoth), ChildMerge::kAppend);
}

TEST(MergeChoice, TwelveSegmentsAreTheMostAndFourWhereMuchIsRead) {
  ChildFacts child = With(FreshTable(), 100);
  child.dirty.reset();
  child.segments = 11;
  EXPECT_EQ(ChooseMerge(child, kBoth), ChildMerge::kAppend);
  child.segments = 12;
  EXPECT_EQ(ChooseMerge(child, kBoth), ChildMerge::kTable);
  child.read_much = true;
  child.segments = 4;
  EXPECT_EQ(ChooseMerge(child, kBoth), ChildMerge::kTable);
  child.segments = 3;
  EXPECT_EQ(ChooseMerge(child, kBoth), ChildMerge::kAppend);
}

TEST(MergeChoice, WhatIsWastedIsBounded) {
  MergeLimits limits = kBoth;
  limits.wasted_share_max = 0.25;
  ChildFacts child = With(FreshTable(), 5);
  child.wasted_bytes = child.live_bytes / 4;
  EXPECT_EQ(ChooseMerge(child, limits), ChildMerge::kBlock);
  child.wasted_bytes += 8 * kKiB;
  EXPECT_EQ(ChooseMerge(child, limits), ChildMerge::kTable);
  // What newer segments shadow is wasted too.
  child = With(FreshTable(), 100);
  child.dirty.reset();
  child.segments = 3;
  child.live_bytes = child.data_bytes * 7 / 10;
  child.wasted_bytes = child.data_bytes - child.live_bytes;
  EXPECT_EQ(ChooseMerge(child, limits), ChildMerge::kTable);
}

TEST(MergeChoice, WhatABlockMergeWouldLeaveDeadIsBoundedBeforehand) {
  MergeLimits limits = kBlockOnly;
  limits.wasted_share_max = 0.25;
  EXPECT_EQ(ChooseMerge(With(FreshTable(), 60), limits), ChildMerge::kBlock);
  EXPECT_EQ(ChooseMerge(With(FreshTable(), 70), limits), ChildMerge::kTable);
  // Holes of earlier merges take what this one writes.
  ChildFacts child = With(FreshTable(), 60);
  child.wasted_bytes = 240 * kKiB;
  EXPECT_EQ(ChooseMerge(child, limits), ChildMerge::kTable);
  limits.wasted_share_max = 0.32;
  EXPECT_EQ(ChooseMerge(child, limits), ChildMerge::kBlock);
}

TEST(MergeChoice, WhatSplitBlocksWouldLoseIsBoundedBeforehandToo) {
  ChildFacts child = With(FreshTable(), 100);
  child.dirty = DirtyFacts{0, 100 * kKiB, child.data_blocks + 150};
  MergeLimits limits = kBlockOnly;
  limits.wasted_share_max = 0.15;
  EXPECT_EQ(ChooseMerge(child, limits), ChildMerge::kBlock);
  child.wasted_bytes = 100 * kKiB;
  EXPECT_EQ(ChooseMerge(child, limits), ChildMerge::kTable);
}

TEST(MergeChoice, EntriesOfTheIndexCostWhatTheyTake) {
  ChildFacts child = With(FreshTable(), 100);
  child.filter.bits_per_key = 8;
  child.meta_bytes = child.filter.capacity + 80 * child.data_blocks;
  EXPECT_EQ(child.IndexEntryBytes(), 80U);
  child.dirty = DirtyFacts{0, 0, child.data_blocks + 200};
  const double cost = *CostsOf(child, kBlockOnly).block;
  // Long keys.
  child.meta_bytes += 920 * child.data_blocks;
  EXPECT_EQ(child.IndexEntryBytes(), 1000U);
  EXPECT_NEAR(*CostsOf(child, kBlockOnly).block - cost, 920.0 * static_cast<double>(child.data_blocks + 200),
              1);
}

TEST(MergeChoice, ATableThatHasOutgrownItsSizeIsCut) {
  ChildFacts child = With(FreshTable(), 5);
  child.table_bytes = 340 * kKiB;
  EXPECT_EQ(ChooseMerge(child, kBoth), ChildMerge::kTable);
}

TEST(MergeChoice, AnIndexOfSmallBlocksIsBuiltAnew) {
  ChildFacts child = With(FreshTable(), 5);
  child.dirty->index_entries = 3 * child.data_blocks;
  EXPECT_EQ(ChooseMerge(child, kBlockOnly), ChildMerge::kBlock);
  child.dirty->index_entries = 4 * child.data_blocks;
  EXPECT_EQ(ChooseMerge(child, kBlockOnly), ChildMerge::kTable);
}

TEST(MergeChoice, CostsCountWhatIsToComeToo) {
  const MergeCosts costs = CostsOf(With(FreshTable(), 100), kBoth);
  ASSERT_TRUE(costs.block && costs.append);
  // Written now: 100 records and 100 blocks of four, or 100 records.
  EXPECT_GT(*costs.block, 500.0 * kKiB);
  EXPECT_GT(*costs.append, 100.0 * kKiB);
  EXPECT_LT(*costs.append, 250.0 * kKiB);
  EXPECT_GT(*costs.table, 1124.0 * kKiB);
}

}  // namespace
}  // namespace varve
