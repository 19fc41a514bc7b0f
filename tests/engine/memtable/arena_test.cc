#include "engine/memtable/arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "engine/base/prng.h"
#include "engine/base/units.h"

namespace varve {
namespace {

TEST(ArenaTest, PiecesAreAlignedAndDoNotOverlap) {
  for (const size_t capacity : {size_t{0}, size_t{1 * kMiB}, size_t{64 * kMiB}}) {
    Arena arena(capacity);
    Prng prng(capacity);
    struct Piece {
      char* at;
      size_t bytes;
      char fill;
    };
    std::vector<Piece> pieces;
    for (int i = 0; i < 3000; i++) {
      const size_t bytes = prng.OneIn(50) ? prng.Below(100000) : prng.Between(1, 300);
      char* const at = arena.Allocate(bytes);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(at) % Arena::kAlignment, 0u);
      std::memset(at, i & 0x7f, bytes);
      pieces.push_back({at, bytes, static_cast<char>(i & 0x7f)});
    }
    for (const Piece& piece : pieces) {
      for (size_t i = 0; i < piece.bytes; i++) {
        ASSERT_EQ(piece.at[i], piece.fill);
      }
    }
  }
}

TEST(ArenaTest, MemoryIsCountedWithinAFewPercentOfWhatWasAskedFor) {
  Arena arena(8 * kMiB);
  size_t asked = 0;
  while (asked < 8 * kMiB) {
    arena.Allocate(104);
    asked += 104;
  }
  EXPECT_GE(arena.memory_bytes(), asked);
  EXPECT_LE(arena.memory_bytes(), asked + asked / 50);
  EXPECT_GE(arena.reserved_bytes(), arena.memory_bytes());
  EXPECT_LE(arena.reserved_bytes(), arena.memory_bytes() + 2 * kMiB);
}

TEST(ArenaTest, OneThreadGetsTheSameCountEachTime) {
  std::vector<size_t> counts;
  for (int round = 0; round < 2; round++) {
    std::thread([&] {
      Arena arena(1 * kMiB);
      Prng prng(3);
      for (int i = 0; i < 5000; i++) {
        arena.Allocate(prng.Between(1, 6000));
      }
      counts.push_back(arena.memory_bytes());
    }).join();
  }
  EXPECT_EQ(counts[0], counts[1]);
}

TEST(ArenaTest, ThreadsNeverGetTheSameMemory) {
  Arena arena(1 * kMiB);
  constexpr int kThreads = 4;
  std::vector<std::vector<uint64_t*>> pieces(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 20000; i++) {
        auto* const words = reinterpret_cast<uint64_t*>(arena.Allocate(16));
        words[0] = static_cast<uint64_t>(t);
        words[1] = i;
        pieces[static_cast<size_t>(t)].push_back(words);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (int t = 0; t < kThreads; t++) {
    for (uint64_t i = 0; i < 20000; i++) {
      ASSERT_EQ(pieces[static_cast<size_t>(t)][i][0], static_cast<uint64_t>(t));
      ASSERT_EQ(pieces[static_cast<size_t>(t)][i][1], i);
    }
  }
}

TEST(ArenaTest, AnArenaThatEndsLeavesItsHugePagesToTheNext) {
  constexpr size_t kCapacity = 16 * kMiB;
  const auto pool = std::make_shared<HugePagePool>(6 * kMiB);
  std::set<uintptr_t> pages;
  {
    Arena first(kCapacity, pool);
    while (first.memory_bytes() < kCapacity) {
      pages.insert(reinterpret_cast<uintptr_t>(first.Allocate(1000)) / HugePagePool::kPageBytes);
    }
    EXPECT_EQ(pool->kept_bytes(), 0u);
  }
  // No more than it may keep.
  EXPECT_EQ(pool->kept_bytes(), 6 * kMiB);
  Arena second(kCapacity, pool);
  EXPECT_TRUE(pages.contains(reinterpret_cast<uintptr_t>(second.Allocate(1000)) / HugePagePool::kPageBytes));
  EXPECT_EQ(pool->kept_bytes(), 4 * kMiB);
}

}  // namespace
}  // namespace varve
