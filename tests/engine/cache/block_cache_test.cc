#include "engine/cache/block_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/base/prng.h"

namespace varve {
namespace {

constexpr uint32_t kBlockBytes = 4096;

BlockKey KeyOf(uint64_t n, uint64_t table = 1) {
  return BlockKey{TableId(table), Generation(1), n * kBlockBytes};
}

// A block whose bytes tell which one it is.
BlockRef BlockOf(uint64_t n, uint32_t bytes = kBlockBytes) {
  return BlockRef::CopyOf(std::string(bytes, static_cast<char>(n % 251)));
}

bool IsBlock(const BlockRef& block, uint64_t n) {
  return block && block.bytes() == std::string(block.bytes().size(), static_cast<char>(n % 251));
}

void ReadThrough(BlockCache& cache, uint64_t n, BlockKind kind = BlockKind::kData, uint64_t table = 1) {
  if (!cache.Lookup(KeyOf(n, table), kind)) {
    cache.Insert(KeyOf(n, table), kind, BlockOf(n));
  }
}

TEST(BlockCache, GivesBackWhatWasInserted) {
  BlockCache cache(1 * kMiB);
  EXPECT_FALSE(cache.Lookup(KeyOf(1), BlockKind::kData));
  cache.Insert(KeyOf(1), BlockKind::kData, BlockOf(1));
  EXPECT_TRUE(IsBlock(cache.Lookup(KeyOf(1), BlockKind::kData), 1));
  // Another generation, another table, another offset: other blocks.
  EXPECT_FALSE(cache.Lookup(BlockKey{TableId(1), Generation(2), kBlockBytes}, BlockKind::kData));
  EXPECT_FALSE(cache.Lookup(KeyOf(1, 2), BlockKind::kData));
  EXPECT_FALSE(cache.Lookup(KeyOf(2), BlockKind::kData));
  EXPECT_EQ(cache.statistics().of(BlockKind::kData).hits, 1u);
  EXPECT_EQ(cache.statistics().of(BlockKind::kData).misses, 0u);
  cache.CountMiss(BlockKind::kData);
  EXPECT_EQ(cache.statistics().of(BlockKind::kData).misses, 1u);
}

TEST(BlockCache, APeekIsNoUse) {
  BlockCache cache(1 * kMiB);
  cache.Insert(KeyOf(1), BlockKind::kData, BlockOf(1));
  EXPECT_TRUE(IsBlock(cache.Peek(KeyOf(1)), 1));
  EXPECT_FALSE(cache.Peek(KeyOf(2)));
  EXPECT_EQ(cache.statistics().of(BlockKind::kData).hits, 0u);
  EXPECT_EQ(cache.statistics().of(BlockKind::kData).misses, 0u);
}

TEST(BlockCache, ChargesEveryEntryAndStaysWithinItsCapacity) {
  for (const uint32_t shards : {1u, 4u}) {
    BlockCache cache(1 * kMiB, shards);
    uint64_t largest = 0;
    for (uint64_t n = 0; n < 5000; ++n) {
      cache.Insert(KeyOf(n), n % 10 == 0 ? BlockKind::kIndex : BlockKind::kData,
                   BlockOf(n, static_cast<uint32_t>(n * 37 % 9000)));
      largest = std::max(largest, cache.statistics().charged_bytes);
    }
    EXPECT_LE(largest, 1 * kMiB);
    EXPECT_GT(largest, 900 * kKiB);
    const CacheStatistics statistics = cache.statistics();
    uint64_t by_kind = 0;
    uint64_t left = 0;
    for (const CacheStatistics::OfKind& kind : statistics.by_kind) {
      by_kind += kind.charged_bytes;
      left += kind.inserts - kind.evictions;
    }
    EXPECT_EQ(by_kind, statistics.charged_bytes);
    EXPECT_EQ(left, statistics.entries);
  }
}

TEST(BlockCache, EmptyBlocksAreChargedToo) {
  BlockCache cache(64 * kKiB, 1);
  for (uint64_t n = 0; n < 10000; ++n) {
    cache.Insert(KeyOf(n), BlockKind::kData, BlockRef::Allocate(0));
  }
  EXPECT_LT(cache.statistics().entries, 64 * kKiB / 100);
}

TEST(BlockCache, BlockLargerThanTheCacheDoesNotStay) {
  BlockCache cache(64 * kKiB, 1);
  cache.Insert(KeyOf(1), BlockKind::kData, BlockOf(1, 1 * kMiB));
  EXPECT_EQ(cache.statistics().entries, 0u);
  EXPECT_EQ(cache.statistics().charged_bytes, 0u);
}

TEST(BlockCache, PinnedBytesOutliveEvictionAndTheCache) {
  auto cache = std::make_unique<BlockCache>(64 * kKiB, 1);
  cache->Insert(KeyOf(1), BlockKind::kData, BlockOf(1));
  BlockRef pinned = cache->Lookup(KeyOf(1), BlockKind::kData);
  PinnedValue value = BlockRef(pinned).Pin(pinned.bytes().substr(10, 20));
  for (uint64_t n = 2; n < 200; ++n) {
    cache->Insert(KeyOf(n), BlockKind::kData, BlockOf(n));
  }
  EXPECT_FALSE(cache->Lookup(KeyOf(1), BlockKind::kData));
  cache.reset();
  EXPECT_TRUE(IsBlock(pinned, 1));
  pinned = BlockRef();
  EXPECT_EQ(value.bytes(), std::string(20, '\1'));
}

TEST(BlockCache, ScanDoesNotPushOutWhatIsReadAgainAndAgain) {
  BlockCache cache(4 * kMiB, 1);
  const uint64_t hot = 500;
  for (int round = 0; round < 5; ++round) {
    for (uint64_t n = 0; n < hot; ++n) {
      ReadThrough(cache, n);
    }
  }
  // Ten times the cache, each block once, while the hot ones are read now and then.
  for (uint64_t n = 0; n < 10000; ++n) {
    ReadThrough(cache, 1'000'000 + n);
    ReadThrough(cache, n % hot);
  }
  uint64_t still_cached = 0;
  for (uint64_t n = 0; n < hot; ++n) {
    still_cached += cache.Lookup(KeyOf(n), BlockKind::kData) ? 1 : 0;
  }
  EXPECT_GT(still_cached, hot * 95 / 100);
}

TEST(BlockCache, IndexBlocksSurviveAFloodOfData) {
  BlockCache cache(4 * kMiB, 1);
  for (uint64_t n = 0; n < 100; ++n) {
    ReadThrough(cache, n, BlockKind::kIndex, 2);
  }
  for (uint64_t n = 0; n < 20000; ++n) {
    ReadThrough(cache, n);
    if (n % 100 == 0) {
      ReadThrough(cache, n / 100 % 100, BlockKind::kIndex, 2);
    }
  }
  EXPECT_EQ(cache.statistics().of(BlockKind::kIndex).evictions, 0u);
}

TEST(BlockCache, SkewedReadsHitNearlyAsOftenAsTheBestChoiceAllows) {
  // 80% of reads go to a tenth of 10,000 blocks; a quarter fits. Holding exactly the hot ones and filling up
  // with others would hit 0.80 + 0.20 × 1,500 / 9,000.
  BlockCache cache(2500 * (kBlockBytes + 300), 1);
  Prng prng(1);
  uint64_t hits = 0;
  constexpr uint64_t kReads = 200000;
  for (uint64_t i = 0; i < kReads; ++i) {
    const uint64_t n = prng.Below(10) < 8 ? prng.Below(1000) : 1000 + prng.Below(9000);
    if (cache.Lookup(KeyOf(n), BlockKind::kData)) {
      ++hits;
    } else {
      cache.Insert(KeyOf(n), BlockKind::kData, BlockOf(n));
    }
  }
  EXPECT_GT(static_cast<double>(hits) / kReads, 0.80);
}

TEST(BlockCache, CountsCachedDataBlocksOfEachTable) {
  BlockCache cache(1 * kMiB, 4);
  for (uint64_t n = 0; n < 30; ++n) {
    cache.Insert(KeyOf(n, 1), BlockKind::kData, BlockOf(n));
    cache.Insert(KeyOf(n, 2), n % 3 == 0 ? BlockKind::kData : BlockKind::kFilter, BlockOf(n));
  }
  cache.Insert(KeyOf(3, 1), BlockKind::kData, BlockOf(3));
  EXPECT_EQ(cache.CachedDataBlocks(TableId(1)), 30u);
  EXPECT_EQ(cache.CachedDataBlocks(TableId(2)), 10u);
  EXPECT_EQ(cache.CachedDataBlocks(TableId(3)), 0u);
  for (uint64_t n = 0; n < 2000; ++n) {
    cache.Insert(KeyOf(n, 4), BlockKind::kData, BlockOf(n));
  }
  const CacheStatistics::OfKind data = cache.statistics().of(BlockKind::kData);
  EXPECT_EQ(cache.CachedDataBlocks(TableId(1)) + cache.CachedDataBlocks(TableId(2)) +
                cache.CachedDataBlocks(TableId(4)),
            data.inserts - data.evictions);
}

TEST(BlockCache, ErasedTableLeavesNothing) {
  BlockCache cache(4 * kMiB, 4);
  for (uint64_t n = 0; n < 100; ++n) {
    cache.Insert(KeyOf(n, 1), n % 4 == 0 ? BlockKind::kFooter : BlockKind::kData, BlockOf(n));
    cache.Insert(KeyOf(n, 2), BlockKind::kData, BlockOf(n));
  }
  cache.EraseTable(TableId(1));
  EXPECT_EQ(cache.statistics().entries, 100u);
  EXPECT_EQ(cache.CachedDataBlocks(TableId(1)), 0u);
  for (uint64_t n = 0; n < 100; ++n) {
    EXPECT_FALSE(cache.Lookup(KeyOf(n, 1), BlockKind::kData));
    EXPECT_TRUE(IsBlock(cache.Lookup(KeyOf(n, 2), BlockKind::kData), n));
  }
}

TEST(BlockCache, ATableIsErasedInShortSteps) {
  BlockCache cache(64 * kMiB, 4);
  constexpr uint64_t kBlocks = 2000;
  for (uint64_t n = 0; n < kBlocks; ++n) {
    cache.Insert(KeyOf(n, 1), BlockKind::kData, BlockOf(n));
  }
  cache.Insert(KeyOf(0, 2), BlockKind::kData, BlockOf(0));
  uint64_t left = kBlocks;
  uint64_t steps = 1;
  while (cache.EraseSomeOf(TableId(1))) {
    const uint64_t now = cache.CachedDataBlocks(TableId(1));
    EXPECT_LT(now, left);
    EXPECT_LE(left - now, 64U);
    left = now;
    ++steps;
  }
  EXPECT_GE(steps, kBlocks / 64);
  EXPECT_EQ(cache.statistics().entries, 1U);
}

TEST(BlockCache, AnErasedBlockAloneIsGone) {
  BlockCache cache(4 * kMiB, 4);
  for (uint64_t n = 0; n < 10; ++n) {
    cache.Insert(KeyOf(n, 1), BlockKind::kData, BlockOf(n));
  }
  cache.Erase(KeyOf(3, 1));
  cache.Erase(KeyOf(3, 1));
  cache.Erase(KeyOf(77, 1));
  for (uint64_t n = 0; n < 10; ++n) {
    EXPECT_EQ(!cache.Lookup(KeyOf(n, 1), BlockKind::kData), n == 3) << n;
  }
  EXPECT_EQ(cache.CachedDataBlocks(TableId(1)), 9U);
}

TEST(BlockCache, ASuccessorStandsAsItsPredecessorDid) {
  BlockCache cache(1 * kMiB, 1);
  EXPECT_EQ(cache.StandingOf(KeyOf(0, 1)), CacheStanding::kAbsent);
  cache.Insert(KeyOf(0, 1), BlockKind::kData, BlockOf(0));
  EXPECT_EQ(cache.StandingOf(KeyOf(0, 1)), CacheStanding::kOnTrial);
  cache.InsertSuccessor(KeyOf(1, 1), BlockOf(1), CacheStanding::kOnTrial);
  EXPECT_EQ(cache.StandingOf(KeyOf(1, 1)), CacheStanding::kOnTrial);
  cache.InsertSuccessor(KeyOf(2, 1), BlockOf(2), CacheStanding::kProven);
  EXPECT_EQ(cache.StandingOf(KeyOf(2, 1)), CacheStanding::kProven);
  // A walk over many blocks takes those on trial with it, and leaves the proven one.
  for (uint64_t n = 100; n < 600; ++n) {
    cache.Insert(KeyOf(n, 2), BlockKind::kData, BlockOf(n));
  }
  EXPECT_EQ(cache.StandingOf(KeyOf(1, 1)), CacheStanding::kAbsent);
  EXPECT_TRUE(IsBlock(cache.Lookup(KeyOf(2, 1), BlockKind::kData), 2));
}

// Asked for until it is held, as who asks again and again does.
HeldBlock HoldOf(BlockCache& cache, uint64_t n, BlockKind kind = BlockKind::kFilter) {
  HeldBlock held;
  for (int i = 0; i < 20 && !held; ++i) {
    EXPECT_TRUE(IsBlock(cache.LookupToHold(KeyOf(n), kind, held), n));
  }
  return held;
}

TEST(BlockCache, AHeldBlockStaysUntilItIsLetGo) {
  BlockCache cache(1 * kMiB, 1);
  cache.Insert(KeyOf(1), BlockKind::kFilter, BlockOf(1));
  HeldBlock held;
  EXPECT_TRUE(IsBlock(cache.LookupToHold(KeyOf(1), BlockKind::kFilter, held), 1));
  EXPECT_FALSE(held) << "asked once";
  EXPECT_FALSE(cache.LookupToHold(KeyOf(2), BlockKind::kFilter, held));
  held = HoldOf(cache, 1);
  ASSERT_TRUE(held);
  EXPECT_GT(cache.statistics().held_bytes, kBlockBytes);
  HeldBlock second = HoldOf(cache, 1);
  const auto flood = [&cache](uint64_t first) {
    for (uint64_t n = first; n < first + 3000; ++n) {
      cache.Insert(KeyOf(n), BlockKind::kIndex, BlockOf(n));
      ASSERT_LE(cache.statistics().charged_bytes, 1 * kMiB);
    }
  };
  flood(100);
  EXPECT_TRUE(IsBlock(cache.Peek(KeyOf(1)), 1));
  EXPECT_EQ(cache.StandingOf(KeyOf(1)), CacheStanding::kProven);
  held = HeldBlock();
  EXPECT_GT(cache.statistics().held_bytes, kBlockBytes) << "somebody else holds it";
  flood(10000);
  EXPECT_TRUE(IsBlock(cache.Peek(KeyOf(1)), 1));
  second = HeldBlock();
  EXPECT_EQ(cache.statistics().held_bytes, 0U);
  flood(20000);
  EXPECT_FALSE(cache.Peek(KeyOf(1)));
}

TEST(BlockCache, AQuarterOfItIsHeldAtMost) {
  BlockCache cache(1 * kMiB, 1);
  std::vector<HeldBlock> held;
  for (uint64_t n = 0; n < 200; ++n) {
    cache.Insert(KeyOf(n), BlockKind::kFilter, BlockOf(n));
    if (HeldBlock block = HoldOf(cache, n)) {
      held.push_back(std::move(block));
    }
  }
  EXPECT_LE(cache.statistics().held_bytes, 256 * kKiB);
  EXPECT_GT(cache.statistics().held_bytes, 240 * kKiB);
  held.clear();
  EXPECT_EQ(cache.statistics().held_bytes, 0U);
}

TEST(BlockCache, WhatIsHeldOutlivesItsErasure) {
  BlockCache cache(1 * kMiB, 1);
  cache.Insert(KeyOf(1), BlockKind::kFilter, BlockOf(1));
  HeldBlock held = HoldOf(cache, 1);
  ASSERT_TRUE(held);
  const std::string_view bytes = cache.Peek(KeyOf(1)).bytes();
  cache.EraseTable(TableId(1));
  EXPECT_EQ(cache.statistics().charged_bytes, 0U);
  EXPECT_EQ(bytes, std::string(kBlockBytes, '\1'));
  // Back under the same name, it is a block that nobody holds.
  cache.Insert(KeyOf(1), BlockKind::kFilter, BlockOf(1));
  held = HeldBlock();
  EXPECT_EQ(cache.statistics().held_bytes, 0U);
  EXPECT_TRUE(cache.Peek(KeyOf(1)));
}

TEST(BlockCache, WhatIsHeldOutlivesTheCache) {
  HeldBlock held;
  std::string_view bytes;
  {
    BlockCache cache(1 * kMiB, 1);
    cache.Insert(KeyOf(1), BlockKind::kFilter, BlockOf(1));
    held = HoldOf(cache, 1);
    bytes = cache.Peek(KeyOf(1)).bytes();
  }
  ASSERT_TRUE(held);
  EXPECT_EQ(bytes, std::string(kBlockBytes, '\1'));
}

TEST(BlockCache, ManyThreadsSeeOnlyWholeBlocks) {
  BlockCache cache(1 * kMiB, 4);
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&cache, &wrong, seed] {
      Prng prng(seed);
      HeldBlock held;
      for (int i = 0; i < 20000; ++i) {
        const uint64_t n = prng.Below(600);
        const uint64_t table = 1 + n % 5;
        if (prng.OneIn(2000)) {
          cache.EraseTable(TableId(table));
        } else if (prng.OneIn(10)) {
          HeldBlock block;
          (void)cache.LookupToHold(KeyOf(n, table), BlockKind::kData, block);
          if (block) {
            held = std::move(block);
          }
        } else if (prng.OneIn(500)) {
          (void)cache.CachedDataBlocks(TableId(table));
          (void)cache.statistics();
        } else if (const BlockRef block = cache.Lookup(KeyOf(n, table), BlockKind::kData)) {
          wrong += IsBlock(block, n) ? 0 : 1;
        } else {
          cache.Insert(KeyOf(n, table), BlockKind::kData, BlockOf(n));
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_LE(cache.statistics().charged_bytes, 1 * kMiB);
  EXPECT_EQ(cache.statistics().held_bytes, 0u);
}

}  // namespace
}  // namespace varve
