#include "engine/store/log_segments.h"

#include <gtest/gtest.h>

#include "tests/engine/compaction/small_store.h"

namespace varve {
namespace {

// Others ask for space at the same time: what the log has tried and let go must not look taken to them.
TEST(LogSegments, WhatTheyTakeAndDoNotKeepIsFreeAtOnce) {
  SmallStore store(512);
  ExtentAllocator& allocator = *store.allocator;
  // Every second unit is free: no piece makes a segment.
  const uint64_t all = allocator.numbers().free_bytes;
  SpaceReservation reservation = allocator.Reserve(all, SpaceClass::kInternal).value();
  for (const Extent& extent : allocator.Take(reservation, all)) {
    for (uint32_t unit = 0; unit < extent.units; unit += 2) {
      const Extent one{extent.first_unit + unit, 1};
      allocator.Release({&one, 1});
    }
  }
  allocator.FinishReclaim(allocator.BeginReclaim());
  const uint64_t free = allocator.numbers().free_bytes;
  ASSERT_GT(free, kWalSegmentBytesMin);

  LogSegments segments(allocator, *store.versions, kWalSegmentBytesMin);
  segments.TakeSpares(0);
  EXPECT_EQ(allocator.numbers().free_bytes, free);
  EXPECT_EQ(allocator.numbers().released_bytes, 0U);
}

}  // namespace
}  // namespace varve
