// Merges that write anew what is cached leave it cached.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/engine/compaction/small_store.h"

namespace varve {
namespace {

class CarriedBlocks : public testing::Test {
 protected:
  static constexpr uint64_t kKeys = 2000;

  void SetUp() override {
    store_->jobs->carries_cached = true;
    store_->segment.filter_reserve = 1;
    Put(0, kKeys, 1);
    store_->MergeAll(0);
    store_->MergeAll(1);
    Put(0, kKeys, 100);
    store_->MergeAll(0);
  }

  // Every `step`th key, into a table of level 0.
  void Put(uint64_t from, uint64_t to, uint64_t step) {
    Memtable memtable(4 * kMiB);
    AddNumbered(memtable, from, to, step, sequence_);
    store_->Flush(memtable);
  }
  uint64_t MissesOfReading(uint64_t from, uint64_t to) {
    const auto misses = [this] { return store_->cache.statistics().of(BlockKind::kData).misses; };
    const uint64_t before = misses();
    for (uint64_t n = from; n < to; ++n) {
      EXPECT_TRUE(store_->Read(NumberedKey(n)).has_value());
    }
    return misses() - before;
  }

  std::unique_ptr<SmallStore> store_ = std::make_unique<SmallStore>(512);
  uint64_t sequence_ = 0;
};

TEST_F(CarriedBlocks, WhatIsWrittenAnewStaysCached) {
  EXPECT_GT(MissesOfReading(0, kKeys / 4), 40U);
  store_->MergeAll(1);
  // Where cached and other records meet in a block.
  EXPECT_LE(MissesOfReading(0, kKeys / 4), 2U);
  EXPECT_LE(store_->ExpectCachedIsOnDevice(), 70U);
}

TEST_F(CarriedBlocks, WhatLeadsToThemIsCachedWithThem) {
  for (const bool block : {false, true}) {
    store_->limits.block = block;
    Put(11, kKeys, 100);
    store_->MergeAll(0);
    MissesOfReading(0, kKeys / 4);
    store_->MergeAll(1);
    const CacheStatistics before = store_->cache.statistics();
    MissesOfReading(0, kKeys / 4);
    const CacheStatistics after = store_->cache.statistics();
    for (const BlockKind kind : {BlockKind::kFilter, BlockKind::kFooter}) {
      EXPECT_EQ(after.of(kind).misses, before.of(kind).misses) << static_cast<int>(kind);
    }
  }
}

TEST_F(CarriedBlocks, WhatNobodyReadDoesNotEnterTheCache) {
  store_->MergeAll(1);
  EXPECT_EQ(store_->ExpectCachedIsOnDevice(), 0U);
}

TEST_F(CarriedBlocks, WithoutItTheyAreReadAgain) {
  store_->jobs->carries_cached = false;
  MissesOfReading(0, kKeys / 4);
  store_->MergeAll(1);
  EXPECT_GT(MissesOfReading(0, kKeys / 4), 40U);
}

// The records that come were read where they lay above: they are found at once where they lie now.
TEST_F(CarriedBlocks, WhatIsMendedOrAppendedStaysCached) {
  for (const bool append : {false, true}) {
    store_->limits.block = !append;
    store_->limits.append = append;
    Put(7, kKeys, 100);
    store_->MergeAll(0);
    MissesOfReading(0, kKeys);
    const Result<JobOutput> output = store_->RunMerge(store_->PlanAll(1), {});
    ASSERT_TRUE(output.ok());
    const ChildMerge expected = append ? ChildMerge::kAppend : ChildMerge::kBlock;
    EXPECT_EQ(output->statistics.children_by[static_cast<size_t>(expected)],
              store_->PlanAll(1).children.size());
    store_->Install(output->edit);
    EXPECT_EQ(MissesOfReading(0, kKeys), 0U);
    store_->ExpectCachedIsOnDevice();
  }
}

}  // namespace
}  // namespace varve
