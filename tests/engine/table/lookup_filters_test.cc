// How lookups ask the filters of a table: each segment's by itself, with the footer or without.
#include <gtest/gtest.h>

#include "engine/table/filter.h"
#include "tests/engine/table/table_fixture.h"

namespace varve {
namespace {

TEST(LookupFilters, LookupTellsHowManyFiltersItAskedAndHowManyMisledIt) {
  TableFixture fixture;
  const TableView view = fixture.Build(NumberedEntries(2000, 100, 2), {.bits_per_key = 2});
  const Result<TableLookup> present = fixture.Get(view, NumberedKey(10));
  ASSERT_TRUE(present.ok());
  EXPECT_EQ(present->filters_asked, 1);
  EXPECT_EQ(present->filters_misled, 0);
  uint64_t misled = 0;
  for (uint64_t i = 0; i < 1999; ++i) {
    const Result<TableLookup> absent = fixture.Get(view, NumberedKey(i * 2 + 1));
    ASSERT_TRUE(absent.ok());
    EXPECT_EQ(absent->filters_asked, 1);
    misled += absent->filters_misled;
  }
  EXPECT_GT(misled, 0u);
  EXPECT_LT(misled, 1999u);
}

TEST(LookupFilters, OnceFootersWereReadAFilterIsAskedWithoutThem) {
  TableFixture fixture;
  const TableView view =
      fixture.Append(fixture.Build(NumberedEntries(500, 20, 2)), NumberedEntries(400, 30, 7));
  SegmentDirectories directories(view.segments.size());
  const auto get = [&](std::string_view key) {
    return fixture.Run(
        GetFromTable(fixture.environment, view, PointQuery(key, kSequenceNumberMax), true, directories));
  };
  // The one lookup that reads both footers learns them; the filters deny nearly every key that is not there.
  EXPECT_EQ(directories.Find(0), nullptr);
  EXPECT_EQ(ValueOf(get(NumberedKey(1) + "x")), "(absent)");
  ASSERT_NE(directories.Find(0), nullptr);
  ASSERT_NE(directories.Find(1), nullptr);
  const auto footers_asked = [&] { return fixture.cache.statistics().of(BlockKind::kFooter).hits; };
  const uint64_t before = footers_asked();
  uint64_t asked = 0;
  uint64_t misled = 0;
  for (uint64_t i = 0; i < 399; ++i) {
    const Result<TableLookup> found = get(NumberedKey(i) + "x");
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->kind, TableLookup::Kind::kAbsent);
    asked += found->filters_asked;
    misled += found->filters_misled;
  }
  EXPECT_EQ(asked, 2 * 399u);
  // Each of them at most: one that is asked again and again is held.
  EXPECT_GE(footers_asked(), before + std::min<uint64_t>(misled, 1));
  EXPECT_LE(footers_asked(), before + misled);
  EXPECT_LT(misled, 60u);
  // What is there is found by way of the footer, as without the directories.
  for (uint64_t i = 0; i < 500; ++i) {
    for (const std::string& key : {NumberedKey(i), NumberedKey(2 * i)}) {
      const Result<TableLookup> found = get(key);
      EXPECT_EQ(ValueOf(found), ValueOf(fixture.Get(view, key)));
      EXPECT_LE(found->filters_misled, found->filters_asked - 1);
    }
  }
}

TEST(LookupFilters, FilterPagesThatAreAskedAgainAndAgainAreHeld) {
  TableFixture fixture;
  // The second segment covers a part of the first one's range.
  const TableView view =
      fixture.Append(fixture.Build(NumberedEntries(9000, 20, 2)), NumberedEntries(400, 30, 7));
  const auto hits = [&] { return fixture.cache.statistics().of(BlockKind::kFilter).hits; };
  {
    SegmentDirectories directories(view.segments.size());
    const auto get = [&](std::string_view key) {
      return fixture.Run(
          GetFromTable(fixture.environment, view, PointQuery(key, kSequenceNumberMax), true, directories));
    };
    const auto get_all = [&] {
      for (uint64_t i = 0; i < 9000; i += 7) {
        for (const std::string& key : {NumberedKey(2 * i), NumberedKey(i) + "x"}) {
          const Result<TableLookup> found = get(key);
          ASSERT_EQ(ValueOf(found), ValueOf(fixture.Get(view, key)));
          ASSERT_LE(found->filters_misled, found->filters_asked);
        }
      }
    };
    get_all();
    EXPECT_GT(fixture.cache.statistics().held_bytes, 4000U);
    // Without a search in the cache, and with the same answers.
    const uint64_t before = hits();
    for (uint64_t i = 0; i < 9000; ++i) {
      ASSERT_EQ(ValueOf(get(NumberedKey(2 * i) + "y")), "(absent)");
    }
    EXPECT_EQ(hits(), before);
    get_all();
    // A lookup that reads while the table's blocks are dropped sees what it saw.
    fixture.cache.EraseTable(view.id);
    get_all();
  }
  EXPECT_EQ(fixture.cache.statistics().held_bytes, 0U);
}

// One filter of several pages, one of a single page.
TEST(LookupFilters, SegmentsThatHeldFiltersTurnAwayArePassedOver) {
  TableFixture fixture;
  const TableView view =
      fixture.Append(fixture.Build(NumberedEntries(9000, 20, 2)), NumberedEntries(400, 30, 7));
  SegmentDirectories directories(view.segments.size());
  const auto get = [&](std::string_view key, size_t pass_over) {
    const PointQuery query(key, kSequenceNumberMax);
    TableLookupWalk walk(fixture.environment, view, directories);
    walk.PassOver(pass_over);
    while (!walk.Run(query)) {
      Result<BlockRef> block = fixture.Run(walk.ReadWanted(CacheFill::kAll));
      EXPECT_TRUE(block.ok());
      walk.Provide(std::move(block).value());
    }
    return walk.TakeResult();
  };
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 9000; ++i) {
    keys.insert(keys.end(), {NumberedKey(7 * i), NumberedKey(2 * i), NumberedKey(i) + "x"});
  }
  for (int round = 0; round < 3; ++round) {
    size_t turned_away = 0;
    size_t all_of_them = 0;
    for (const std::string& key : keys) {
      const SegmentDirectories* const tables[] = {&directories, &directories};
      SegmentDirectories::Prefetch(tables, Hash64(key));
      const size_t passed = directories.TurnedAway(Hash64(key));
      turned_away += passed;
      const std::string held = ValueOf(fixture.Get(view, key));
      if (passed == view.segments.size()) {
        ASSERT_EQ(held, "(absent)");
        ++all_of_them;
        continue;
      }
      const Result<TableLookup> found = get(key, passed);
      ASSERT_EQ(ValueOf(found), held);
      ASSERT_GE(found->filters_asked, passed);
      ASSERT_EQ(ValueOf(get(key, 0)), held);
    }
    // At first nothing is held; then the newest segment turns nearly all away, both those that are not there.
    if (round == 2) {
      EXPECT_GT(turned_away, keys.size());
      EXPECT_GT(all_of_them, 8000U);
    }
  }
}

// The same of the footer and of the index's blocks: what is found costs no search in the cache but for its
// data.
TEST(LookupFilters, FootersAndIndexBlocksThatAreAskedAgainAndAgainAreHeld) {
  TableFixture fixture;
  const TableView view = fixture.Build(NumberedEntries(20000, 200, 2));
  SegmentDirectories directories(view.segments.size());
  const auto get_all = [&] {
    for (uint64_t i = 0; i < 20000; i += 3) {
      const std::string key = NumberedKey(2 * i);
      const PointQuery query(key, kSequenceNumberMax);
      ASSERT_EQ(ValueOf(fixture.Run(GetFromTable(fixture.environment, view, query, true, directories))),
                ValueOf(fixture.Get(view, key)));
    }
  };
  const auto hits = [&] {
    const CacheStatistics statistics = fixture.cache.statistics();
    return statistics.of(BlockKind::kFooter).hits + statistics.of(BlockKind::kIndex).hits;
  };
  const auto hits_of_asking = [&] {
    const uint64_t before = hits();
    for (uint64_t i = 0; i < 20000; i += 3) {
      const std::string key = NumberedKey(2 * i);
      EXPECT_TRUE(fixture
                      .Run(GetFromTable(fixture.environment, view, PointQuery(key, kSequenceNumberMax), true,
                                        directories))
                      .ok());
    }
    return hits() - before;
  };
  get_all();
  ASSERT_NE(directories.Find(0), nullptr);
  ASSERT_NE(directories.Find(0)->Footer(), nullptr);
  ASSERT_GT(directories.Find(0)->Footer()->root().size(), 2U);  // below the root, or nothing is tested here
  EXPECT_EQ(hits_of_asking(), 0U);
  get_all();
  // A lookup that reads while the table's blocks are dropped sees what it saw.
  fixture.cache.EraseTable(view.id);
  get_all();
}

// As where a table has one level of index blocks between.
TEST(LookupFilters, EachLevelOfAnIndexIsHeld) {
  TableFixture fixture;
  // Few long keys that differ at their ends fill a block of the index, and a root.
  constexpr uint64_t kRecords = 1200;
  const auto key_of = [](uint64_t i) {
    return std::string(800, 'k') + NumberedKey(i) + std::string(160, 'e');
  };
  Entries entries;
  for (uint64_t i = 0; i < kRecords; ++i) {
    entries[InternalKeyOf(key_of(i), 1000 + i)] = std::string(4000, 'v');
  }
  const TableView view = fixture.Build(entries);
  SegmentDirectories directories(view.segments.size());
  const auto get_all = [&] {
    for (uint64_t i = 0; i < kRecords; ++i) {
      const std::string key = key_of(i);
      const PointQuery query(key, kSequenceNumberMax);
      ASSERT_EQ(ValueOf(fixture.Run(GetFromTable(fixture.environment, view, query, true, directories))),
                std::string(4000, 'v'));
    }
  };
  for (int i = 0; i < 20; ++i) {
    get_all();
  }
  ASSERT_NE(directories.Find(0), nullptr);
  ASSERT_NE(directories.Find(0)->Footer(), nullptr);
  ASSERT_GT(directories.Find(0)->Footer()->index_levels(), 2);  // or nothing is tested here
  const uint64_t before = fixture.cache.statistics().of(BlockKind::kIndex).hits;
  get_all();
  EXPECT_EQ(fixture.cache.statistics().of(BlockKind::kIndex).hits, before);
  fixture.cache.EraseTable(view.id);
  get_all();
}

// Two readers miss one block: what the slower one has read is used for what it is, although the block is held
// by then.
TEST(LookupFilters, ABlockThatIsHeldWhileItIsReadIsUsedForWhatItIs) {
  TableFixture fixture;
  const TableView view = fixture.Build(NumberedEntries(20000, 200, 2));
  for (const BlockKind kind : {BlockKind::kFooter, BlockKind::kIndex}) {
    SegmentDirectories directories(view.segments.size());
    const std::string key = NumberedKey(2 * 7000);
    const std::string value = ValueOf(fixture.Get(view, key));
    fixture.cache.EraseTable(view.id);
    const PointQuery query(key, kSequenceNumberMax);
    // Knows the filter, and nothing else: as after a generation's first lookup, long ago.
    if (kind == BlockKind::kFooter) {
      ASSERT_EQ(ValueOf(fixture.Run(GetFromTable(fixture.environment, view, query, true, directories))),
                value);
      fixture.cache.EraseTable(view.id);
    }
    TableLookupWalk slow(fixture.environment, view, directories);
    BlockRef block;
    while (!slow.Run(query)) {
      Result<BlockRef> read = fixture.Run(slow.ReadWanted(CacheFill::kAll));
      ASSERT_TRUE(read.ok());
      block = std::move(read).value();
      if (slow.wanted_kind() == kind) {
        break;
      }
      slow.Provide(std::move(block));
    }
    ASSERT_EQ(slow.wanted_kind(), kind);
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(fixture.Run(GetFromTable(fixture.environment, view, query, true, directories)).ok());
    }
    ASSERT_NE(directories.Find(0), nullptr);
    ASSERT_NE(directories.Find(0)->Footer(), nullptr);
    slow.Provide(std::move(block));
    while (!slow.Run(query)) {
      Result<BlockRef> read = fixture.Run(slow.ReadWanted(CacheFill::kAll));
      ASSERT_TRUE(read.ok());
      slow.Provide(std::move(read).value());
    }
    EXPECT_EQ(ValueOf(slow.TakeResult()), value);
  }
}

TEST(LookupFilters, ASegmentBesideOthersHasItsShareOfFalsePositives) {
  TableFixture fixture;
  const TableView first = fixture.Build(NumberedEntries(9000, 20, 2));
  SegmentOptions options;
  options.entries_beside = first.entries();
  const TableView second = fixture.Append(first, NumberedEntries(1000, 20, 20), options);
  const double of_first = ExpectedFalsePositiveRate(second.segments[0].filter);
  const double of_second = ExpectedFalsePositiveRate(second.segments[1].filter);
  EXPECT_NEAR(of_second / of_first, 0.1, 0.05);
  EXPECT_TRUE(fixture.Verify(second).empty());
  // However small it is, the bits have a bound.
  const TableView third = fixture.Append(first, NumberedEntries(5, 20, 20), options);
  EXPECT_EQ(third.segments[1].filter.bits_per_key, options.bits_per_key + kMoreBitsPerKeyMax);
}

}  // namespace
}  // namespace varve
