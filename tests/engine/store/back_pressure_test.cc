#include "engine/store/back_pressure.h"

#include <gtest/gtest.h>

#include "engine/base/units.h"

namespace varve {
namespace {

constexpr uint64_t kGrain = Throttle::kGrainNanos;

TEST(BackPressure, RisesWithEachKindOfDebt) {
  Debt debt{.immutable_memtables_max = 2, .level0_tables_trigger = 4, .concern_bytes = 8 * kMiB};
  EXPECT_EQ(PressureOf(debt), 0);
  EXPECT_EQ(RateAt(0), 0U);
  Debt level0 = debt;
  level0.level0_tables = 16;
  Debt overdue = debt;
  overdue.overdue_bytes = 72 * kMiB;
  Debt memory = debt;
  memory.immutable_memtables = 2;
  memory.memtable_fill = 0.5;
  Debt ranges = debt;
  ranges.range_tombstones = 5;
  for (const Debt& some : {level0, overdue, memory, ranges}) {
    EXPECT_GT(PressureOf(some), 0.4);
    EXPECT_LT(PressureOf(some), 0.7);
  }
  EXPECT_GT(RateAt(0.3), RateAt(0.6));
  EXPECT_GT(RateAt(1), 0U);
}

TEST(Throttle, WithoutARateNobodyWaits) {
  Throttle throttle;
  throttle.Charge(kMiB, 1'000'000'000);
  EXPECT_EQ(throttle.WaitNanos(1'000'000'000), 0U);
}

// A MiB a second, at times that a simulation might begin with as well.
TEST(Throttle, ShortWaitsAreGatheredAndOwedInFull) {
  for (const uint64_t begin : {uint64_t{0}, uint64_t{5'000'000'000}}) {
    Throttle throttle;
    throttle.SetRate(kMiB);
    const uint64_t of_64_bytes = uint64_t{1'000'000'000} / (kMiB / 64);
    uint64_t writes = 0;
    while (throttle.WaitNanos(begin) == 0) {
      ASSERT_LT(++writes, 100U);
      throttle.Charge(64, begin);
    }
    EXPECT_GT(throttle.WaitNanos(begin), kGrain);
    EXPECT_LE(throttle.WaitNanos(begin), kGrain + of_64_bytes);
  }
}

TEST(Throttle, TheRateHoldsThoughSleepersWakeLate) {
  Throttle throttle;
  throttle.SetRate(kMiB);
  uint64_t now = 1'000'000'000;
  uint64_t bytes = 0;
  const uint64_t begin = now;
  while (now < begin + 1'000'000'000) {
    const uint64_t wait = throttle.WaitNanos(now);
    now += wait == 0 ? 0 : wait + kGrain / 2;
    throttle.Charge(256, now);
    bytes += 256;
  }
  EXPECT_GT(bytes, kMiB * 98 / 100);
  EXPECT_LT(bytes, kMiB * 102 / 100);
}

TEST(Throttle, WhoRestedHasNoMoreThanAGrainToHisCredit) {
  Throttle throttle;
  throttle.SetRate(kMiB);
  throttle.Charge(256, 1'000'000'000);
  const uint64_t later = 9'000'000'000;
  // Twice a grain: what was saved up, and what may be owed.
  uint64_t bytes = 0;
  for (; throttle.WaitNanos(later) == 0; bytes += 64) {
    ASSERT_LT(bytes, kMiB);
    throttle.Charge(64, later);
  }
  EXPECT_LE(bytes, 2 * kGrain * kMiB / 1'000'000'000 + 128);
}

}  // namespace
}  // namespace varve
