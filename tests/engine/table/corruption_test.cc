// Whatever happens to a table's bytes, a read gives the right answer or an error.
#include <gtest/gtest.h>

#include "tests/engine/table/table_fixture.h"

namespace varve {
namespace {

Entries SmallEntries() {
  Entries entries;
  for (uint64_t i = 0; i < 60; ++i) {
    entries[InternalKeyOf(NumberedKey(i), i)] = "value " + std::to_string(i);
  }
  return entries;
}

// Reads everything in every way; answers whether any read failed.
bool ReadAllExpectingTruth(TableFixture& fixture, const TableView& view, const Entries& entries) {
  bool failed = false;
  for (const auto& [key, value] : entries) {
    const Result<TableLookup> found = fixture.Get(view, UserKeyOf(key), kSequenceNumberMax.value, false);
    failed = failed || !found.ok();
    if (found.ok()) {
      EXPECT_EQ(found->kind, TableLookup::Kind::kValue);
      EXPECT_EQ(found->value.bytes(), value);
    } else {
      EXPECT_TRUE(found.Is(ErrorCode::kCorruption) || found.Is(ErrorCode::kUnsupported)) << found.ToString();
    }
  }
  const std::unique_ptr<InternalIterator> iterator = NewTableIterator(
      fixture.environment, view, TableIteratorOptions{.fill_cache = false, .sequential = true});
  auto expected = entries.begin();
  for (fixture.Finish(*iterator, iterator->SeekToFirst()); iterator->Valid();
       fixture.Finish(*iterator, iterator->Next())) {
    if (expected == entries.end()) {
      ADD_FAILURE() << "more entries than were written";
      return true;
    }
    EXPECT_EQ(iterator->key(), expected->first);
    EXPECT_EQ(iterator->value(), expected->second);
    ++expected;
  }
  EXPECT_TRUE(expected == entries.end() || !iterator->status().ok());
  return failed || !iterator->status().ok();
}

TEST(TableCorruption, EachFlippedByteIsNoticedOrMeansNothing) {
  TableFixture fixture({.device_bytes = 2 * kMiB});
  const Entries entries = SmallEntries();
  const TableView view = fixture.Build(entries, SegmentOptions{.block_bytes = 400, .filter_reserve = 0.2});
  ASSERT_TRUE(fixture.Verify(view).empty());
  uint64_t harmless = 0;
  for (uint64_t offset = 0; offset < view.used_bytes; ++offset) {
    const uint64_t at = TableFixture::DeviceOffsetOf(view, offset);
    fixture.device.Corrupt(at, 1);
    const bool read_failed = ReadAllExpectingTruth(fixture, view, entries);
    const bool verify_failed = !fixture.Verify(view).empty();
    EXPECT_TRUE(verify_failed || !read_failed) << "verification missed the byte at " << offset;
    harmless += verify_failed ? 0 : 1;
    fixture.device.Corrupt(at, 1);
    if (testing::Test::HasFailure()) {
      FAIL() << "at table offset " << offset;
    }
  }
  // Only padding may be changed unnoticed.
  EXPECT_LE(harmless, view.dead_bytes());
  EXPECT_FALSE(ReadAllExpectingTruth(fixture, view, entries));
}

TEST(TableCorruption, BlocksInEachOthersPlacesAreNoticed) {
  TableFixture fixture;
  Entries entries;
  for (uint64_t i = 0; i < 64; ++i) {
    entries[InternalKeyOf(NumberedKey(i), i)] = std::string(1000, 'v');
  }
  const TableView one = fixture.Build(entries, SegmentOptions{}, 21);
  const TableView other = fixture.Build(entries, SegmentOptions{}, 22);
  // The same bytes of another table: a misdirected write.
  const uint64_t from = TableFixture::DeviceOffsetOf(other, 0);
  const uint64_t to = TableFixture::DeviceOffsetOf(one, 0);
  fixture.device.Poke(to, fixture.device.Peek(from, 16 * kKiB));
  EXPECT_TRUE(fixture.Get(one, NumberedKey(0)).Is(ErrorCode::kCorruption));
  EXPECT_FALSE(fixture.Get(other, NumberedKey(0)).Is(ErrorCode::kCorruption));
}

TEST(TableCorruption, LostWriteIsNoticed) {
  TableFixture fixture;
  const TableView first = fixture.Build(SmallEntries());
  const MemoryDevice::Contents before = fixture.device.Snapshot();
  Entries newer;
  newer[InternalKeyOf(NumberedKey(3), 5000)] = "newer";
  const TableView second = fixture.Append(first, newer);
  fixture.device.Restore(before);
  EXPECT_TRUE(fixture.Get(second, NumberedKey(3)).Is(ErrorCode::kCorruption));
  EXPECT_FALSE(fixture.Verify(second).empty());
  EXPECT_TRUE(fixture.Verify(first).empty());
}

TEST(TableCorruption, ViewThatPointsElsewhereGivesErrors) {
  TableFixture fixture;
  const TableView view = fixture.Build(SmallEntries());
  TableView other = view;
  other.segments[0].footer.table_offset = view.used_bytes * 2;
  EXPECT_TRUE(fixture.Get(other, NumberedKey(1)).Is(ErrorCode::kCorruption));
  other = view;
  other.extents[0].extent.first_unit = 1U << 30;
  EXPECT_TRUE(fixture.Get(other, NumberedKey(1)).Is(ErrorCode::kCorruption));
  other = view;
  other.id = TableId(8);
  EXPECT_TRUE(fixture.Get(other, NumberedKey(1)).Is(ErrorCode::kCorruption));
  other = view;
  other.segments[0].footer.birth = Generation(2);
  EXPECT_TRUE(fixture.Get(other, NumberedKey(1)).Is(ErrorCode::kCorruption));
}

TEST(TableCorruption, WrongCountsInTheManifestAreReported) {
  TableFixture fixture;
  const TableView view = fixture.Build(SmallEntries());
  TableView other = view;
  other.segments[0].tombstones = 3;
  EXPECT_FALSE(fixture.Verify(other).empty());
  other = view;
  other.segments[0].filter.insertions -= 1;
  EXPECT_FALSE(fixture.Verify(other).empty());
}

}  // namespace
}  // namespace varve
