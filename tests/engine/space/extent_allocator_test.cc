#include "engine/space/extent_allocator.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/prng.h"

namespace varve {
namespace {

constexpr uint64_t kUnit = kExtentUnitBytes;

Layout SmallLayout() {
  return *Layout::ForDevice(kDeviceBytesMin);
}

std::vector<Extent> TakeNow(ExtentAllocator& allocator, uint64_t units) {
  Result<SpaceReservation> reservation = allocator.Reserve(units * kUnit, SpaceClass::kInternal);
  EXPECT_TRUE(reservation.ok()) << reservation.ToString();
  return allocator.Take(*reservation, units * kUnit);
}

void FreeNow(ExtentAllocator& allocator, const std::vector<Extent>& extents) {
  allocator.Release(extents);
  const std::vector<Extent> reclaimed = allocator.BeginReclaim();
  allocator.FinishReclaim(reclaimed);
}

TEST(ExtentAllocatorTest, TakesWholeUnitsInOnePieceOfAFreshDevice) {
  ExtentAllocator allocator(SmallLayout(), 0);
  Result<SpaceReservation> reservation = allocator.Reserve(10 * kUnit + 1, SpaceClass::kUser);
  ASSERT_TRUE(reservation.ok());
  EXPECT_EQ(reservation->bytes_left(), 11 * kUnit);
  const std::vector<Extent> taken = allocator.Take(*reservation, 10 * kUnit + 1);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].units, 11u);
  EXPECT_TRUE(allocator.layout().Holds(taken[0]));
  EXPECT_EQ(reservation->bytes_left(), 0u);
}

TEST(ExtentAllocatorTest, PrefersTheSmallestGapThatFits) {
  ExtentAllocator allocator(SmallLayout(), 0);
  const std::vector<Extent> gap_of_8 = TakeNow(allocator, 8);
  const std::vector<Extent> fence = TakeNow(allocator, 1);
  const std::vector<Extent> gap_of_3 = TakeNow(allocator, 3);
  const std::vector<Extent> fence_2 = TakeNow(allocator, 1);
  FreeNow(allocator, gap_of_8);
  FreeNow(allocator, gap_of_3);
  EXPECT_EQ(TakeNow(allocator, 3), gap_of_3);
  EXPECT_EQ(TakeNow(allocator, 8), gap_of_8);
}

TEST(ExtentAllocatorTest, FragmentedSpaceIsStillUsedToTheLastUnit) {
  ExtentAllocator allocator(SmallLayout(), 0);
  const uint64_t units = allocator.layout().usable_bytes() / kUnit;
  std::vector<Extent> every_other;
  for (uint64_t i = 0; i < units; ++i) {
    const std::vector<Extent> one = TakeNow(allocator, 1);
    if (one[0].first_unit % 2 == 0) {
      every_other.push_back(one[0]);
    }
  }
  EXPECT_EQ(allocator.numbers().free_bytes, 0u);
  FreeNow(allocator, every_other);
  EXPECT_EQ(TakeNow(allocator, every_other.size()).size(), every_other.size());
}

TEST(ExtentAllocatorTest, AReservationIsAPromiseThatOthersCannotTake) {
  ExtentAllocator allocator(SmallLayout(), 0);
  const uint64_t all = allocator.layout().usable_bytes();
  Result<SpaceReservation> most = allocator.Reserve(all - kUnit, SpaceClass::kUser);
  ASSERT_TRUE(most.ok());
  EXPECT_TRUE(allocator.Reserve(2 * kUnit, SpaceClass::kInternal).Is(ErrorCode::kNoSpace));
  EXPECT_TRUE(allocator.Reserve(kUnit, SpaceClass::kUser).ok());
  const std::vector<Extent> taken = allocator.Take(*most, 5 * kUnit);
  most->GiveBack();
  EXPECT_EQ(allocator.numbers().reserved_bytes, 0u);
  EXPECT_EQ(allocator.numbers().free_bytes, all - 5 * kUnit);
}

TEST(ExtentAllocatorTest, ReservationsMoveAndGiveBackOnce) {
  ExtentAllocator allocator(SmallLayout(), 0);
  {
    Result<SpaceReservation> a = allocator.Reserve(4 * kUnit, SpaceClass::kUser);
    ASSERT_TRUE(a.ok());
    SpaceReservation b = std::move(*a);
    SpaceReservation c;
    c = std::move(b);
    EXPECT_EQ(allocator.numbers().reserved_bytes, 4 * kUnit);
  }
  EXPECT_EQ(allocator.numbers().reserved_bytes, 0u);
}

TEST(ExtentAllocatorTest, TheInternalShareIsLeftWhenUsersGetNoSpace) {
  const uint64_t share = 20 * kUnit;
  ExtentAllocator allocator(SmallLayout(), share);
  const uint64_t for_users = allocator.numbers().user_available_bytes;
  EXPECT_EQ(for_users, allocator.layout().usable_bytes() - share);
  Result<SpaceReservation> users = allocator.Reserve(for_users, SpaceClass::kUser);
  ASSERT_TRUE(users.ok());
  EXPECT_TRUE(allocator.Reserve(kUnit, SpaceClass::kUser).Is(ErrorCode::kNoSpace));
  EXPECT_TRUE(allocator.Reserve(share, SpaceClass::kInternal).ok());
}

TEST(ExtentAllocatorTest, ReleasedSpaceIsNotHandedOutBeforeItIsReclaimed) {
  ExtentAllocator allocator(SmallLayout(), 0);
  const uint64_t all = allocator.layout().usable_bytes();
  const std::vector<Extent> taken = TakeNow(allocator, all / kUnit);
  allocator.Release(taken);
  EXPECT_EQ(allocator.released_bytes(), all);
  EXPECT_TRUE(allocator.Reserve(kUnit, SpaceClass::kInternal).Is(ErrorCode::kNoSpace));
  EXPECT_EQ(allocator.numbers().user_available_bytes, 0u);
  EXPECT_EQ(allocator.numbers().user_available_after_reclaim_bytes, all);
  const std::vector<Extent> reclaimed = allocator.BeginReclaim();
  EXPECT_EQ(allocator.released_bytes(), 0u);
  EXPECT_TRUE(allocator.Reserve(kUnit, SpaceClass::kInternal).Is(ErrorCode::kNoSpace));
  allocator.FinishReclaim(reclaimed);
  EXPECT_TRUE(allocator.Reserve(all, SpaceClass::kInternal).ok());
}

TEST(ExtentAllocatorTest, ReclaimMergesNeighbours) {
  ExtentAllocator allocator(SmallLayout(), 0);
  const std::vector<Extent> a = TakeNow(allocator, 2);
  const std::vector<Extent> b = TakeNow(allocator, 3);
  const std::vector<Extent> c = TakeNow(allocator, 4);
  allocator.Release(c);
  allocator.Release(a);
  allocator.Release(b);
  EXPECT_EQ(allocator.BeginReclaim(), (std::vector<Extent>{{a[0].first_unit, 9}}));
}

TEST(ExtentAllocatorTest, DoubleUseFoundAtOpenIsCorruptionAndMarksNothing) {
  ExtentAllocator allocator(SmallLayout(), 0);
  ASSERT_TRUE(allocator.MarkUsed(std::vector<Extent>{{10, 5}}, "table 1").ok());
  const uint64_t free_before = allocator.numbers().free_bytes;
  const std::vector<std::vector<Extent>> impossible{
      {{20, 2}, {14, 1}},                        // used by table 1
      {{20, 2}, {21, 1}},                        // overlaps itself
      {{0, 1}},                                  // the superblock's
      {{allocator.layout().end_unit(), 1}},      // the other superblock's
      {{allocator.layout().end_unit() - 1, 2}},  // reaches into it
      {{0xffffffff, 0xffffffff}},                // far outside
      {{30, 0}},                                 // empty
  };
  for (const std::vector<Extent>& extents : impossible) {
    const Status status = allocator.MarkUsed(extents, "table 2");
    EXPECT_TRUE(status.Is(ErrorCode::kCorruption));
    EXPECT_NE(status.ToString().find("table 2"), std::string::npos);
    EXPECT_EQ(allocator.numbers().free_bytes, free_before);
  }
}

TEST(ExtentAllocatorDeathTest, FreeingTwiceEndsTheProcess) {
  ExtentAllocator allocator(SmallLayout(), 0);
  const std::vector<Extent> taken = TakeNow(allocator, 2);
  allocator.Release(taken);
  EXPECT_DEATH(allocator.Release(taken), "freed twice");
  FreeNow(allocator, {});
  EXPECT_DEATH(allocator.Release(taken), "not taken");
}

TEST(ExtentAllocatorTest, TheInternalShareIsTheNeedWithinBounds) {
  const Layout layout = *Layout::ForDevice(kGiB);
  EXPECT_EQ(InternalShareBytes(layout, 0), layout.usable_bytes() / 50);
  EXPECT_EQ(InternalShareBytes(layout, 100 * kMiB), 100 * kMiB);
  EXPECT_EQ(InternalShareBytes(layout, kGiB), layout.usable_bytes() / 4);
}

// Against a plain array of owners.
TEST(ExtentAllocatorTest, RandomUseNeverGivesAUnitTwiceAndLosesNone) {
  ExtentAllocator allocator(SmallLayout(), 0);
  const uint64_t units = allocator.layout().usable_bytes() / kUnit;
  std::vector<bool> owned(allocator.layout().end_unit(), false);
  std::vector<std::vector<Extent>> held;
  Prng prng(11);
  uint64_t owned_units = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (prng.OneIn(2)) {
      const uint64_t wanted = prng.Between(1, 40);
      Result<SpaceReservation> reservation = allocator.Reserve(wanted * kUnit, SpaceClass::kInternal);
      ASSERT_EQ(reservation.ok(), wanted <= allocator.numbers().free_bytes / kUnit || reservation.ok());
      if (!reservation.ok()) {
        continue;
      }
      held.push_back(allocator.Take(*reservation, wanted * kUnit));
      for (const Extent& extent : held.back()) {
        for (uint64_t unit = extent.first_unit; unit < extent.end_unit(); ++unit) {
          ASSERT_FALSE(owned[unit]);
          owned[unit] = true;
          ++owned_units;
        }
      }
    } else if (!held.empty()) {
      std::swap(held[prng.Below(held.size())], held.back());
      for (const Extent& extent : held.back()) {
        for (uint64_t unit = extent.first_unit; unit < extent.end_unit(); ++unit) {
          owned[unit] = false;
          --owned_units;
        }
      }
      FreeNow(allocator, held.back());
      held.pop_back();
    }
    ASSERT_EQ(allocator.numbers().free_bytes / kUnit, units - owned_units);
  }
}

TEST(ExtentAllocatorTest, ThreadsTakeAndReleaseAtOnce) {
  ExtentAllocator allocator(SmallLayout(), 0);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&allocator, t] {
      Prng prng(t);
      for (int i = 0; i < 3000; ++i) {
        Result<SpaceReservation> reservation =
            allocator.Reserve(prng.Between(1, 9) * kUnit, SpaceClass::kUser);
        if (reservation.ok()) {
          FreeNow(allocator, allocator.Take(*reservation, reservation->bytes_left()));
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const std::vector<Extent> rest = allocator.BeginReclaim();
  allocator.FinishReclaim(rest);
  EXPECT_EQ(allocator.numbers().free_bytes, allocator.layout().usable_bytes());
}

}  // namespace
}  // namespace varve
