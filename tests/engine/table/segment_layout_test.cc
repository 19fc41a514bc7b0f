#include "engine/table/segment_layout.h"

#include <gtest/gtest.h>

#include "engine/table/block_reader.h"
#include "engine/table/data_block.h"
#include "engine/table/table_format.h"
#include "tests/engine/table/table_fixture.h"

namespace varve {
namespace {

Entries Numbered(uint64_t count, size_t value_bytes) {
  Entries entries;
  for (uint64_t i = 0; i < count; ++i) {
    entries[InternalKeyOf(NumberedKey(i), i + 1)] = std::string(value_bytes, 'v');
  }
  return entries;
}

TEST(SegmentLayout, NamesEveryBlockOfIndexesOfAnyDepth) {
  for (const uint64_t keys : {1u, 500u, 20'000u}) {
    TableFixture fixture;
    const Entries entries = Numbered(keys, 100);
    const TableView view = fixture.Build(entries, SegmentOptions{.block_bytes = 300});
    const Result<SegmentLayout> layout =
        fixture.Run(ReadSegmentLayout(fixture.environment, view, 0, IoPurpose::kCompaction));
    ASSERT_TRUE(layout.ok()) << layout.ToString();
    EXPECT_EQ(layout->blocks.size(), view.segments[0].data_blocks);
    EXPECT_EQ(layout->index_blocks.empty(), keys < 20'000);
    EXPECT_EQ(layout->filter_pages.size(), layout->filter.pages);
    std::vector<BlockHandle> handles;
    for (const IndexEntry& entry : layout->blocks) {
      handles.push_back(entry.block);
    }
    const Result<std::vector<BlockRef>> blocks = fixture.Run(
        ReadBlocks(fixture.environment, view, std::move(handles), BlockKind::kData, IoPurpose::kCompaction));
    ASSERT_TRUE(blocks.ok()) << blocks.ToString();
    auto expected = entries.begin();
    for (size_t i = 0; i < blocks->size(); ++i) {
      DataBlockCursor cursor;
      cursor.Reset(PayloadOf((*blocks)[i].bytes()));
      uint64_t count = 0;
      for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next(), ++expected, ++count) {
        ASSERT_EQ(cursor.key(), expected->first);
      }
      EXPECT_EQ(count, layout->blocks[i].entries);
    }
    EXPECT_EQ(expected, entries.end());
    // All that the table uses lies under some block, but padding.
    uint64_t used = 0;
    for (const TableRange& range : layout->UsedRanges()) {
      used += range.bytes();
    }
    EXPECT_EQ(used, view.data_bytes() + view.meta_bytes());
  }
}

// Of every block, every second, and every eighth: small gaps are read over, large ones are not.
TEST(SegmentLayout, BlocksThatLieCloseBehindEachOtherAreReadTogether) {
  TableFixture fixture;
  const TableView view = fixture.Build(Numbered(512, 1000), SegmentOptions{.block_bytes = 4096});
  const Result<SegmentLayout> layout =
      fixture.Run(ReadSegmentLayout(fixture.environment, view, 0, IoPurpose::kCompaction));
  ASSERT_TRUE(layout.ok()) << layout.ToString();
  for (const size_t step : {1u, 2u, 8u}) {
    std::vector<BlockHandle> handles;
    for (size_t i = 0; i < layout->blocks.size(); i += step) {
      handles.push_back(layout->blocks[i].block);
    }
    const size_t count = handles.size();
    ASSERT_GT(count, 10U);
    const uint64_t before = fixture.device.counters().of(IoPurpose::kCheck).reads;
    const Result<std::vector<BlockRef>> blocks = fixture.Run(
        ReadBlocks(fixture.environment, view, std::move(handles), BlockKind::kData, IoPurpose::kCheck));
    ASSERT_TRUE(blocks.ok()) << blocks.ToString();
    const uint64_t reads = fixture.device.counters().of(IoPurpose::kCheck).reads - before;
    if (step < 8) {
      EXPECT_LE(reads, count / 8) << step;
    } else {
      EXPECT_EQ(reads, count);
    }
    for (size_t i = 0; i < count; ++i) {
      DataBlockCursor cursor;
      cursor.Reset(PayloadOf((*blocks)[i].bytes()));
      cursor.SeekToFirst();
      ASSERT_TRUE(cursor.Valid());
      EXPECT_EQ(UserKeyOf(cursor.key()), layout->blocks[i * step].smallest);
    }
  }
}

TEST(SegmentLayout, OfEachSegmentIsItsOwn) {
  TableFixture fixture;
  const TableView first = fixture.Build(Numbered(100, 50));
  Entries more;
  more[InternalKeyOf("between", 500)] = "x";
  const TableView view = fixture.Append(first, more);
  const Result<SegmentLayout> layout =
      fixture.Run(ReadSegmentLayout(fixture.environment, view, 1, IoPurpose::kCompaction));
  ASSERT_TRUE(layout.ok()) << layout.ToString();
  ASSERT_EQ(layout->blocks.size(), 1U);
  EXPECT_EQ(layout->blocks[0].smallest, "between");
}

TEST(SegmentLayout, DamageIsFoundAndNothingElseIsAnswered) {
  TableFixture fixture;
  const TableView view = fixture.Build(Numbered(20'000, 20), SegmentOptions{.block_bytes = 300});
  const Result<SegmentLayout> whole =
      fixture.Run(ReadSegmentLayout(fixture.environment, view, 0, IoPurpose::kCompaction));
  ASSERT_TRUE(whole.ok());
  std::vector<BlockHandle> meta = whole->index_blocks;
  meta.push_back(whole->footer);
  for (const BlockHandle& block : meta) {
    fixture.device.Corrupt(TableFixture::DeviceOffsetOf(view, block.table_offset + block.bytes / 2), 1);
    const Result<SegmentLayout> layout =
        fixture.Run(ReadSegmentLayout(fixture.environment, view, 0, IoPurpose::kCompaction));
    EXPECT_TRUE(layout.Is(ErrorCode::kCorruption)) << layout.ToString();
    fixture.device.Corrupt(TableFixture::DeviceOffsetOf(view, block.table_offset + block.bytes / 2), 1);
  }
  TableView other = view;
  other.segments[0].data_blocks += 1;
  EXPECT_TRUE(fixture.Run(ReadSegmentLayout(fixture.environment, other, 0, IoPurpose::kCompaction))
                  .Is(ErrorCode::kCorruption));
}

TEST(SegmentLayout, OfASegmentWithRangeTombstonesIsOfALaterVersion) {
  TableFixture fixture;
  TableView view = fixture.Build(Numbered(100, 20));
  view.segments[0].range_tombstones = view.segments[0].footer;
  EXPECT_TRUE(fixture.Run(ReadSegmentLayout(fixture.environment, view, 0, IoPurpose::kCompaction))
                  .Is(ErrorCode::kUnsupported));
}

}  // namespace
}  // namespace varve
