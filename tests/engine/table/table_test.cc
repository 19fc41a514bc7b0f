// Tables as a whole: what is written is what is read, cached or not, in pieces or not, on both sector sizes.
#include <gtest/gtest.h>

#include "engine/base/prng.h"
#include "engine/ring/when_all.h"
#include "tests/engine/table/table_fixture.h"

namespace varve {
namespace {

TEST(Table, EveryKeyIsFoundAndNoOther) {
  TableFixture fixture;
  const Entries entries = NumberedEntries(3000, 100, 2);
  const TableView view = fixture.Build(entries);
  EXPECT_EQ(view.entries(), 3000u);
  EXPECT_EQ(view.smallest, NumberedKey(0));
  EXPECT_EQ(view.largest, NumberedKey(5998));
  for (const auto& [key, value] : entries) {
    EXPECT_EQ(ValueOf(fixture.Get(view, UserKeyOf(key))), value);
  }
  for (uint64_t i = 0; i < 3000; ++i) {
    EXPECT_EQ(ValueOf(fixture.Get(view, NumberedKey(i * 2 + 1))), "(absent)");
  }
  EXPECT_EQ(ValueOf(fixture.Get(view, "")), "(absent)");
  EXPECT_EQ(ValueOf(fixture.Get(view, "zzz")), "(absent)");
}

TEST(Table, CachedKeyIsAnsweredWithoutWaitingAndUncachedIsNot) {
  TableFixture fixture;
  const TableView view = fixture.Build(NumberedEntries(100, 10));
  const std::string key = NumberedKey(42);
  const PointQuery query(key, kSequenceNumberMax);
  EXPECT_FALSE(TryGetFromTable(fixture.environment, view, query).has_value());
  EXPECT_EQ(ValueOf(fixture.Get(view, NumberedKey(42))), std::string(10, 'q'));
  const std::optional<Result<TableLookup>> cached = TryGetFromTable(fixture.environment, view, query);
  ASSERT_TRUE(cached.has_value());
  EXPECT_EQ(ValueOf(*cached), std::string(10, 'q'));
  EXPECT_EQ((*cached)->sequence, SequenceNumber(1042));
}

TEST(Table, FoundKeyCostsOneReadOnceMetaIsCached) {
  TableFixture fixture;
  Entries entries = NumberedEntries(5000, 100);
  const TableView view = fixture.Build(entries);
  for (uint64_t i = 0; i < 5000; ++i) {
    ASSERT_TRUE(fixture.Get(view, NumberedKey(i)).ok());
  }
  fixture.cache.EraseTable(view.id);
  // Footer, filter page and index come back; so does one data block.
  ASSERT_TRUE(fixture.Get(view, NumberedKey(0)).ok());
  const uint64_t reads = fixture.device.counters().of(IoPurpose::kUserRead).reads;
  uint64_t found = 0;
  for (uint64_t i = 1000; i < 5000; i += 500) {
    const Result<TableLookup> lookup = fixture.Get(view, NumberedKey(i));
    ASSERT_TRUE(lookup.ok());
    found += lookup->kind == TableLookup::Kind::kValue ? 1 : 0;
  }
  const CacheStatistics statistics = fixture.cache.statistics();
  const uint64_t filter_pages = statistics.of(BlockKind::kFilter).inserts;
  EXPECT_EQ(found, 8u);
  EXPECT_LE(fixture.device.counters().of(IoPurpose::kUserRead).reads - reads, found + filter_pages);
}

Task<Status> GetInto(TableFixture& fixture, const TableView& view, std::string key, std::string& value) {
  Result<TableLookup> found =
      co_await GetFromTable(fixture.environment, view, PointQuery(key, kSequenceNumberMax), true);
  if (!found.ok()) {
    co_return found.error();
  }
  value = found->value.bytes();
  co_return OkStatus();
}

TEST(Table, CoroutinesThatMissTheSameBlockReadItOnce) {
  TableFixture fixture({.yields = true});
  const TableView view = fixture.Build(NumberedEntries(20, 100));
  std::vector<std::string> values(16);
  std::vector<Task<Status>> gets;
  gets.reserve(values.size());
  for (std::string& value : values) {
    gets.push_back(GetInto(fixture, view, NumberedKey(3), value));
  }
  const Status status = fixture.Run(WhenAllOk(std::move(gets)));
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(values, std::vector<std::string>(16, std::string(100, 'd')));
  // Footer, filter page, data block.
  EXPECT_EQ(fixture.device.counters().of(IoPurpose::kUserRead).reads, 3u);
}

TEST(Table, CoroutinesThatShareAFailedReadAllHearOfIt) {
  TableFixture fixture({.yields = true});
  const TableView view = fixture.Build(NumberedEntries(20, 100));
  std::vector<std::string> values(4);
  std::vector<Task<Status>> gets;
  gets.reserve(values.size());
  for (std::string& value : values) {
    gets.push_back(GetInto(fixture, view, NumberedKey(3), value));
  }
  fixture.device.FailRead(0);
  const std::vector<Status> statuses = fixture.Run(WhenAll(std::move(gets)));
  for (const Status& status : statuses) {
    EXPECT_TRUE(status.Is(ErrorCode::kDeviceError)) << status.ToString();
  }
  EXPECT_EQ(ValueOf(fixture.Get(view, NumberedKey(3))), std::string(100, 'd'));
}

TEST(Table, SnapshotSeesTheVersionOfItsTime) {
  TableFixture fixture;
  Entries entries = NumberedEntries(200, 50);
  for (uint64_t sequence = 10; sequence <= 500; sequence += 10) {
    entries[InternalKeyOf("key000050x", sequence,
                          sequence % 20 == 0 ? RecordKind::kTombstone : RecordKind::kValue)] =
        sequence % 20 == 0 ? "" : "at " + std::to_string(sequence);
  }
  const TableView view = fixture.Build(entries);
  EXPECT_EQ(view.tombstones(), 25u);
  EXPECT_EQ(ValueOf(fixture.Get(view, "key000050x", 9)), "(absent)");
  EXPECT_EQ(ValueOf(fixture.Get(view, "key000050x", 10)), "at 10");
  EXPECT_EQ(ValueOf(fixture.Get(view, "key000050x", 19)), "at 10");
  EXPECT_EQ(ValueOf(fixture.Get(view, "key000050x", 20)), "(tombstone)");
  EXPECT_EQ(ValueOf(fixture.Get(view, "key000050x", 275)), "at 270");
  EXPECT_EQ(ValueOf(fixture.Get(view, "key000050x")), "(tombstone)");
}

TEST(Table, ManyVersionsOfOneKeyStayInOneBlock) {
  TableFixture fixture;
  Entries entries;
  entries[InternalKeyOf("a", 1)] = "first";
  for (uint64_t sequence = 1; sequence <= 300; ++sequence) {
    entries[InternalKeyOf("b", sequence)] = std::string(100, 'v');
  }
  entries[InternalKeyOf("c", 1)] = "last";
  const TableView view = fixture.Build(entries);
  // a; 30,000 bytes of b; c.
  EXPECT_LE(view.segments[0].data_blocks, 3u);
  EXPECT_TRUE(fixture.Verify(view).empty());
  EXPECT_EQ(ValueOf(fixture.Get(view, "b", 150)), std::string(100, 'v'));
}

TEST(Table, BlocksOfFourLargeEntriesAreNotPaddedApart) {
  TableFixture fixture;
  Entries entries;
  for (uint64_t i = 0; i < 400; ++i) {
    entries[InternalKeyOf("a key of thirty-two bytes " + NumberedKey(i).substr(3), i)] =
        std::string(1000, 'v');
  }
  const TableView view = fixture.Build(entries);
  EXPECT_EQ(view.segments[0].data_blocks, 100u);
  EXPECT_LT(view.used_bytes, 400 * 1040 * 104 / 100);
}

TEST(Table, ValuesFromEmptyToAMebibyteAreKept) {
  for (const uint32_t sector : {512u, 4096u}) {
    TableFixture fixture({.sector_bytes = sector, .piece_units = 3});
    Entries entries;
    size_t bytes = 0;
    for (uint64_t i = 0; bytes <= kMiB + 64 * kKiB; ++i, bytes = bytes * 3 + 1) {
      entries[InternalKeyOf(NumberedKey(i), i)] = std::string(bytes, static_cast<char>('a' + i));
    }
    entries[InternalKeyOf(std::string(1024, 'k'), 5)] = "longest key";
    entries[InternalKeyOf("", 6)] = "empty key";
    const TableView view = fixture.Build(entries);
    EXPECT_GT(view.extents.size(), 1u);
    EXPECT_TRUE(fixture.Verify(view).empty());
    for (const auto& [key, value] : entries) {
      EXPECT_EQ(ValueOf(fixture.Get(view, UserKeyOf(key))), value);
    }
  }
}

TEST(Table, LargeTableHasAPartitionedIndexAndFilter) {
  TableFixture fixture({.cache_bytes = 256 * kKiB, .piece_units = 5});
  const Entries entries = NumberedEntries(60000, 60);
  const TableView view = fixture.Build(entries, SegmentOptions{.block_bytes = 512});
  EXPECT_GT(view.segments[0].data_blocks, 5000u);
  EXPECT_TRUE(fixture.Verify(view).empty());
  Prng prng(1);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t n = prng.Below(60000);
    EXPECT_EQ(ValueOf(fixture.Get(view, NumberedKey(n))), std::string(60, static_cast<char>('a' + n % 26)));
  }
  // No footer is larger than a root and a page directory: the index went to partitions.
  EXPECT_LT(view.segments[0].footer.bytes, 48 * kKiB);
  EXPECT_LE(fixture.cache.statistics().charged_bytes, 256 * kKiB);
  EXPECT_GT(fixture.cache.statistics().of(BlockKind::kIndex).inserts, 10u);
}

TEST(Table, NewerSegmentWinsAndOlderShinesThrough) {
  TableFixture fixture;
  const TableView first = fixture.Build(NumberedEntries(500, 20, 2));
  Entries newer;
  for (uint64_t i = 0; i < 500; i += 3) {
    newer[InternalKeyOf(NumberedKey(i * 2), 5000 + i,
                        i % 2 == 0 ? RecordKind::kValue : RecordKind::kTombstone)] =
        i % 2 == 0 ? "newer" : "";
    newer[InternalKeyOf(NumberedKey(i * 2 + 1), 5000 + i)] = "only newer";
  }
  const TableView second = fixture.Append(first, newer);
  EXPECT_EQ(second.segments.size(), 2u);
  EXPECT_EQ(second.generation, Generation(2));
  EXPECT_TRUE(fixture.Verify(second).empty());
  for (uint64_t i = 0; i < 500; ++i) {
    const std::string old_value(20, static_cast<char>('a' + i % 26));
    const std::string expected = i % 3 != 0 ? old_value : i % 2 == 0 ? "newer" : "(tombstone)";
    EXPECT_EQ(ValueOf(fixture.Get(second, NumberedKey(i * 2))), expected);
    EXPECT_EQ(ValueOf(fixture.Get(second, NumberedKey(i * 2 + 1))), i % 3 == 0 ? "only newer" : "(absent)");
    // The older view is as it was, and so is the older state of the newer one.
    EXPECT_EQ(ValueOf(fixture.Get(first, NumberedKey(i * 2))), old_value);
    EXPECT_EQ(ValueOf(fixture.Get(second, NumberedKey(i * 2), 4999)), old_value);
  }
}

TEST(Table, AppendLeavesCachedBlocksOfTheOlderGenerationInUse) {
  TableFixture fixture;
  const TableView first = fixture.Build(NumberedEntries(500, 100));
  for (uint64_t i = 0; i < 500; ++i) {
    ASSERT_TRUE(fixture.Get(first, NumberedKey(i)).ok());
  }
  const uint64_t cached = fixture.cache.CachedDataBlocks(first.id);
  EXPECT_EQ(cached, first.segments[0].data_blocks);
  Entries newer;
  newer[InternalKeyOf("zzz", 9000)] = "far away";
  const TableView second = fixture.Append(first, newer);
  const uint64_t misses = fixture.cache.statistics().of(BlockKind::kData).misses;
  for (uint64_t i = 0; i < 500; ++i) {
    ASSERT_TRUE(fixture.Get(second, NumberedKey(i)).ok());
  }
  EXPECT_EQ(fixture.cache.statistics().of(BlockKind::kData).misses, misses);
}

TEST(Table, TwelveSegmentsAreOneTable) {
  TableFixture fixture({.sector_bytes = 4096});
  TableView view = fixture.Build(NumberedEntries(50, 10));
  for (uint64_t segment = 1; segment < kSegmentsMax; ++segment) {
    Entries entries;
    for (uint64_t i = segment; i < 50; i += segment + 1) {
      entries[InternalKeyOf(NumberedKey(i), segment * 10000 + i)] = "segment " + std::to_string(segment);
    }
    view = fixture.Append(view, entries);
  }
  EXPECT_EQ(view.segments.size(), kSegmentsMax);
  EXPECT_TRUE(fixture.Verify(view).empty());
  EXPECT_EQ(ValueOf(fixture.Get(view, NumberedKey(11))), "segment 11");
  EXPECT_EQ(ValueOf(fixture.Get(view, NumberedKey(0))), std::string(10, 'a'));
}

TEST(Table, LiveDeadAndMetaBytesAddUpToItsSize) {
  TableFixture fixture({.sector_bytes = 4096});
  const TableView view = fixture.Append(fixture.Build(NumberedEntries(500, 20)), NumberedEntries(30, 10, 7));
  EXPECT_EQ(view.data_bytes() + view.meta_bytes() + view.dead_bytes(), view.used_bytes);
  // Before and after each of two footers.
  EXPECT_LT(view.dead_bytes(), 4 * 4096u);
  EXPECT_EQ(view.used_bytes % 4096, 0u);
  EXPECT_EQ(view.segments[1].footer.table_offset % 4096, 0u);
}

TEST(Table, UnusedSpaceGoesBack) {
  TableFixture fixture;
  const TableView view = fixture.Build(NumberedEntries(10, 10));
  EXPECT_EQ(view.allocated_bytes(), kExtentUnitBytes);
  EXPECT_EQ(fixture.source.units_out(), 1u);
}

TEST(Table, FailedWriteIsReportedAndGivesTheSpaceBack) {
  TableFixture fixture({.yields = true});
  TableBuilder builder(fixture.environment, fixture.source, TableBuilderOptions{.id = TableId(9)});
  fixture.device.FailWrite(1);
  for (uint64_t i = 0; i < 20000; ++i) {
    builder.Add(InternalKeyOf(NumberedKey(i), i), std::string(100, 'v'));
    if (builder.WantsDrain()) {
      (void)fixture.Run(builder.Drain());
    }
  }
  const Result<TableView> view = fixture.Run(builder.Finish());
  EXPECT_TRUE(view.Is(ErrorCode::kDeviceError)) << view.ToString();
  EXPECT_EQ(fixture.source.units_out(), 0u);
}

TEST(Table, NoSpaceIsReportedAndGivesTheRestBack) {
  TableFixture fixture;
  TableBuilder builder(fixture.environment, fixture.source,
                       TableBuilderOptions{.id = TableId(9), .expected_bytes = 256 * kKiB});
  for (uint64_t i = 0; i < 20000; ++i) {
    builder.Add(InternalKeyOf(NumberedKey(i), i), std::string(100, 'v'));
    if (builder.WantsDrain()) {
      (void)fixture.Run(builder.Drain());
      fixture.source.FailFromNow();
    }
  }
  const Result<TableView> view = fixture.Run(builder.Finish());
  EXPECT_TRUE(view.Is(ErrorCode::kNoSpace)) << view.ToString();
  EXPECT_EQ(fixture.source.units_out(), 0u);
}

TEST(Table, AbandonedBuilderGivesItsSpaceBack) {
  TableFixture fixture({.yields = true});
  TableBuilder builder(fixture.environment, fixture.source, TableBuilderOptions{.id = TableId(9)});
  for (uint64_t i = 0; i < 20000; ++i) {
    builder.Add(InternalKeyOf(NumberedKey(i), i), std::string(100, 'v'));
  }
  ASSERT_TRUE(fixture.Run(builder.Drain()).ok());
  fixture.Run(builder.Abandon());
  EXPECT_EQ(fixture.source.units_out(), 0u);
}

TEST(Table, EstimateIsNearTheSize) {
  for (const uint64_t count : {100u, 5000u, 40000u}) {
    TableFixture fixture;
    TableBuilder builder(fixture.environment, fixture.source, TableBuilderOptions{.id = TableId(9)});
    for (uint64_t i = 0; i < count; ++i) {
      builder.Add(InternalKeyOf(NumberedKey(i), i), std::string(100, 'v'));
    }
    const auto estimate = static_cast<double>(builder.EstimatedBytes());
    const Result<TableView> view = fixture.Run(builder.Finish());
    ASSERT_TRUE(view.ok());
    EXPECT_NEAR(estimate, static_cast<double>(view->used_bytes),
                static_cast<double>(view->used_bytes) * 0.02 + 1024);
  }
}

TEST(Table, BuilderSaysWhereATableMayEnd) {
  TableFixture fixture;
  TableBuilder builder(fixture.environment, fixture.source, TableBuilderOptions{.id = TableId(9)});
  builder.Add(InternalKeyOf("a", 2), "v");
  EXPECT_FALSE(builder.CanCutBefore("a"));
  EXPECT_TRUE(builder.CanCutBefore("b"));
  fixture.Run(builder.Abandon());
}

TEST(TableDeathTest, KeysOutOfOrderAreRefused) {
  TableFixture fixture;
  TableBuilder builder(fixture.environment, fixture.source, TableBuilderOptions{.id = TableId(9)});
  builder.Add(InternalKeyOf("b", 2), "v");
  EXPECT_DEATH(builder.Add(InternalKeyOf("a", 3), "v"), "out of order");
  EXPECT_DEATH(builder.Add(InternalKeyOf("b", 2), "v"), "out of order");
  EXPECT_DEATH(builder.Add(InternalKeyOf("b", 3), "v"), "out of order");
  fixture.Run(builder.Abandon());
}

TEST(Table, ReservedKindsAreUnsupportedNotWrong) {
  TableFixture fixture;
  Entries entries;
  entries[InternalKeyOf("a", 1)] = "v";
  entries[InternalKeyOf("b", 2, RecordKind::kLargeValuePointer)] = "somewhere";
  const TableView view = fixture.Build(entries);
  EXPECT_EQ(ValueOf(fixture.Get(view, "a")), "v");
  EXPECT_TRUE(fixture.Get(view, "b").Is(ErrorCode::kUnsupported));
  TableView with_ranges = view;
  with_ranges.segments[0].range_tombstones = BlockHandle{0, 100, 1, Generation(1)};
  EXPECT_TRUE(fixture.Get(with_ranges, "a").Is(ErrorCode::kUnsupported));
  const std::unique_ptr<InternalIterator> iterator =
      NewTableIterator(fixture.environment, with_ranges, TableIteratorOptions{});
  fixture.Finish(*iterator, iterator->SeekToFirst());
  EXPECT_TRUE(iterator->status().Is(ErrorCode::kUnsupported));
}

TEST(Table, DeviceErrorOfAReadIsReported) {
  TableFixture fixture;
  const TableView view = fixture.Build(NumberedEntries(100, 100));
  for (uint64_t later = 0; later < 3; ++later) {
    fixture.device.FailRead(later);
    EXPECT_TRUE(
        fixture.Get(view, NumberedKey(5), kSequenceNumberMax.value, false).Is(ErrorCode::kDeviceError));
  }
  EXPECT_EQ(ValueOf(fixture.Get(view, NumberedKey(5))), std::string(100, 'f'));
}

}  // namespace
}  // namespace varve
