// How much of the block cache is reserved for what merges read soon.
#include "engine/store/written_room.h"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "engine/cache/block_cache.h"

namespace varve {
namespace {

constexpr uint64_t kCache = 32 * kMiB;

// Sixteen flushes of 2 MiB, 8 tables in level 0.
WrittenLevels LevelsWith(uint64_t level1_bytes) {
  return {16, 32 * kMiB, 8, level1_bytes};
}
CacheUse UseWith(uint64_t data_hits) {
  return {kCache, data_hits, 24 * kMiB, 7 * kMiB};
}

TEST(WrittenRoom, PaysWhereFewGetsFindTheirBlock) {
  // Each byte of the reserve spares the read of two; 2,000 hits of 16 KiB share 24 MiB.
  EXPECT_NEAR(WorthOfReserve(LevelsWith(0), UseWith(2000)), 2 / (2000 * 16.0 / 1024 / 24), 0.01);
  EXPECT_GT(WorthOfReserve(LevelsWith(0), UseWith(1000)), 1.25);
  EXPECT_LT(WorthOfReserve(LevelsWith(0), UseWith(20'000)), 0.5);
  EXPECT_GT(WorthOfReserve(LevelsWith(0), UseWith(0)), 1e9);
  // More tables in level 0 take more room for as much.
  WrittenLevels deeper = LevelsWith(0);
  deeper.level0_tables = 16;
  EXPECT_LT(WorthOfReserve(deeper, UseWith(2000)), WorthOfReserve(LevelsWith(0), UseWith(2000)));
}

TEST(WrittenRoom, HoldsLevel0AndWhatAMergeOfItWrites) {
  EXPECT_EQ(ReserveFor(LevelsWith(0), UseWith(0)), 18 * kMiB);
  CacheUse large = UseWith(0);
  large.capacity_bytes = 1024 * kMiB;
  EXPECT_EQ(ReserveFor(LevelsWith(8 * kMiB), large), 45 * kMiB);
}

TEST(WrittenRoom, LeavesWhatLeadsToBlocksAndAnEighthForThem) {
  EXPECT_EQ(ReserveFor(LevelsWith(100 * kMiB), UseWith(0)), 21 * kMiB);
  CacheUse use = UseWith(0);
  use.guide_bytes = kCache;
  EXPECT_EQ(ReserveFor(LevelsWith(0), use), 0u);
}

class WrittenRoomInACache : public ::testing::Test {
 protected:
  static BlockKey Key(uint64_t n) { return {TableId(1), Generation(1), n * 4096}; }
  void Fill() {
    for (uint64_t n = 0; n < 2000; n++) {
      cache_.Insert(Key(n), BlockKind::kData, BlockRef::CopyOf(std::string(4000, 'b')));
    }
  }
  void Hit(uint64_t times) {
    uint64_t found = 0;
    for (uint64_t n = 0; found < times; n = (n + 1) % 2000) {
      found += cache_.Lookup(Key(n), BlockKind::kData) ? 1 : 0;
    }
  }

  BlockCache cache_{4 * kMiB, 1};
  WrittenRoom room_{cache_};
  const WrittenLevels levels_{16, 4 * kMiB, 8, 0};
};

TEST_F(WrittenRoomInACache, IsThereWhileGetsFindLittle) {
  Fill();
  EXPECT_EQ(room_.reserved_bytes(), 0u);
  room_.OnWindow(levels_);
  EXPECT_EQ(room_.reserved_bytes(), 9 * kMiB / 4);
  cache_.KeepWritten(TableId(2), 0, std::string(kWrittenPieceBytes, 'w'), WrittenFor::kNextMerge);
  std::string kept(100, ' ');
  EXPECT_TRUE(cache_.CopyWritten(TableId(2), 0, std::as_writable_bytes(std::span(kept))));
  // Twice as many bytes as all blocks take.
  Hit(5000);
  room_.OnWindow(levels_);
  EXPECT_EQ(room_.reserved_bytes(), 0u);
}

TEST_F(WrittenRoomInACache, GoesByTheHitsOfTheWindowAlone) {
  Fill();
  Hit(5000);
  room_.OnWindow(levels_);
  EXPECT_EQ(room_.reserved_bytes(), 0u);
  room_.OnWindow(levels_);
  EXPECT_GT(room_.reserved_bytes(), 0u);
}

TEST_F(WrittenRoomInACache, DoesNotSwingWithEachWindow) {
  Fill();
  uint64_t changes = 0;
  for (uint64_t window = 0; window < 64; window++) {
    const uint64_t before = room_.reserved_bytes();
    Hit(window % 2 == 0 ? 0 : 5000);
    room_.OnWindow(levels_);
    changes += room_.reserved_bytes() == before ? 0 : 1;
  }
  EXPECT_LT(changes, 16u);
}

}  // namespace
}  // namespace varve
