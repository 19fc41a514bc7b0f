// The format carries a merge by blocks: a new generation of a segment that keeps the clean blocks of the old
// one in place, with a new index, filter and footer behind them.
#include <gtest/gtest.h>

#include "engine/table/block_builder.h"
#include "engine/table/block_reader.h"
#include "engine/table/index_builder.h"
#include "engine/table/segment_footer.h"
#include "engine/table/table_format.h"
#include "tests/engine/table/table_fixture.h"

namespace varve {
namespace {

BlockRef Load(TableFixture& fixture, const TableView& view, const BlockHandle& handle, BlockKind kind) {
  Result<BlockRef> block =
      fixture.Run(ReadBlock(fixture.environment, view, handle, kind, IoPurpose::kCompaction, true));
  EXPECT_TRUE(block.ok()) << block.ToString();
  return std::move(block).value();
}

// Replaces the data block that holds `user_key` by one in which its value is `value`.
TableView RewriteOneBlock(TableFixture& fixture, const TableView& view, const std::string& user_key,
                          const std::string& value, Entries& entries) {
  TableView next = view;
  next.generation = view.generation.Next();
  SegmentDescriptor& segment = next.segments[0];
  const BlockIdentity identity(fixture.environment.store_uuid, view.id);
  const BlockRef footer_block = Load(fixture, view, segment.footer, BlockKind::kFooter);
  const SegmentFooter footer = *SegmentFooter::Parse(PayloadOf(footer_block.bytes()));
  EXPECT_EQ(footer.index_levels(), 1);

  TableWriter writer(fixture.device, fixture.source, IoPurpose::kCompaction, view.extents, view.used_bytes,
                     64 * kKiB);
  IndexBuilder index(identity, next.generation, writer, true);
  for (uint32_t i = 0; i < footer.root().size(); ++i) {
    IndexEntry entry = footer.root().Copy(*footer.root().At(i));
    if (entry.smallest <= user_key && user_key <= entry.largest) {
      segment.data_bytes -= entry.block.bytes;
      BlockBuilder block;
      const auto end = entries.upper_bound(InternalKeyOf(entry.largest, 0));
      for (auto at = entries.lower_bound(SeekKey(entry.smallest, kSequenceNumberMax)); at != end; ++at) {
        if (UserKeyOf(at->first) == user_key) {
          at->second = value;
        }
        block.Add(at->first, at->second);
      }
      std::string& bytes = block.Finish();
      entry.block = SealBlock(bytes, identity, BlockKind::kData, next.generation, writer.table_offset());
      writer.Append(bytes);
      segment.data_bytes += bytes.size();
    }
    index.Add(std::move(entry));
  }
  segment.live_bytes = segment.data_bytes;

  // One key more in the filter's reserve: its page is written anew, the others stay where they are.
  const uint64_t inserted = Hash64("a key to come");
  std::vector<BlockHandle> pages;
  segment.meta_bytes = 0;
  for (uint32_t page = 0; page < footer.filter().pages; ++page) {
    pages.push_back(footer.FilterPage(page));
    if (page == footer.filter().PageOf(inserted)) {
      const BlockRef old_page = Load(fixture, view, pages.back(), BlockKind::kFilter);
      std::string bytes(PayloadOf(old_page.bytes()));
      FilterInsert(footer.filter(), bytes, inserted);
      pages.back() = SealBlock(bytes, identity, BlockKind::kFilter, next.generation, writer.table_offset());
      writer.Append(bytes);
      ++segment.filter.insertions;
    }
    segment.meta_bytes += pages.back().bytes;
  }
  const IndexBuilder::Root root = index.Finish();
  writer.PadToSector();
  std::string bytes;
  AppendFooter(bytes, fixture.environment.store_uuid, view.id, next.generation, 0, segment, footer.filter(),
               pages, root.payload, root.levels);
  segment.footer = SealBlock(bytes, identity, BlockKind::kFooter, next.generation, writer.table_offset());
  writer.Append(bytes);
  segment.meta_bytes += bytes.size();
  const Status written = fixture.Run(writer.Finish());
  EXPECT_TRUE(written.ok()) << written.ToString();
  next.extents = writer.extents();
  next.used_bytes = writer.used_bytes();
  return next;
}

TEST(BlockMergeFormat, CleanBlocksStayInPlaceAndInTheCache) {
  for (const uint32_t sector : {512u, 4096u}) {
    TableFixture fixture({.sector_bytes = sector});
    Entries entries;
    for (uint64_t i = 0; i < 1000; ++i) {
      entries[InternalKeyOf(NumberedKey(i), i)] = std::string(300, 'o');
    }
    const TableView first = fixture.Build(entries, SegmentOptions{.filter_reserve = 0.4});
    for (uint64_t i = 0; i < 1000; ++i) {
      ASSERT_TRUE(fixture.Get(first, NumberedKey(i)).ok());
    }
    const TableView second = RewriteOneBlock(fixture, first, NumberedKey(500), "rewritten", entries);
    EXPECT_EQ(fixture.Verify(second), std::vector<std::string>());
    EXPECT_GT(second.dead_bytes(), first.dead_bytes());
    const uint64_t misses = fixture.cache.statistics().of(BlockKind::kData).misses;
    for (const auto& [key, value] : entries) {
      const Result<TableLookup> found = fixture.Get(second, UserKeyOf(key));
      ASSERT_TRUE(found.ok()) << found.ToString();
      EXPECT_EQ(found->value.bytes(), value);
    }
    EXPECT_EQ(fixture.cache.statistics().of(BlockKind::kData).misses, misses + 1);
    // The older generation is as it was.
    EXPECT_EQ(fixture.Verify(first), std::vector<std::string>());
    const Result<TableLookup> old_value = fixture.Get(first, NumberedKey(500));
    ASSERT_TRUE(old_value.ok());
    EXPECT_EQ(old_value->value.bytes(), std::string(300, 'o'));
    // The manifest holds it.
    std::string encoded;
    AppendTableView(encoded, second);
    const Result<TableView> decoded = DecodeTableView(encoded);
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(*decoded, second);
  }
}

}  // namespace
}  // namespace varve
