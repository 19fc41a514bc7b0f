#include "engine/store/store_shape.h"

#include <gtest/gtest.h>

namespace varve {
namespace {

StoreShape ShapeFor(uint64_t device_bytes, bool techniques, StoreOptions options = {}) {
  options.techniques.block_merge = techniques;
  options.techniques.append_merge = techniques;
  return ShapeOf(Layout::ForDevice(device_bytes).value(), options, 4096, 512);
}

TEST(StoreShape, TablesGrowFurtherWhereThereIsRoomForMany) {
  EXPECT_EQ(ShapeFor(64 * kGiB, false).growth_max, 1);
  EXPECT_EQ(ShapeFor(64 * kGiB, true).growth_max, 6);
  EXPECT_NEAR(ShapeFor(4 * kGiB, true).growth_max, 6, 0.01);
  EXPECT_LT(ShapeFor(4 * kGiB, true).tree.table_bytes, ShapeFor(4 * kGiB, false).tree.table_bytes);
  EXPECT_NEAR(ShapeFor(512 * kMiB, true).growth_max, 2.9, 0.1);
  EXPECT_EQ(ShapeFor(128 * kMiB, true).tree.table_bytes, ShapeFor(128 * kMiB, false).tree.table_bytes);
  EXPECT_NEAR(ShapeFor(128 * kMiB, true).growth_max, 1.45, 0.05);
  EXPECT_EQ(ShapeFor(64 * kGiB, true).LimitsOf(2, {0.5}).growth_max, 6);
}

// What merges may need is kept from users, whatever the device and the techniques.
TEST(StoreShape, TheReserveForMergesStaysSmall) {
  for (const bool techniques : {false, true}) {
    for (uint64_t device_bytes = 64 * kMiB; device_bytes <= 4 * kTiB; device_bytes *= 2) {
      const StoreShape shape = ShapeFor(device_bytes, techniques);
      EXPECT_LE(shape.merge_share_bytes, device_bytes / 8) << device_bytes;
      const auto largest =
          static_cast<uint64_t>(10 * static_cast<double>(shape.tree.table_bytes) * shape.growth_max);
      EXPECT_GT(shape.merge_share_bytes, largest) << device_bytes;
    }
  }
}

TEST(StoreShape, TheMoreALevelHoldsTheLessItWastes) {
  const StoreShape shape = ShapeFor(64 * kGiB, true);
  EXPECT_EQ(shape.LimitsOf(2, {0}).wasted_share_max, 1);
  EXPECT_EQ(shape.LimitsOf(2, {0.05}).wasted_share_max, 1);
  for (double share = 0.1; share <= 1; share += 0.1) {
    const double wasted = shape.LimitsOf(3, {share}).wasted_share_max;
    EXPECT_LE(wasted, shape.LimitsOf(3, {share - 0.1}).wasted_share_max);
    EXPECT_LE(wasted * share, 0.281);
  }
}

TEST(StoreShape, Level0WaitsForAsMuchAsLevel1Holds) {
  StoreOptions options;
  EXPECT_EQ(ShapeFor(64 * kGiB, false, options).tree.level0_tables_trigger, 4U);
  options.memtable_bytes = 1 * kMiB;
  options.table_bytes = 1 * kMiB;
  options.level1_bytes = 6 * kMiB;
  EXPECT_EQ(ShapeFor(64 * kGiB, false, options).tree.level0_tables_trigger, 6U);
  options.level1_bytes = 256 * kMiB;
  EXPECT_EQ(ShapeFor(64 * kGiB, false, options).tree.level0_tables_trigger, 8U);
  options.level0_tables_trigger = 2;
  EXPECT_EQ(ShapeFor(64 * kGiB, false, options).tree.level0_tables_trigger, 2U);
}

TEST(StoreShape, AppendingLeavesOutTheLevelOfLevel0sSize) {
  StoreOptions options;
  options.memtable_bytes = 1 * kMiB;
  options.table_bytes = 1 * kMiB;
  options.level1_bytes = 8 * kMiB;
  EXPECT_EQ(ShapeFor(64 * kGiB, false, options).tree.level1_bytes, 8 * kMiB);
  const StoreShape appended = ShapeFor(64 * kGiB, true, options);
  EXPECT_EQ(appended.tree.level1_bytes, 80 * kMiB);
  EXPECT_EQ(appended.tree.level0_tables_trigger, 8U) << "level 0 waits for no more than without";
  // A merge of level 0 with all of level 1 fits into what is kept for merges.
  for (uint64_t device_bytes = 256 * kMiB; device_bytes <= 64 * kGiB; device_bytes *= 2) {
    const StoreShape shape = ShapeFor(device_bytes, true, options);
    EXPECT_LE(shape.tree.level1_bytes, device_bytes / 16);
    EXPECT_GT(shape.merge_share_bytes, shape.tree.level1_bytes + shape.memtable_bytes);
  }
}

TEST(StoreShape, BesideALogThreeTimesAsMuchGathersInLevel0) {
  StoreOptions options;
  options.techniques.sst_log = true;
  EXPECT_EQ(ShapeFor(64 * kGiB, true, options).tree.level0_tables_trigger, 4U);
  EXPECT_EQ(ShapeFor(64 * kGiB, true, options).tree.level0_tables_max, 12U);
  options.memtable_bytes = 1 * kMiB;
  options.table_bytes = 1 * kMiB;
  options.level1_bytes = 8 * kMiB;
  EXPECT_EQ(ShapeFor(64 * kGiB, true, options).tree.level0_tables_max, 24U);
  EXPECT_EQ(ShapeFor(64 * kGiB, false, options).tree.level0_tables_max, 24U);
  // Not where they would take more than a sixteenth of the device.
  EXPECT_LT(ShapeFor(256 * kMiB, true, options).tree.level0_tables_max, 17U);
  options.techniques.sst_log = false;
  EXPECT_LE(ShapeFor(64 * kGiB, true, options).tree.level0_tables_max, 8U);
}

StoreShape ShapeForDeletes(uint64_t device_bytes, bool append, bool sst_log, uint64_t level1_bytes) {
  StoreOptions options;
  options.memtable_bytes = 2 * kMiB;
  options.table_bytes = 2 * kMiB;
  options.level1_bytes = level1_bytes;
  options.techniques.delete_aware = true;
  options.techniques.sst_log = sst_log;
  return ShapeFor(device_bytes, append, options);
}

TEST(StoreShape, WithDeletesMoreTablesGatherInLevel0) {
  const auto most = [](bool append, bool sst_log, uint64_t level1_bytes, uint64_t device_bytes = 64 * kGiB) {
    return ShapeForDeletes(device_bytes, append, sst_log, level1_bytes).tree.level0_tables_max;
  };
  EXPECT_EQ(most(false, false, 8 * kMiB), 16U) << "four times as many";
  EXPECT_EQ(most(false, false, 16 * kMiB), 16U) << "gets ask each";
  EXPECT_EQ(most(true, false, 8 * kMiB), 24U) << "each merge leaves a segment in every table of level 1";
  EXPECT_EQ(most(true, false, 16 * kMiB), 24U);
  EXPECT_EQ(most(false, true, 8 * kMiB), 12U);
  EXPECT_EQ(most(true, true, 8 * kMiB), 12U) << "what appends to level 1 goes on into its Log";
  // Not where they would take more than a sixteenth of the device.
  EXPECT_EQ(most(true, false, 8 * kMiB, 320 * kMiB), 9U);
}

TEST(StoreShape, WithDeletesSegmentsWasteLessTheFewerTombstonesCome) {
  const StoreShape shape = ShapeForDeletes(64 * kGiB, true, false, 8 * kMiB);
  const auto wasted = [&](double tombstones) {
    return shape.LimitsOf(3, {0.6, tombstones}).wasted_share_max;
  };
  EXPECT_NEAR(wasted(0), 0.117, 0.001);
  EXPECT_NEAR(wasted(0.2), 0.147, 0.001);
  EXPECT_EQ(wasted(1), wasted(0.25)) << "what is removed is awaited";
  EXPECT_LT(wasted(1), ShapeFor(64 * kGiB, true).LimitsOf(3, {0.6, 1}).wasted_share_max);
}

TEST(StoreShape, WithDeletesAndALogTheLastLevelGrowsBeforeAnotherBegins) {
  const auto deletes = [](bool append, bool sst_log, uint64_t device_bytes = 64 * kGiB) {
    return ShapeForDeletes(device_bytes, append, sst_log, 8 * kMiB).tree;
  };
  EXPECT_EQ(deletes(true, true).deletes.last_level_slack, 4);
  EXPECT_EQ(deletes(true, false).deletes.last_level_slack, 1);
  EXPECT_EQ(deletes(false, true).deletes.last_level_slack, 1);
  // Level 1 may be twice as large, where that is no more than a part of the device.
  EXPECT_EQ(deletes(true, false).deletes.level1_slack_max, 1);
  EXPECT_EQ(deletes(true, true).deletes.level1_slack_max, 2);
  EXPECT_NEAR(deletes(true, true, 4 * kGiB).deletes.level1_slack_max, 1.6, 0.05);
  EXPECT_EQ(deletes(true, true, 1 * kGiB).deletes.level1_slack_max, 1);
  // Tables above it lie over as many more, within what is kept for merges: of eight tables of full growth.
  EXPECT_EQ(deletes(true, false).grandparent_tables_max, 8U);
  EXPECT_EQ(deletes(true, true).grandparent_tables_max, 32U);
  for (uint64_t device_bytes = 256 * kMiB; device_bytes <= 64 * kGiB; device_bytes *= 2) {
    const StoreShape shape = ShapeForDeletes(device_bytes, true, true, 8 * kMiB);
    const auto grown = static_cast<uint64_t>(shape.growth_max * static_cast<double>(shape.tree.table_bytes));
    EXPECT_GE(shape.tree.grandparent_tables_max, 8U) << device_bytes;
    EXPECT_GT(shape.merge_share_bytes, shape.tree.grandparent_tables_max * shape.tree.table_bytes + 3 * grown)
        << device_bytes;
    const auto level1_bytes = static_cast<uint64_t>(static_cast<double>(shape.tree.level1_bytes) *
                                                    shape.tree.deletes.level1_slack_max);
    EXPECT_GT(shape.merge_share_bytes, level1_bytes + shape.memtable_bytes) << device_bytes;
  }
}

TEST(StoreShape, FiltersOfALargeLevel0MisleadLess) {
  const StoreShape deletes = ShapeForDeletes(64 * kGiB, false, false, 8 * kMiB);
  EXPECT_EQ(deletes.OptionsOf(0).bits_per_key, 16);
  EXPECT_EQ(deletes.OptionsOf(1).bits_per_key, 10);
  EXPECT_EQ(ShapeFor(64 * kGiB, false).OptionsOf(0).bits_per_key, 10);
  StoreOptions log;
  log.techniques.sst_log = true;
  EXPECT_EQ(ShapeFor(64 * kGiB, true, log).OptionsOf(0).bits_per_key, 16);
}

}  // namespace
}  // namespace varve
