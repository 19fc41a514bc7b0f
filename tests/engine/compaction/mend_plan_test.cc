#include "engine/compaction/mend_plan.h"

#include <gtest/gtest.h>

#include "engine/base/internal_key.h"
#include "engine/base/prng.h"

namespace varve {
namespace {

// Blocks "10".."19", "30".."39", "50".."59", and so on.
std::vector<IndexEntry> Blocks(int count) {
  std::vector<IndexEntry> blocks;
  for (int i = 0; i < count; ++i) {
    IndexEntry block;
    block.smallest = std::to_string(2 * i + 1) + "0";
    block.largest = std::to_string(2 * i + 1) + "9";
    block.block.bytes = 1000;
    block.entries = 4;
    blocks.push_back(block);
  }
  return blocks;
}

RecordRun Records(const std::vector<std::string>& user_keys, size_t value_bytes = 0) {
  RecordRun run;
  for (const std::string& user_key : user_keys) {
    std::string key;
    AppendInternalKey(key, user_key, SequenceNumber(9), RecordKind::kValue);
    run.Add(key, std::string(value_bytes, 'v'));
  }
  return run;
}

MendOptions Gaps(uint64_t bytes_min) {
  MendOptions options;
  options.gap_bytes_min = bytes_min;
  return options;
}

using Steps = std::vector<MendStep>;

TEST(MendPlan, ABlockIsDirtyWhereARecordFallsIntoIt) {
  const RecordRun records = Records({"30", "35"});
  const MendPlan plan = PlanMend(Blocks(3), records, Gaps(0));
  EXPECT_EQ(plan.steps, (Steps{{false, 0, 1, 0, 0}, {true, 1, 2, 0, 2}, {false, 2, 3, 2, 2}}));
  EXPECT_EQ(plan.dirty_blocks, 1U);
  EXPECT_EQ(plan.dirty_bytes, 1000U);
}

TEST(MendPlan, EqualityIsAnUpdateAtBothEnds) {
  EXPECT_EQ(PlanMend(Blocks(3), Records({"10"}), Gaps(0)).dirty_blocks, 1U);
  EXPECT_EQ(PlanMend(Blocks(3), Records({"19"}), Gaps(0)).dirty_blocks, 1U);
  EXPECT_EQ(PlanMend(Blocks(3), Records({"39", "50"}), Gaps(0)).steps,
            (Steps{{false, 0, 1, 0, 0}, {true, 1, 3, 0, 2}}));
}

TEST(MendPlan, RecordsBetweenBlocksBecomeBlocksOfTheirOwn) {
  const MendPlan plan = PlanMend(Blocks(2), Records({"05", "20", "25", "70"}, 100), Gaps(100));
  EXPECT_EQ(plan.steps, (Steps{{true, 0, 0, 0, 1},
                               {false, 0, 1, 1, 1},
                               {true, 1, 1, 1, 3},
                               {false, 1, 2, 3, 3},
                               {true, 2, 2, 3, 4}}));
  EXPECT_EQ(plan.dirty_blocks, 0U);
}

TEST(MendPlan, FewBytesBetweenBlocksGoIntoTheBlockBefore) {
  EXPECT_EQ(PlanMend(Blocks(2), Records({"20"}, 10), Gaps(100)).steps,
            (Steps{{true, 0, 1, 0, 1}, {false, 1, 2, 1, 1}}));
  EXPECT_EQ(PlanMend(Blocks(2), Records({"05"}, 10), Gaps(100)).steps,
            (Steps{{true, 0, 1, 0, 1}, {false, 1, 2, 1, 1}}));
  // Beside a dirty block they cost nothing.
  EXPECT_EQ(PlanMend(Blocks(2), Records({"20", "35"}, 10), Gaps(100)).steps,
            (Steps{{false, 0, 1, 0, 0}, {true, 1, 2, 0, 2}}));
}

TEST(MendPlan, BlocksThatKeepEnoughAreSplit) {
  MendOptions options;
  options.keep_bytes_min = 500;
  options.record_bytes = 250;
  std::vector<IndexEntry> blocks = Blocks(3);
  // Two records of the second are left of what was a block.
  blocks[1].is_span = true;
  blocks[1].entries = 2;
  const MendPlan plan = PlanMend(blocks, Records({"12", "33"}), options);
  EXPECT_EQ(plan.split_blocks, 1U);
  EXPECT_EQ(plan.dirty_blocks, 1U);
  EXPECT_EQ(plan.dirty_bytes, 500U);
  // Two spans and the record between them; a new block; what nothing touches.
  EXPECT_EQ(plan.entries, 5U);
  options.keep_bytes_min = UINT64_MAX;
  EXPECT_EQ(PlanMend(blocks, Records({"12", "33"}), options).dirty_bytes, 1500U);
}

TEST(MendPlan, WhatSplitBlocksLoseIsBounded) {
  MendOptions options;
  options.keep_bytes_min = 0;
  // Of the records "15" and "16" both may be updates; "25" lies in no block.
  EXPECT_EQ(PlanMend(Blocks(3), Records({"15", "16", "25"}, 50), options).replaced_bytes,
            2 * (Records({"15"}).bytes() + 50));
  // Never more than the block.
  EXPECT_EQ(PlanMend(Blocks(3), Records({"15", "16", "35"}, 3000), options).replaced_bytes, 2000U);
}

TEST(MendPlan, NoRecordsLeaveEverythingAndNoBlocksTakeEverything) {
  EXPECT_EQ(PlanMend(Blocks(2), Records({}), Gaps(0)).steps, (Steps{{false, 0, 2, 0, 0}}));
  EXPECT_EQ(PlanMend({}, Records({"1", "2"}), Gaps(1000)).steps, (Steps{{true, 0, 0, 0, 2}}));
}

TEST(MendPlan, AnyPlanCoversAllBlocksAndRecordsOnceInOrder) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    Prng prng(seed);
    const std::vector<IndexEntry> blocks = Blocks(static_cast<int>(prng.Below(5)));
    std::vector<std::string> keys;
    for (int n = 0; n < 100; ++n) {
      if (prng.OneIn(1 + seed % 20)) {
        keys.push_back(n < 10 ? "0" + std::to_string(n) : std::to_string(n));
      }
    }
    const RecordRun records = Records(keys, prng.Below(200));
    const MendPlan plan = PlanMend(blocks, records, Gaps(prng.Below(400)));
    size_t block = 0;
    size_t record = 0;
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      const MendStep& step = plan.steps[i];
      ASSERT_EQ(step.first_block, block);
      ASSERT_EQ(step.first_record, record);
      ASSERT_TRUE(i == 0 || plan.steps[i - 1].merges != step.merges);
      ASSERT_TRUE(step.merges || step.first_record == step.end_record);
      block = step.end_block;
      record = step.end_record;
      for (size_t r = step.first_record; r < step.end_record; ++r) {
        const std::string_view key = UserKeyOf(records.key(r));
        ASSERT_TRUE(step.first_block == 0 || blocks[step.first_block - 1].largest < key);
        ASSERT_TRUE(step.end_block == blocks.size() || key < blocks[step.end_block].smallest);
      }
    }
    ASSERT_EQ(block, blocks.size());
    ASSERT_EQ(record, records.size());
  }
}

}  // namespace
}  // namespace varve
