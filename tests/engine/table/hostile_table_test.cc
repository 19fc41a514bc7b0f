// Tables that an attacker made, with right checksums: a walk ends, memory stays bounded, and nothing outside
// the table is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/table/hand_made_table.h"
#include "tests/engine/table/table_fixture.h"

namespace varve {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

class HostileTable : public ::testing::Test {
 protected:
  // Walks both ways; the number of records seen forward.
  size_t Walk(const TableView& view, bool forward) {
    const std::unique_ptr<InternalIterator> iterator = NewTableIterator(t_.environment, view, {});
    t_.Finish(*iterator, forward ? iterator->SeekToFirst() : iterator->SeekToLast());
    size_t records = 0;
    for (; iterator->Valid(); ++records) {
      t_.Finish(*iterator, forward ? iterator->Next() : iterator->Prev());
    }
    status_ = iterator->status();
    return records;
  }

  TableFixture t_;
  HandMadeTable table_{t_.device, t_.environment.store_uuid, TableId(7), Extent{1, 4}};
  Status status_;
};

TEST_F(HostileTable, AnIndexThatNamesOneBlockManyTimesEndsTheWalk) {
  BlockHandle below = table_.AddData({{InternalKeyOf("a", 1), "1"}, {InternalKeyOf("z", 1), "2"}});
  // Each level doubles what the one below it would yield: 2^40 records.
  for (int level = 0; level < 40; ++level) {
    below = table_.AddIndex({{"a", "m", below, 1}, {"n", "z", below, 1}});
  }
  const TableView view = table_.Finish({{"a", "z", below, 2}}, 41, "a", "z");
  EXPECT_LE(Walk(view, true), 2U);
  EXPECT_TRUE(status_.Is(ErrorCode::kCorruption)) << status_.ToString();
  EXPECT_LE(Walk(view, false), 2U);
  EXPECT_TRUE(status_.Is(ErrorCode::kCorruption)) << status_.ToString();
  EXPECT_TRUE(t_.Get(view, "b").status().ok());
  EXPECT_THAT(t_.Verify(view), Not(IsEmpty()));
}

TEST_F(HostileTable, ABlockInsideOutEndsTheWalkToo) {
  // It begins behind its end, so that each visit seems to lie behind the one before.
  const BlockHandle block = table_.AddData({{InternalKeyOf("z", 1), "1"}, {InternalKeyOf("a", 1), "2"}});
  std::vector<IndexEntry> entries;
  for (int i = 0; i < 100; ++i) {
    entries.push_back({NumberedKey(2 * i), NumberedKey(2 * i + 1), block, 1});
  }
  const TableView view = table_.Finish(entries, 1, NumberedKey(0), NumberedKey(199));
  EXPECT_LE(Walk(view, true), 4U);
  EXPECT_TRUE(status_.Is(ErrorCode::kCorruption)) << status_.ToString();
  EXPECT_LE(Walk(view, false), 4U);
  EXPECT_TRUE(status_.Is(ErrorCode::kCorruption)) << status_.ToString();
}

TEST_F(HostileTable, SpansThatOverlapOrHoldNothingEndTheWalk) {
  const BlockHandle block = table_.AddData(
      {{InternalKeyOf("b", 1), "1"}, {InternalKeyOf("d", 1), "2"}, {InternalKeyOf("f", 1), "3"}});
  // The index is sorted by its largest keys only.
  const TableView overlapping =
      table_.Finish({{"b", "d", block, 2, true}, {"b", "f", block, 3, true}}, 1, "b", "f");
  EXPECT_LE(Walk(overlapping, true), 2U);
  EXPECT_TRUE(status_.Is(ErrorCode::kCorruption)) << status_.ToString();
  EXPECT_LE(Walk(overlapping, false), 3U);
  EXPECT_TRUE(status_.Is(ErrorCode::kCorruption)) << status_.ToString();
  EXPECT_THAT(t_.Verify(overlapping), Not(IsEmpty()));
  const TableView nothing = table_.Finish(
      {{"b", "b", block, 1, true}, {"c", "c", block, 1, true}, {"d", "f", block, 2, true}}, 1, "b", "f");
  for (const bool forward : {true, false}) {
    EXPECT_LE(Walk(nothing, forward), 2U);
    EXPECT_TRUE(status_.Is(ErrorCode::kCorruption)) << status_.ToString();
  }
  EXPECT_THAT(t_.Verify(nothing), Not(IsEmpty()));
}

TEST_F(HostileTable, SpansOfAnIndexThatIsNamedManyTimesEndTheWalk) {
  const BlockHandle block = table_.AddData({{InternalKeyOf("b", 1), "1"}, {InternalKeyOf("y", 1), "2"}});
  BlockHandle below = table_.AddIndex({{"b", "b", block, 1, true}, {"y", "y", block, 1, true}});
  for (int level = 0; level < 40; ++level) {
    below = table_.AddIndex({{"b", "m", below, 1}, {"n", "y", below, 1}});
  }
  const TableView view = table_.Finish({{"b", "y", below, 2}}, 42, "b", "y");
  for (const bool forward : {true, false}) {
    EXPECT_LE(Walk(view, forward), 2U);
    EXPECT_TRUE(status_.Is(ErrorCode::kCorruption)) << status_.ToString();
  }
}

TEST_F(HostileTable, ABlockThatASpanAndAnEntryNameIsNotWhole) {
  const BlockHandle block = table_.AddData({{InternalKeyOf("b", 1), "1"}, {InternalKeyOf("d", 1), "2"}});
  const TableView view = table_.Finish({{"b", "b", block, 1, true}, {"d", "d", block, 1}}, 1, "b", "d");
  EXPECT_THAT(t_.Verify(view), Not(IsEmpty()));
}

TEST_F(HostileTable, ABlockOfGigabytesIsNotReadIntoMemory) {
  TableFixture large({.device_bytes = 16 * kGiB});
  HandMadeTable made(large.device, large.environment.store_uuid, TableId(7), Extent{1, 200'000});
  const BlockHandle whole{0, 0xf000'0000, 0, Generation(1)};
  TableView view = made.Finish({{"a", "z", whole, 1}}, 1, "a", "z");
  view.used_bytes = view.extents[0].extent.bytes();
  EXPECT_TRUE(large.Get(view, "b").status().Is(ErrorCode::kCorruption));
  view.segments[0].footer.bytes = 0xf000'0000;
  EXPECT_TRUE(large.Get(view, "b").status().Is(ErrorCode::kCorruption));
  EXPECT_THAT(large.Verify(view), Not(IsEmpty()));
}

TEST_F(HostileTable, ATableBeyondTheDeviceIsNotRead) {
  const BlockHandle block = table_.AddData({{InternalKeyOf("b", 1), "1"}});
  TableView view = table_.Finish({{"b", "b", block, 1}}, 1, "b", "b");
  EXPECT_TRUE(t_.Get(view, "b").ok());
  for (const uint32_t first_unit : {1'023U, 1'024U, 0xffff'fff0U}) {
    view.extents[0].extent.first_unit = first_unit;
    TableFixture fresh;
    EXPECT_TRUE(fresh.Get(view, "b").status().Is(ErrorCode::kCorruption)) << first_unit;
  }
}

}  // namespace
}  // namespace varve
