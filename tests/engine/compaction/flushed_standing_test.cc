// What a flush writes stands in the cache as what it replaces does.
#include "engine/compaction/flushed_standing.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/engine/compaction/small_store.h"

namespace varve {
namespace {

class FlushedStandingTest : public testing::Test {
 protected:
  static constexpr uint64_t kKeys = 2000;

  // Every `step`th key, into a table of level 0.
  void Put(uint64_t from, uint64_t to, uint64_t step, bool is_read) {
    Memtable memtable(4 * kMiB);
    AddNumbered(memtable, from, to, step, sequence_);
    store_.Flush(memtable, {}, is_read);
  }
  void Load(uint64_t from, uint64_t to, uint64_t step, uint32_t level) {
    Put(from, to, step, false);
    for (uint32_t above = 0; above < level; ++above) {
      store_.MergeAll(above);
    }
  }
  void ReadAll(uint64_t from, uint64_t to) {
    for (uint64_t n = from; n < to; ++n) {
      EXPECT_TRUE(store_.Read(NumberedKey(n)).has_value());
    }
  }
  CacheStanding StandingOf(uint64_t n) {
    return FlushedStanding(store_.jobs->table, store_.versions->current()).Of(NumberedKey(n));
  }
  uint64_t InsertsOfData() const { return store_.cache.statistics().of(BlockKind::kData).inserts; }

  SmallStore store_{512};
  uint64_t sequence_ = 0;
};

TEST_F(FlushedStandingTest, IsProvenWhereReadersHaveTheOlderVersion) {
  Load(0, kKeys, 1, 2);
  ReadAll(0, kKeys / 4);
  EXPECT_EQ(StandingOf(7), CacheStanding::kProven);
  EXPECT_EQ(StandingOf(kKeys / 2), CacheStanding::kOnTrial);
}

TEST_F(FlushedStandingTest, GoesByTheNewestVersionBelowLevel0) {
  Load(0, kKeys, 1, 2);
  ReadAll(0, kKeys / 4);
  Load(0, kKeys, 100, 1);
  ReadAll(1, 2);
  // Their neighbours are cached in level 2, they themselves are not in level 1.
  EXPECT_EQ(StandingOf(100), CacheStanding::kOnTrial);
  EXPECT_EQ(StandingOf(101), CacheStanding::kProven);
}

TEST_F(FlushedStandingTest, IsProvenForNewKeys) {
  Load(0, kKeys, 2, 1);
  // Filters have to be there to say so.
  for (uint64_t n = 1; n < 100; n += 2) {
    EXPECT_FALSE(store_.Read(NumberedKey(n)).has_value());
  }
  EXPECT_EQ(StandingOf(51), CacheStanding::kProven);
  EXPECT_EQ(StandingOf(kKeys + 5), CacheStanding::kProven);
}

TEST_F(FlushedStandingTest, IsOnTrialWhereNothingIsCached) {
  Load(0, kKeys, 1, 1);
  store_.versions->current()->ForEachTable(
      [&](const LiveTable& table) { store_.cache.EraseTable(table.id()); });
  EXPECT_EQ(StandingOf(7), CacheStanding::kOnTrial);
  EXPECT_EQ(store_.cache.statistics().misses(), 0U);
}

TEST_F(FlushedStandingTest, GoesByTheLogOfALevelAsByItsTree) {
  Load(0, kKeys, 1, 1);
  VersionEdit aside;
  for (const auto& table : store_.versions->current()->tree(1).Overlapping({"", "~"})) {
    aside.removed_tables.push_back(
        {{1, Part::kTree}, {table->id(), table->view().generation, std::string(table->smallest_key())}});
    aside.added_tables.push_back({{1, Part::kLog}, {}, table->view()});
  }
  store_.Install(aside);
  EXPECT_EQ(StandingOf(kKeys / 2), CacheStanding::kOnTrial);
  EXPECT_EQ(StandingOf(kKeys + 5), CacheStanding::kProven);
}

// One table of level 0 with the keys of two halves, of which readers have one.
TEST_F(FlushedStandingTest, FlushesCacheWhatReadersComeFor) {
  Load(0, kKeys, 1, 1);
  ReadAll(0, kKeys / 2);
  Put(0, kKeys, 3, true);
  const std::shared_ptr<const LiveTable> flushed = store_.versions->current()->level0().back().table;
  const Result<SegmentLayout> layout =
      store_.executor.Run(ReadSegmentLayout(store_.jobs->table, flushed->view(), 0, IoPurpose::kCheck));
  ASSERT_TRUE(layout.ok()) << layout.ToString();
  for (const IndexEntry& entry : layout->blocks) {
    const CacheStanding standing = store_.cache.StandingOf(CacheKeyOf(flushed->id(), entry.block));
    if (entry.largest < NumberedKey(kKeys / 2)) {
      EXPECT_EQ(standing, CacheStanding::kProven) << entry.largest;
    } else if (entry.smallest > NumberedKey(kKeys / 2)) {
      EXPECT_NE(standing, CacheStanding::kProven) << entry.largest;
    }
  }
}

TEST_F(FlushedStandingTest, FlushesCacheNothingThatNobodyReads) {
  Load(0, kKeys, 1, 1);
  ReadAll(0, kKeys / 2);
  const uint64_t before = InsertsOfData();
  Put(0, kKeys, 3, false);
  EXPECT_EQ(InsertsOfData(), before);
}

}  // namespace
}  // namespace varve
