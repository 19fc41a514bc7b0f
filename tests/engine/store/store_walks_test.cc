// What walks read of the device.
#include <gtest/gtest.h>

#include <string>

#include "engine/store/store.h"
#include "tests/engine/store/store_harness.h"

namespace varve::testing {
namespace {

std::string KeyNumbered(int n) {
  return "key" + std::to_string(1000 + n);
}

StoreOptions WalkedOptions() {
  StoreOptions options = SmallStoreOptions();
  options.memtable_bytes = 1 * kMiB;
  options.table_bytes = 1 * kMiB;
  return options;
}

// A store with so many numbered keys in tables, of which nothing is in memory.
void OpenCold(StoreHarness& h, int keys, size_t value_bytes) {
  ASSERT_TRUE(h.Open(WalkedOptions()).ok());
  for (int i = 0; i < keys; ++i) {
    ASSERT_TRUE(h.Put(KeyNumbered(i), std::string(value_bytes, 'v')).ok());
  }
  ASSERT_TRUE(h.Run(h.store().Settle()).ok());
  ASSERT_TRUE(h.Close().ok());
  ASSERT_TRUE(h.Open(WalkedOptions()).ok());
}

// A directory's listing is such a walk: each request goes on where the one before ended.
TEST(StoreWalks, AWalkThatGoesOnReadsAheadFromItsStart) {
  const auto reads_of_walk = [](bool goes_on) {
    StoreHarness h;
    OpenCold(h, 1000, 500);
    const auto reads = [&] { return h.device().counters().of(IoPurpose::kUserRead).reads.load(); };
    const uint64_t before = reads();
    const std::unique_ptr<StoreIterator> it = h.store().NewIterator({}, {}, {.goes_on = goes_on});
    int entries = 0;
    for (h.Finish(*it, it->Seek(KeyNumbered(100))); it->Valid() && entries < 400; ++entries) {
      EXPECT_EQ(it->key(), KeyNumbered(100 + entries));
      h.Finish(*it, it->Next());
    }
    EXPECT_EQ(entries, 400);
    return reads() - before;
  };
  // 200 KiB: at once, or in steps that grow.
  EXPECT_LE(reads_of_walk(true) + 3, reads_of_walk(false));
}

// A large read of a file is such a walk: its chunks, and nothing beside them.
TEST(StoreWalks, AWalkOverAWholeRangeReadsThatAtOnceAndNoMore) {
  constexpr size_t kValueBytes = 4096;
  StoreHarness h;
  OpenCold(h, 120, kValueBytes);
  // Footer and index come into the cache.
  ASSERT_TRUE(h.Get(KeyNumbered(100)).has_value());
  const auto& read = h.device().counters().of(IoPurpose::kUserRead);
  const uint64_t reads_before = read.reads.load();
  const uint64_t bytes_before = read.read_bytes.load();
  const std::unique_ptr<StoreIterator> it =
      h.store().NewIterator(KeyNumbered(10), KeyNumbered(26), {.fill_cache = false, .whole_range = true});
  int entries = 0;
  for (h.Finish(*it, it->Seek(KeyNumbered(10))); it->Valid(); ++entries) {
    EXPECT_EQ(it->key(), KeyNumbered(10 + entries));
    h.Finish(*it, it->Next());
  }
  EXPECT_EQ(entries, 16);
  EXPECT_LE(read.reads.load() - reads_before, 2U);
  EXPECT_LE(read.read_bytes.load() - bytes_before, 20 * kValueBytes);
}

// What lookups of some of 1,000 keys read of the device, in the order of `step`s through them.
struct ReadOfLookups {
  uint64_t reads;
  uint64_t bytes;
};
ReadOfLookups ReadOfGets(int count, int step, bool keeps_value = false) {
  constexpr int kKeys = 1000;
  StoreHarness h;
  OpenCold(h, kKeys, 500);
  // Footer, filter and index come into the cache.
  EXPECT_TRUE(h.Get(KeyNumbered(kKeys - 1)).has_value());
  const auto& read = h.device().counters().of(IoPurpose::kUserRead);
  const ReadOfLookups before = {read.reads.load(), read.read_bytes.load()};
  for (int i = 0; i < count; ++i) {
    const Store::Lookup found =
        h.Run(h.store().Get(KeyNumbered(i * step % kKeys), {.keeps_value = keeps_value}));
    EXPECT_TRUE(found.ok() && *found && (*found)->bytes() == std::string(500, 'v'));
  }
  return {read.reads.load() - before.reads, read.read_bytes.load() - before.bytes};
}

// Who visits each file of a directory asks for its names in order.
TEST(StoreWalks, LookupsInOrderReadSeveralBlocksAtOnce) {
  // 200 KiB, in blocks of 4 KiB.
  const ReadOfLookups in_order = ReadOfGets(400, 1);
  EXPECT_LE(in_order.reads, 12U);
  EXPECT_LE(in_order.bytes, 400 * kKiB);
}

TEST(StoreWalks, LookupsThatJumpAboutReadABlockEach) {
  const ReadOfLookups jumping = ReadOfGets(50, 211);
  EXPECT_GE(jumping.reads, 30U);
  EXPECT_LE(jumping.bytes, jumping.reads * 8 * kKiB);
}

// Chunks of files: the kernel's page cache has them after that.
TEST(StoreWalks, LookupsWhoseCallerKeepsTheValueLeaveTheBlockCacheToOthers) {
  constexpr size_t kBlockOfItsOwn = 4096;
  StoreHarness h;
  OpenCold(h, 120, kBlockOfItsOwn);
  const auto& read = h.device().counters().of(IoPurpose::kUserRead);
  const auto get = [&](bool keeps_value) {
    const Store::Lookup found = h.Run(h.store().Get(KeyNumbered(50), {.keeps_value = keeps_value}));
    EXPECT_TRUE(found.ok() && *found && (*found)->bytes() == std::string(kBlockOfItsOwn, 'v'));
    return read.reads.load();
  };
  const uint64_t first = get(true);
  // Each time the block, and no more: what finds it is in the cache.
  EXPECT_EQ(get(true), first + 1);
  EXPECT_EQ(get(false), first + 2);
  // What is in the cache all the same is used.
  EXPECT_EQ(get(true), first + 2);
}

// Their neighbours in the block are for whoever asks next.
TEST(StoreWalks, LookupsInOrderReadSeveralBlocksAtOnceWhoeverKeepsTheValues) {
  EXPECT_LE(ReadOfGets(400, 1, true).reads, 12U);
}

// A large read of a file: the next one asks the same part of the index.
TEST(StoreWalks, AWalkWhoseCallerKeepsTheValuesLeavesOnlyItsIndexInTheCache) {
  StoreHarness h;
  OpenCold(h, 120, 4096);
  const auto& read = h.device().counters().of(IoPurpose::kUserRead);
  const auto reads_of_walk = [&] {
    const uint64_t before = read.reads.load();
    const std::unique_ptr<StoreIterator> it =
        h.store().NewIterator(KeyNumbered(10), KeyNumbered(26), {.keeps_value = true, .whole_range = true});
    for (h.Finish(*it, it->Seek(KeyNumbered(10))); it->Valid();) {
      h.Finish(*it, it->Next());
    }
    return read.reads.load() - before;
  };
  const uint64_t cold = reads_of_walk();
  const uint64_t again = reads_of_walk();
  EXPECT_LT(again, cold);
  EXPECT_GE(again, 1U);
  EXPECT_EQ(reads_of_walk(), again);
}

}  // namespace
}  // namespace varve::testing
