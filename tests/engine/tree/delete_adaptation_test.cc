#include "engine/tree/delete_adaptation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/base/prng.h"

namespace varve {
namespace {

AdaptationLimits Limits() {
  AdaptationLimits limits;
  limits.first = {.level0_tables = 4, .reclaim_min = 0.5};
  limits.level0_tables_min = 2;
  limits.level0_tables_max = 8;
  limits.reclaim_least = 0.125;
  limits.level1_bytes = 8 * kMiB;
  limits.level0_full_table_bytes = 1 * kMiB;
  return limits;
}

// Records of a KiB.
StoreOutline Store() {
  StoreOutline store;
  store.level1_bytes = 16 * kMiB;
  store.upper_bytes = 100 * kMiB;
  store.all_bytes = 500 * kMiB;
  store.entries = 500 * kKiB;
  store.tombstones = 1000;
  return store;
}

// Sixteen memtables of 2 MiB.
Mix Writes() {
  Mix mix;
  mix.flushes = 16;
  mix.flushed_bytes = 32 * kMiB;
  mix.puts = 30'000;
  mix.deletes = 3'000;
  return mix;
}
Mix WritesAndGets(uint64_t gets) {
  Mix mix = Writes();
  mix.gets = gets;
  return mix;
}
// Of 64 KiB each.
Mix WritesAndScans(uint64_t scans) {
  Mix mix = Writes();
  mix.scans = scans;
  mix.scanned_bytes = scans * 64 * kKiB;
  return mix;
}

void Settle(DeleteAdaptation& adaptation, const Mix& mix) {
  for (int window = 0; window < 40; window++) {
    adaptation.OnWindow(mix, Store());
  }
}

TEST(DeleteAdaptation, TheCostOfLevel0IsWhatItsMergesMoveAndWhatReadersAsk) {
  AdaptationLimits limits = Limits();
  // 16 flushes, 4 at a time: level 1 is read and written 4 times.
  EXPECT_DOUBLE_EQ(Level0Cost(Writes(), Store(), limits, 4), 2.0 * 4 * 16 * kMiB);
  // Two tables to ask on average.
  EXPECT_DOUBLE_EQ(Level0Cost(WritesAndGets(1000), Store(), limits, 4), 2.0 * 4 * 16 * kMiB + 1000 * 2 * 16);
  Mix scans = WritesAndScans(1000);
  scans.deletes = 0;
  EXPECT_DOUBLE_EQ(Level0Cost(scans, Store(), limits, 4), 2.0 * 4 * 16 * kMiB + 1000 * 2 * 16 * kKiB);
  // A level 1 that is still growing counts as grown, and small tables are joined by more of them.
  StoreOutline empty = Store();
  empty.level1_bytes = 0;
  EXPECT_DOUBLE_EQ(Level0Cost(Writes(), empty, limits, 4), 2.0 * 4 * 8 * kMiB);
  limits.level0_full_table_bytes = 4 * kMiB;
  EXPECT_DOUBLE_EQ(Level0Cost(Writes(), Store(), limits, 4), 2.0 * 2 * 16 * kMiB);
}

TEST(DeleteAdaptation, DeletesThatWaitInLevel0CostScans) {
  Mix few = WritesAndScans(100'000);
  few.deletes = 0;
  Mix many = few;
  many.deletes = 30'000;
  const auto slope = [](const Mix& mix) {
    return Level0Cost(mix, Store(), Limits(), 8) - Level0Cost(mix, Store(), Limits(), 4);
  };
  EXPECT_GT(slope(many), slope(few));
}

TEST(DeleteAdaptation, MoreGathersInLevel0WhereLittleIsRead) {
  EXPECT_EQ(BestLevel0Tables(Writes(), Store(), Limits()), 8U);
  EXPECT_EQ(BestLevel0Tables(WritesAndGets(240'000), Store(), Limits()), 8U);
  // The square root of four times what a merge moves, over what a table costs.
  EXPECT_EQ(BestLevel0Tables(WritesAndGets(1'864'000), Store(), Limits()), 6U);
  EXPECT_EQ(BestLevel0Tables(WritesAndScans(4'000), Store(), Limits()), 4U);
  EXPECT_EQ(BestLevel0Tables(WritesAndScans(100'000), Store(), Limits()), 2U);
}

TEST(DeleteAdaptation, ADeletedByteIsWorthMoreWhereItIsScanned) {
  EXPECT_DOUBLE_EQ(WorthOfAByte(Writes(), Store(), Limits()), 5);
  // Scans pass everything ten times while as much is written as lies above the last level.
  Mix mix = WritesAndScans(1);
  mix.flushed_bytes = 50 * kMiB;
  mix.scanned_bytes = 2'000 * kMiB;
  EXPECT_DOUBLE_EQ(WorthOfAByte(mix, Store(), Limits()), 5 + 4 * 2);
  // Gets of what is there do not come by it; those in vain may.
  mix.gets = 1'000'000;
  EXPECT_DOUBLE_EQ(WorthOfAByte(mix, Store(), Limits()), 5 + 4 * 2);
  mix.vain_bytes = 500 * kMiB;
  EXPECT_DOUBLE_EQ(WorthOfAByte(mix, Store(), Limits()), 5 + 5 * 2);
}

TEST(DeleteAdaptation, AMergeGivesBackWhatItsBytesAreWorth) {
  for (const double worth : {2.0, 5.0, 17.0}) {
    // A byte written, and what is given back for it.
    const double back = ReclaimMinAt(worth);
    EXPECT_DOUBLE_EQ(2 + back, worth * back);
    EXPECT_DOUBLE_EQ(WorthAt(back), worth);
  }
}

TEST(DeleteAdaptation, ThresholdsFollowAMixThatShiftsAndComeBack) {
  DeleteAdaptation adaptation(Limits());
  Settle(adaptation, Writes());
  EXPECT_EQ(adaptation.thresholds(), (AdaptedThresholds{.level0_tables = 8, .reclaim_min = 0.5}));
  Settle(adaptation, WritesAndScans(100'000));
  EXPECT_EQ(adaptation.thresholds(), (AdaptedThresholds{.level0_tables = 2, .reclaim_min = 0.125}));
  Settle(adaptation, Writes());
  EXPECT_EQ(adaptation.thresholds(), (AdaptedThresholds{.level0_tables = 8, .reclaim_min = 0.5}));
  EXPECT_EQ(adaptation.windows(), 120U);
  EXPECT_LE(adaptation.changes(), 20U);
}

TEST(DeleteAdaptation, AStepIsBounded) {
  DeleteAdaptation adaptation(Limits());
  EXPECT_TRUE(adaptation.OnWindow(WritesAndScans(1'000'000), Store()));
  EXPECT_EQ(adaptation.thresholds().level0_tables, 3U);
  EXPECT_DOUBLE_EQ(adaptation.thresholds().reclaim_min, 0.25);
  EXPECT_EQ(adaptation.changes(), 2U);
  EXPECT_EQ(adaptation.last_mix().scans, 1'000'000U);
}

TEST(DeleteAdaptation, WhatIsNearlyAsGoodStays) {
  AdaptationLimits limits = Limits();
  limits.first.level0_tables = 7;
  DeleteAdaptation adaptation(limits);
  const Mix mix = WritesAndGets(1'864'000);
  ASSERT_EQ(BestLevel0Tables(mix, Store(), limits), 6U);
  EXPECT_FALSE(adaptation.OnWindow(mix, Store()));
  // A byte is worth a fifth more than before.
  Mix scans = WritesAndScans(0);
  scans.scanned_bytes = 160 * kMiB;
  ASSERT_DOUBLE_EQ(WorthOfAByte(scans, Store(), limits), 6);
  adaptation.OnWindow(scans, Store());
  EXPECT_EQ(adaptation.thresholds().reclaim_min, 0.5);
}

TEST(DeleteAdaptation, NoiseChangesNothingOnceItHasSettled) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    DeleteAdaptation adaptation(Limits());
    const Mix mix = WritesAndScans(4'000);
    Settle(adaptation, mix);
    const uint64_t before = adaptation.changes();
    Prng random(seed);
    for (int window = 0; window < 200; window++) {
      Mix noisy = mix;
      noisy.scans = mix.scans * random.Between(85, 115) / 100;
      noisy.scanned_bytes = mix.scanned_bytes * random.Between(85, 115) / 100;
      noisy.flushed_bytes = mix.flushed_bytes * random.Between(95, 105) / 100;
      adaptation.OnWindow(noisy, Store());
    }
    EXPECT_EQ(adaptation.changes(), before) << seed;
  }
}

TEST(DeleteAdaptation, AMixThatGoesToAndFroMovesThresholdsEverMoreSeldom) {
  DeleteAdaptation adaptation(Limits());
  uint64_t early = 0;
  for (int window = 0; window < 400; window++) {
    adaptation.OnWindow(window % 2 == 0 ? Writes() : WritesAndScans(100'000), Store());
    early = window == 49 ? adaptation.changes() : early;
  }
  // Each of the two in one window of sixteen, at most.
  EXPECT_LE(adaptation.changes() - early, 2 * 350 / 16);
}

TEST(DeleteAdaptation, WithoutTombstonesMergesForDeletesKeepTheirThreshold) {
  StoreOutline store = Store();
  store.tombstones = 0;
  DeleteAdaptation adaptation(Limits());
  for (int window = 0; window < 10; window++) {
    adaptation.OnWindow(WritesAndScans(100'000), store);
  }
  EXPECT_EQ(adaptation.thresholds().reclaim_min, 0.5);
}

TEST(DeleteAdaptation, ThresholdsStayWithinTheirLimitsWhateverTheMix) {
  Prng random(7);
  const auto any = [&] { return random.OneIn(3) ? 0 : random.Below(uint64_t{1} << random.Below(50)); };
  const AdaptationLimits limits = Limits();
  DeleteAdaptation adaptation(limits);
  for (int window = 0; window < 20'000; window++) {
    Mix mix{.flushes = any(), .flushed_bytes = any(), .puts = any(), .deletes = any()};
    mix.gets = any();
    mix.vain_gets = any();
    mix.scans = any();
    mix.scanned_bytes = any();
    mix.vain_bytes = any();
    const StoreOutline store{any(), any(), any(), any(), any()};
    adaptation.OnWindow(mix, store);
    const AdaptedThresholds& now = adaptation.thresholds();
    ASSERT_GE(now.level0_tables, limits.level0_tables_min);
    ASSERT_LE(now.level0_tables, limits.level0_tables_max);
    ASSERT_GE(now.reclaim_min, limits.reclaim_least);
    ASSERT_LE(now.reclaim_min, limits.first.reclaim_min);
  }
}

TEST(DeleteAdaptation, WhereOnlyTheFirstIsAllowedItStays) {
  AdaptationLimits limits = Limits();
  limits.level0_tables_min = 1;
  limits.level0_tables_max = 1;
  limits.first.level0_tables = 1;
  DeleteAdaptation adaptation(limits);
  Settle(adaptation, Writes());
  Settle(adaptation, WritesAndScans(100'000));
  EXPECT_EQ(adaptation.thresholds().level0_tables, 1U);
}

TEST(DeleteAdaptation, TheSharesOfTombstonesGoWithWhatMergesGiveBack) {
  TreeConfig base;
  base.level0_tables_trigger = 4;
  base.deletes.share_max = 0.25;
  TreeConfig config = base;
  Apply({.level0_tables = 6, .reclaim_min = 0.125}, Limits(), base, config);
  EXPECT_EQ(config.level0_tables_trigger, 4U);
  EXPECT_EQ(config.level0_tables_max, 6U);
  EXPECT_DOUBLE_EQ(config.deletes.reclaim_min, 0.125);
  EXPECT_DOUBLE_EQ(config.deletes.share_max, 0.0625);
  EXPECT_DOUBLE_EQ(config.deletes.dense_share, 0.125);
  Apply({.level0_tables = 3, .reclaim_min = 0.5}, Limits(), base, config);
  EXPECT_EQ(config.level0_tables_trigger, 3U);
  EXPECT_EQ(config.level0_tables_max, 3U);
  Apply(Limits().first, Limits(), base, config);
  EXPECT_EQ(config.level0_tables_trigger, 4U);
  EXPECT_EQ(config.level0_tables_max, 4U);
  EXPECT_DOUBLE_EQ(config.deletes.share_max, 0.25);
  EXPECT_DOUBLE_EQ(config.deletes.dense_share, 0.5);
  AdaptationLimits fixed = Limits();
  fixed.level0_tables_min = fixed.level0_tables_max;
  config.level0_tables_max = 16;
  Apply(fixed.first, fixed, base, config);
  EXPECT_EQ(config.level0_tables_max, 16U);
}

}  // namespace
}  // namespace varve
