// Pieces of tables as they were written, beside blocks in the cache.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/cache/block_cache.h"

namespace varve {
namespace {

constexpr TableId kTable{7};

std::string Bytes(uint64_t count, char first = 'a') {
  std::string bytes(count, ' ');
  for (uint64_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<char>(first + i / 1000 % 20);
  }
  return bytes;
}

// nullopt: not all of it is kept.
std::optional<std::string> Kept(BlockCache& cache, uint64_t offset, uint64_t count, TableId table = kTable) {
  std::vector<std::byte> into(count);
  if (!cache.CopyWritten(table, offset, into)) {
    return std::nullopt;
  }
  return std::string(reinterpret_cast<const char*>(into.data()), into.size());
}

TEST(WrittenPieces, GiveBackAnyPartOfWhatWasWritten) {
  BlockCache cache(4 * kMiB, 1);
  const std::string bytes = Bytes(3 * kWrittenPieceBytes + 1000);
  cache.KeepWritten(kTable, 0, bytes, WrittenFor::kNextMerge);
  EXPECT_EQ(Kept(cache, 0, bytes.size()), bytes);
  EXPECT_EQ(Kept(cache, kWrittenPieceBytes - 10, 20), bytes.substr(kWrittenPieceBytes - 10, 20));
  EXPECT_EQ(Kept(cache, 3 * kWrittenPieceBytes + 990, 10), bytes.substr(bytes.size() - 10));
  EXPECT_FALSE(Kept(cache, 3 * kWrittenPieceBytes + 990, 11)) << "beyond what was written";
  EXPECT_FALSE(Kept(cache, 4 * kWrittenPieceBytes, 1));
  EXPECT_FALSE(Kept(cache, 0, 1, TableId(8)));
}

TEST(WrittenPieces, AreGoneWhereOtherBytesAreWritten) {
  BlockCache cache(4 * kMiB, 1);
  const std::string bytes = Bytes(4 * kWrittenPieceBytes);
  cache.KeepWritten(kTable, 0, bytes, WrittenFor::kNextMerge);
  cache.DropWritten(kTable, 2 * kWrittenPieceBytes - 1, 2);
  EXPECT_TRUE(Kept(cache, 0, kWrittenPieceBytes));
  EXPECT_FALSE(Kept(cache, kWrittenPieceBytes, 1));
  EXPECT_FALSE(Kept(cache, 3 * kWrittenPieceBytes - 1, 1));
  EXPECT_TRUE(Kept(cache, 3 * kWrittenPieceBytes, kWrittenPieceBytes));
}

TEST(WrittenPieces, AreThereWhereAnyOfThemIs) {
  BlockCache cache(4 * kMiB, 1);
  cache.KeepWritten(kTable, 0, Bytes(4 * kWrittenPieceBytes), WrittenFor::kNextMerge);
  cache.DropWritten(kTable, 0, 2 * kWrittenPieceBytes);
  EXPECT_FALSE(cache.HasWritten(kTable, 0, 2 * kWrittenPieceBytes));
  EXPECT_TRUE(cache.HasWritten(kTable, 0, 2 * kWrittenPieceBytes + 1));
  EXPECT_TRUE(cache.HasWritten(kTable, 2 * kWrittenPieceBytes + 7, 10));
  EXPECT_FALSE(cache.HasWritten(kTable, 4 * kWrittenPieceBytes, kWrittenPieceBytes));
}

TEST(WrittenPieces, GoWithTheirTable) {
  BlockCache cache(4 * kMiB, 1);
  cache.KeepWritten(kTable, 0, Bytes(kWrittenPieceBytes), WrittenFor::kNextMerge);
  cache.EraseTable(kTable);
  EXPECT_FALSE(Kept(cache, 0, 1));
  EXPECT_EQ(cache.statistics().charged_bytes, 0u);
}

TEST(WrittenPieces, TakeNoRoomFromBlocks) {
  BlockCache cache(1 * kMiB, 1);
  const auto block = [](uint64_t n) { return BlockKey{TableId(1), Generation(1), n * 4096}; };
  uint64_t blocks = 0;
  for (; cache.statistics().of(BlockKind::kData).evictions == 0; ++blocks) {
    cache.Insert(block(blocks), BlockKind::kData, BlockRef::CopyOf(Bytes(4096)));
  }
  const uint64_t entries = cache.statistics().entries;
  cache.KeepWritten(kTable, 0, Bytes(8 * kWrittenPieceBytes), WrittenFor::kNextMerge);
  EXPECT_EQ(cache.statistics().entries, entries);
  EXPECT_EQ(cache.statistics().of(BlockKind::kWritten).inserts, 0u) << "it was copied for nothing";
}

TEST(WrittenPieces, PushNoOlderPiecesOut) {
  BlockCache cache(1 * kMiB, 1);
  for (uint64_t table = 1; table <= 20; ++table) {
    cache.KeepWritten(TableId(table), 0, Bytes(kWrittenPieceBytes), WrittenFor::kNextMerge);
    EXPECT_LE(cache.statistics().charged_bytes, 1 * kMiB);
  }
  EXPECT_TRUE(Kept(cache, 0, 1, TableId(1)));
  EXPECT_TRUE(Kept(cache, 0, 1, TableId(15)));
  EXPECT_FALSE(Kept(cache, 0, 1, TableId(20)));
  EXPECT_EQ(cache.statistics().of(BlockKind::kWritten).evictions, 0u);
}

TEST(WrittenPieces, ForLaterMergesLeaveAQuarterToThoseForTheNext) {
  BlockCache cache(1 * kMiB, 1);
  for (uint64_t table = 1; table <= 20; ++table) {
    cache.KeepWritten(TableId(table), 0, Bytes(kWrittenPieceBytes), WrittenFor::kLaterMerge);
  }
  const uint64_t later = cache.statistics().of(BlockKind::kWritten).charged_bytes;
  EXPECT_LE(later, 768 * kKiB);
  EXPECT_GT(later, 600 * kKiB);
  cache.KeepWritten(TableId(30), 0, Bytes(3 * kWrittenPieceBytes), WrittenFor::kNextMerge);
  EXPECT_TRUE(Kept(cache, 0, 3 * kWrittenPieceBytes, TableId(30)));
}

TEST(WrittenPieces, MakeRoomForBlocksTheOldestFirst) {
  BlockCache cache(1 * kMiB, 1);
  cache.KeepWritten(TableId(1), 0, Bytes(8 * kWrittenPieceBytes), WrittenFor::kNextMerge);
  cache.KeepWritten(TableId(2), 0, Bytes(7 * kWrittenPieceBytes), WrittenFor::kNextMerge);
  // Blocks of which each is asked for once: they are on trial, and still go before.
  for (uint64_t n = 0; n < 1000; ++n) {
    cache.Insert({TableId(100), Generation(1), n * 4096}, BlockKind::kData, BlockRef::CopyOf(Bytes(4096)));
    EXPECT_LE(cache.statistics().charged_bytes, 1 * kMiB);
    if (!Kept(cache, 0, 8 * kWrittenPieceBytes, TableId(1)) && n < 100) {
      EXPECT_TRUE(Kept(cache, 0, 7 * kWrittenPieceBytes, TableId(2)));
    }
  }
  EXPECT_EQ(cache.statistics().of(BlockKind::kWritten).charged_bytes, 0u);
  EXPECT_GT(cache.CachedDataBlocks(TableId(100)), 200u);
}

TEST(WrittenPieces, CountAsNoBlocksAndNoHits) {
  BlockCache cache(4 * kMiB, 1);
  cache.KeepWritten(kTable, 0, Bytes(2 * kWrittenPieceBytes), WrittenFor::kNextMerge);
  EXPECT_TRUE(Kept(cache, 0, 2 * kWrittenPieceBytes));
  EXPECT_EQ(cache.CachedDataBlocks(kTable), 0u);
  EXPECT_EQ(cache.statistics().hits(), 0u);
  EXPECT_EQ(cache.statistics().of(BlockKind::kWritten).hits, 2u);
}

BlockKey BlockAt(uint64_t n) {
  return {TableId(100), Generation(1), n * 4096};
}

void FillWithBlocks(BlockCache& cache, uint64_t first) {
  for (uint64_t n = first; n < first + 600; ++n) {
    cache.Insert(BlockAt(n), BlockKind::kData, BlockRef::CopyOf(Bytes(4096)));
    EXPECT_LE(cache.statistics().charged_bytes, cache.capacity_bytes());
  }
}

TEST(WrittenPieces, TakeWhatIsReservedFromBlocksAndKeepIt) {
  BlockCache cache(1 * kMiB, 1);
  FillWithBlocks(cache, 0);
  cache.ReserveForWritten(520 * kKiB);
  const std::string bytes = Bytes(12 * kWrittenPieceBytes);
  cache.KeepWritten(kTable, 0, bytes, WrittenFor::kNextMerge);
  EXPECT_LE(cache.statistics().charged_bytes, 1 * kMiB);
  FillWithBlocks(cache, 1000);
  const auto fit = 7 * kWrittenPieceBytes;
  EXPECT_EQ(Kept(cache, 0, fit), bytes.substr(0, fit)) << "blocks pushed out what was reserved";
  EXPECT_FALSE(Kept(cache, 8 * kWrittenPieceBytes, 1)) << "more than is reserved was taken from blocks";
  EXPECT_GT(cache.CachedDataBlocks(TableId(100)), 100u);
}

TEST(WrittenPieces, ForTheNextMergePushOutThoseForLaterOnesWithinTheReserve) {
  BlockCache cache(1 * kMiB, 1);
  FillWithBlocks(cache, 0);
  cache.ReserveForWritten(460 * kKiB);
  for (uint64_t table = 1; table <= 10; ++table) {
    cache.KeepWritten(TableId(table), 0, Bytes(kWrittenPieceBytes), WrittenFor::kLaterMerge);
  }
  EXPECT_TRUE(Kept(cache, 0, 1, TableId(7)));
  EXPECT_FALSE(Kept(cache, 0, 1, TableId(8))) << "a later merge's pushed something out";
  const uint64_t blocks = cache.CachedDataBlocks(TableId(100));
  cache.KeepWritten(TableId(30), 0, Bytes(4 * kWrittenPieceBytes), WrittenFor::kNextMerge);
  EXPECT_TRUE(Kept(cache, 0, 4 * kWrittenPieceBytes, TableId(30)));
  EXPECT_FALSE(Kept(cache, 0, 1, TableId(4)));
  EXPECT_TRUE(Kept(cache, 0, 1, TableId(5))) << "more than had to went";
  EXPECT_EQ(cache.CachedDataBlocks(TableId(100)), blocks);
  cache.KeepWritten(TableId(31), 0, Bytes(5 * kWrittenPieceBytes), WrittenFor::kNextMerge);
  EXPECT_TRUE(Kept(cache, 0, 4 * kWrittenPieceBytes, TableId(30)));
  EXPECT_TRUE(Kept(cache, 0, 3 * kWrittenPieceBytes, TableId(31)));
  EXPECT_FALSE(Kept(cache, 4 * kWrittenPieceBytes, 1, TableId(31)))
      << "the next merge's pushed out their like";
}

TEST(WrittenPieces, GoOnceAMergeHasReadThem) {
  BlockCache cache(4 * kMiB, 1);
  cache.KeepWritten(kTable, 0, Bytes(6 * kWrittenPieceBytes), WrittenFor::kNextMerge);
  cache.LetGoOfWritten(kTable, kWrittenPieceBytes + 1000, 3 * kWrittenPieceBytes);
  EXPECT_TRUE(Kept(cache, 0, kWrittenPieceBytes));
  EXPECT_FALSE(Kept(cache, kWrittenPieceBytes, 1)) << "what begins before was read before";
  EXPECT_FALSE(Kept(cache, 3 * kWrittenPieceBytes, 1));
  EXPECT_TRUE(Kept(cache, 4 * kWrittenPieceBytes, 2 * kWrittenPieceBytes))
      << "what goes on behind was not read";
  cache.LetGoOfWritten(kTable, 4 * kWrittenPieceBytes + 10, 100);
  EXPECT_TRUE(Kept(cache, 4 * kWrittenPieceBytes, 1));
  // Its last sector is read once more with what follows.
  cache.LetGoOfWritten(kTable, 4 * kWrittenPieceBytes, kWrittenPieceBytes);
  EXPECT_TRUE(Kept(cache, 4 * kWrittenPieceBytes, 1));
}

TEST(WrittenPieces, GiveUpWhatIsReservedNoMore) {
  BlockCache cache(1 * kMiB, 1);
  FillWithBlocks(cache, 0);
  cache.ReserveForWritten(520 * kKiB);
  cache.KeepWritten(kTable, 0, Bytes(7 * kWrittenPieceBytes), WrittenFor::kNextMerge);
  cache.ReserveForWritten(0);
  FillWithBlocks(cache, 1000);
  EXPECT_EQ(cache.statistics().of(BlockKind::kWritten).charged_bytes, 0u);
  EXPECT_FALSE(Kept(cache, 0, 1));
}

TEST(WrittenPieces, GiveUpWhatIsReservedOnceNothingIsWrittenAnyMore) {
  BlockCache cache(1 * kMiB, 1);
  FillWithBlocks(cache, 0);
  cache.ReserveForWritten(520 * kKiB);
  cache.KeepWritten(kTable, 0, Bytes(7 * kWrittenPieceBytes), WrittenFor::kNextMerge);
  FillWithBlocks(cache, 1000);
  EXPECT_TRUE(Kept(cache, 0, 7 * kWrittenPieceBytes));
  FillWithBlocks(cache, 2000);
  FillWithBlocks(cache, 3000);
  EXPECT_EQ(cache.statistics().of(BlockKind::kWritten).charged_bytes, 0u);
  // Until something is.
  cache.KeepWritten(kTable, 0, Bytes(7 * kWrittenPieceBytes), WrittenFor::kNextMerge);
  FillWithBlocks(cache, 4000);
  EXPECT_TRUE(Kept(cache, 0, 7 * kWrittenPieceBytes));
}

TEST(WrittenPieces, LeaveBlocksAnEighthWhateverIsReserved) {
  BlockCache cache(1 * kMiB, 1);
  FillWithBlocks(cache, 0);
  cache.ReserveForWritten(UINT64_MAX);
  cache.KeepWritten(kTable, 0, Bytes(20 * kWrittenPieceBytes), WrittenFor::kNextMerge);
  FillWithBlocks(cache, 1000);
  EXPECT_GE(cache.statistics().of(BlockKind::kData).charged_bytes, 128 * kKiB);
  EXPECT_TRUE(Kept(cache, 0, 12 * kWrittenPieceBytes));
}

}  // namespace
}  // namespace varve
