// Outlines: walks that need keys and the beginnings of values read indexes alone.
#include "engine/table/outline.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/table/background_reads.h"
#include "engine/table/segment_layout.h"
#include "engine/table/table_reader.h"
#include "tests/engine/table/table_fixture.h"

namespace varve {
namespace {

constexpr uint32_t kBytes = 12;

SegmentOptions WithOutlines() {
  SegmentOptions options;
  options.outlines = {"key", kBytes};
  return options;
}

std::string BlockOf(const Entries& entries) {
  BlockBuilder block;
  for (const auto& [key, value] : entries) {
    block.Add(key, value);
  }
  return block.Finish();
}

std::string OutlineOf(const Entries& entries, const OutlineOptions& options) {
  OutlineBuilder builder(options);
  for (const auto& [key, value] : entries) {
    builder.Add(key, value);
  }
  return builder.Take(BlockOf(entries).size());
}

TEST(Outline, IsOfBlocksWithLargeValuesAndTheRightKeys) {
  const Entries large = NumberedEntries(4, 1000);
  EXPECT_TRUE(IsOutlineOf(OutlineOf(large, {"key", kBytes}), BlockOf(large)));
  EXPECT_TRUE(IsOutlineOf(OutlineOf(large, {"k", 0}), BlockOf(large)));
  EXPECT_EQ(OutlineOf(large, {}), "");
  EXPECT_EQ(OutlineOf(NumberedEntries(40, 100), {"key", kBytes}), "");
  Entries mixed = large;
  mixed[InternalKeyOf("kez", 1)] = std::string(1000, 'v');
  EXPECT_EQ(OutlineOf(mixed, {"key", kBytes}), "");
}

TEST(Outline, OfOneBlockSaysNothingOfTheNext) {
  OutlineBuilder builder({"key", kBytes});
  builder.Add(InternalKeyOf("other", 1), std::string(1000, 'v'));
  EXPECT_EQ(builder.Take(1000), "");
  builder.Add(InternalKeyOf("key1", 1), std::string(1000, 'v'));
  const std::string outline = builder.Take(1000);
  EXPECT_TRUE(IsOutlineOf(outline, BlockOf({{InternalKeyOf("key1", 1), std::string(1000, 'v')}})));
}

TEST(Outline, OfOtherRecordsIsNone) {
  const Entries entries = NumberedEntries(3, 1000);
  const std::string outline = OutlineOf(entries, {"key", kBytes});
  EXPECT_FALSE(IsOutlineOf(outline, BlockOf(NumberedEntries(4, 1000))));
  EXPECT_FALSE(IsOutlineOf(outline, BlockOf(NumberedEntries(2, 1000))));
  Entries other = entries;
  other.begin()->second = std::string(1000, 'x');
  EXPECT_FALSE(IsOutlineOf(outline, BlockOf(other)));
  EXPECT_FALSE(IsOutlineOf("no block", BlockOf(entries)));
}

class OutlineWalk : public ::testing::Test {
 protected:
  // Two levels of index.
  static constexpr uint64_t kEntries = 12'000;

  ~OutlineWalk() override { fixture_.Run(background_.End()); }

  TableIteratorOptions Options() {
    TableIteratorOptions options;
    options.background = &background_;
    options.goes_on = true;
    options.outlines = true;
    return options;
  }

  // Checks all entries from the first one at or after `from` to the last; the number of them.
  uint64_t Walk(const TableView& view, const Entries& entries, uint64_t from, TableIteratorOptions options) {
    return fixture_.Run(WalkOn(view, entries, from, std::move(options)));
  }
  Task<uint64_t> WalkOn(const TableView& view, const Entries& entries, uint64_t from,
                        TableIteratorOptions options) {
    const auto it = NewTableIterator(fixture_.environment, view, std::move(options));
    const std::string start = InternalKeyOf(NumberedKey(from), kSequenceNumberMax.value);
    auto expected = entries.lower_bound(start);
    uint64_t seen = 0;
    if (it->Seek(start) == Step::kNeedsIo) {
      co_await it->Load();
    }
    for (; it->Valid() && expected != entries.end(); ++expected, ++seen) {
      EXPECT_EQ(it->key(), expected->first);
      EXPECT_GE(it->value().size(), std::min<size_t>(kBytes, expected->second.size()));
      EXPECT_TRUE(expected->second.starts_with(it->value()));
      if (it->Next() == Step::kNeedsIo) {
        co_await it->Load();
      }
    }
    EXPECT_TRUE(it->status().ok()) << it->status().ToString();
    EXPECT_TRUE(!it->Valid() && expected == entries.end());
    co_return seen;
  }

  uint64_t read_bytes() const {
    return fixture_.device.counters().of(IoPurpose::kUserRead).read_bytes.load();
  }

  TableFixture fixture_{{.cache_bytes = 32 * kMiB, .yields = true}};
  BackgroundReads background_{ReadPages::kCacheBytesMin};
};

TEST_F(OutlineWalk, ReadsNoData) {
  const Entries entries = NumberedEntries(kEntries, 1000);
  const TableView view = fixture_.Build(entries, WithOutlines());
  EXPECT_EQ(fixture_.Verify(view), std::vector<std::string>());
  EXPECT_EQ(Walk(view, entries, 0, Options()), kEntries);
  EXPECT_LE(read_bytes(), view.data_bytes() / 15);
  const CacheStatistics statistics = fixture_.cache.statistics();
  EXPECT_EQ(statistics.of(BlockKind::kData).misses, 0u);
  // Once each, read ahead or not.
  EXPECT_LE(statistics.of(BlockKind::kIndex).misses, view.meta_bytes() / (kIndexPartitionBytes / 2));
}

TEST_F(OutlineWalk, GivesTheSameFromAnywhereAndBackwards) {
  const Entries entries = NumberedEntries(300, 1000);
  const TableView view = fixture_.Build(entries, WithOutlines());
  for (uint64_t from = 0; from < 300; from += 7) {
    EXPECT_EQ(Walk(view, entries, from, Options()), 300 - from);
  }
  TableIteratorOptions waits;
  waits.outlines = true;
  EXPECT_EQ(Walk(view, entries, 0, waits), 300u);
  const auto it = NewTableIterator(fixture_.environment, view, Options());
  fixture_.Finish(*it, it->SeekToLast());
  for (auto expected = entries.rbegin(); expected != entries.rend(); ++expected) {
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(it->key(), expected->first);
    EXPECT_TRUE(expected->second.starts_with(it->value()));
    fixture_.Finish(*it, it->Prev());
  }
  EXPECT_FALSE(it->Valid());
  EXPECT_EQ(fixture_.cache.statistics().of(BlockKind::kData).misses, 0u);
}

// What has no outlines, beside what has some: of small values, of other keys, or made without.
TEST_F(OutlineWalk, ReadsTheBlocksThatHaveNone) {
  Entries entries = NumberedEntries(600, 1000);
  for (uint64_t i = 200; i < 400; ++i) {
    entries[InternalKeyOf(NumberedKey(i), 1000 + i)] = "small";
  }
  entries[InternalKeyOf("kez", 1)] = std::string(900, 'z');
  const TableView view = fixture_.Build(entries, WithOutlines());
  EXPECT_EQ(fixture_.Verify(view), std::vector<std::string>());
  EXPECT_EQ(Walk(view, entries, 0, Options()), entries.size());
  EXPECT_GT(fixture_.cache.statistics().of(BlockKind::kData).misses, 0u);
  EXPECT_LT(fixture_.cache.statistics().of(BlockKind::kData).misses, 20u);
  const TableView without = fixture_.Build(entries, SegmentOptions(), 8);
  EXPECT_LT(without.meta_bytes() * 2, view.meta_bytes());
  EXPECT_EQ(Walk(without, entries, 0, Options()), entries.size());
}

TEST_F(OutlineWalk, IsNotWhatOthersSee) {
  const Entries entries = NumberedEntries(300, 1000);
  const TableView view = fixture_.Build(entries, WithOutlines());
  const auto it = NewTableIterator(fixture_.environment, view, TableIteratorOptions());
  auto expected = entries.begin();
  for (fixture_.Finish(*it, it->SeekToFirst()); it->Valid(); fixture_.Finish(*it, it->Next())) {
    ASSERT_EQ(it->value(), expected->second);
    ++expected;
  }
  EXPECT_EQ(expected, entries.end());
  for (const auto& [key, value] : entries) {
    EXPECT_EQ(ValueOf(fixture_.Get(view, UserKeyOf(key))), value);
  }
}

TEST_F(OutlineWalk, LayoutsKeepThem) {
  const TableView view = fixture_.Build(NumberedEntries(300, 1000), WithOutlines());
  const SegmentLayout layout =
      fixture_.Run(ReadSegmentLayout(fixture_.environment, view, 0, IoPurpose::kCheck)).value();
  for (const IndexEntry& entry : layout.blocks) {
    EXPECT_FALSE(entry.outline.empty());
  }
}

}  // namespace
}  // namespace varve
