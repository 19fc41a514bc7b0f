// Damage that no checksum tells: tables whose blocks verify and yet break a rule. Each rule is broken once,
// and the verification sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "engine/base/checksum.h"
#include "engine/table/block_builder.h"
#include "engine/table/filter.h"
#include "engine/table/index_block.h"
#include "engine/table/segment_footer.h"
#include "tests/engine/table/table_fixture.h"

namespace varve {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// A table of one segment, made block by block; what it says of itself may be a lie.
class Forgery {
 public:
  // Internal keys with values, block by block.
  std::vector<std::vector<std::pair<std::string, std::string>>> blocks;
  std::set<std::string> kept_from_filter;
  uint16_t footer_version = kFooterVersion;
  std::function<void(std::vector<IndexEntry>&)> change_index = [](std::vector<IndexEntry>&) {};
  std::function<void(SegmentDescriptor&)> change_totals = [](SegmentDescriptor&) {};

  // Four keys in two blocks, all true.
  Forgery() {
    for (uint64_t i = 0; i < 4; ++i) {
      if (i % 2 == 0) {
        blocks.emplace_back();
      }
      blocks.back().emplace_back(InternalKeyOf(NumberedKey(i), 10 + i), "value");
    }
  }

  TableView Write(TableFixture& fixture) {
    TableView view;
    view.id = TableId(7);
    view.generation = kFirstGeneration;
    TableWriter writer(fixture.device, fixture.source, IoPurpose::kFlush, {}, 0, 64 * kKiB);
    const BlockIdentity identity(fixture.environment.store_uuid, view.id);
    SegmentDescriptor segment;
    segment.smallest_sequence = kSequenceNumberMax;
    std::vector<IndexEntry> index;
    FilterBuilder filter;
    for (const auto& entries : blocks) {
      index.push_back(WriteBlock(entries, identity, writer, segment, filter));
    }
    change_index(index);
    segment.smallest = blocks.front().front().first;
    segment.largest = blocks.back().back().first;
    segment.live_bytes = segment.data_bytes;
    FilterBuilder::Image image = filter.Build(10, 0);
    segment.filter = image.descriptor;
    std::vector<BlockHandle> pages;
    for (std::string& page : image.pages) {
      pages.push_back(SealBlock(page, identity, BlockKind::kFilter, kFirstGeneration, writer.table_offset()));
      writer.Append(page);
      segment.meta_bytes += page.size();
    }
    change_totals(segment);
    writer.PadToSector();
    std::string footer;
    AppendFooter(footer, fixture.environment.store_uuid, view.id, kFirstGeneration, 0, segment,
                 image.geometry, pages, EncodeIndexBlock(index), 1, footer_version);
    segment.footer = SealBlock(footer, identity, BlockKind::kFooter, kFirstGeneration, writer.table_offset());
    writer.Append(footer);
    segment.meta_bytes += footer.size();
    view.smallest = segment.smallest_user_key();
    view.largest = segment.largest_user_key();
    view.segments.push_back(std::move(segment));
    const Status written = fixture.Run(writer.Finish());
    EXPECT_TRUE(written.ok()) << written.ToString();
    view.extents = writer.extents();
    view.used_bytes = writer.used_bytes();
    return view;
  }

 private:
  IndexEntry WriteBlock(const std::vector<std::pair<std::string, std::string>>& entries,
                        const BlockIdentity& identity, TableWriter& writer, SegmentDescriptor& segment,
                        FilterBuilder& filter) {
    BlockBuilder builder;
    for (const auto& [key, value] : entries) {
      builder.Add(key, value);
      if (kept_from_filter.count(std::string(UserKeyOf(key))) == 0) {
        filter.Add(Hash64(UserKeyOf(key)));
      }
      segment.smallest_sequence = std::min(segment.smallest_sequence, SequenceOf(key));
      segment.largest_sequence = std::max(segment.largest_sequence, SequenceOf(key));
      segment.tombstones += KindOf(key) == RecordKind::kTombstone ? 1 : 0;
      ++segment.entries;
    }
    IndexEntry entry;
    entry.entries = builder.entries();
    std::string& block = builder.Finish();
    entry.block = SealBlock(block, identity, BlockKind::kData, kFirstGeneration, writer.table_offset());
    writer.Append(block);
    entry.smallest = UserKeyOf(entries.front().first);
    entry.largest = UserKeyOf(entries.back().first);
    ++segment.data_blocks;
    segment.data_bytes += block.size();
    return entry;
  }
};

class TableVerifierTest : public testing::Test {
 protected:
  std::vector<std::string> Verify(Forgery& forgery) { return fixture_.Verify(forgery.Write(fixture_)); }

  TableFixture fixture_;
  Forgery forgery_;
};

TEST_F(TableVerifierTest, ATrueTableHasNoFault) {
  EXPECT_THAT(Verify(forgery_), IsEmpty());
}

TEST_F(TableVerifierTest, EntriesOutOfOrderAreSeen) {
  // Between the first and the last, of which the index knows.
  for (const uint64_t n : {5, 4, 6}) {
    forgery_.blocks[1].emplace_back(InternalKeyOf(NumberedKey(n), 10 + n), "value");
  }
  EXPECT_THAT(Verify(forgery_), Contains(HasSubstr("entries of a block are out of order")));
}

TEST_F(TableVerifierTest, AUserKeyInTwoBlocksIsSeen) {
  // The same user key ends one block and, in an older version, begins the next.
  forgery_.blocks[1].insert(forgery_.blocks[1].begin(), {InternalKeyOf(NumberedKey(1), 5), "older"});
  EXPECT_THAT(Verify(forgery_), Contains(HasSubstr("index entries are out of order or overlap")));
}

TEST_F(TableVerifierTest, AnIndexEntryThatIsNotItsBlockIsSeen) {
  forgery_.change_index = [](std::vector<IndexEntry>& index) { index[0].largest = index[0].smallest; };
  EXPECT_THAT(Verify(forgery_), Contains(HasSubstr("a data block differs from its index entry")));
  Forgery larger;
  larger.change_index = [](std::vector<IndexEntry>& index) { index[0].largest += "0"; };
  EXPECT_THAT(Verify(larger), IsEmpty());
  larger.footer_version = kFooterVersionOfWholeKeys;
  EXPECT_THAT(Verify(larger), Contains(HasSubstr("a data block differs from its index entry")));
  Forgery counts;
  counts.change_index = [](std::vector<IndexEntry>& index) {
    ++index[0].entries;
    --index[1].entries;
  };
  EXPECT_THAT(Verify(counts), Contains(HasSubstr("a data block differs from its index entry")));
}

TEST_F(TableVerifierTest, AnOutlineThatIsNotItsBlocksIsSeen) {
  const auto outline_of = [this](size_t block, std::string_view value) {
    BlockBuilder outline;
    for (const auto& entry : forgery_.blocks[block]) {
      outline.Add(entry.first, value);
    }
    return outline.Finish();
  };
  const auto verify = [this](const std::string& outline) {
    forgery_.change_index = [outline](std::vector<IndexEntry>& index) { index[1].outline = outline; };
    return Verify(forgery_);
  };
  EXPECT_THAT(verify(outline_of(1, "val")), IsEmpty());
  EXPECT_THAT(verify(outline_of(0, "val")), Contains(HasSubstr("an outline differs from its block")));
  EXPECT_THAT(verify(outline_of(1, "vel")), Contains(HasSubstr("an outline differs from its block")));
  EXPECT_THAT(verify("short"), Contains(HasSubstr("an outline differs from its block")));
}

TEST_F(TableVerifierTest, AnIndexThatIsNotItsSegmentIsSeen) {
  forgery_.change_index = [](std::vector<IndexEntry>& index) { index.pop_back(); };
  EXPECT_THAT(Verify(forgery_), Contains(HasSubstr("an index block differs from what names it")));
}

TEST_F(TableVerifierTest, TwoIndexEntriesForOneBlockAreSeen) {
  forgery_.change_index = [](std::vector<IndexEntry>& index) { index[1].block = index[0].block; };
  EXPECT_THAT(Verify(forgery_), Contains(HasSubstr("two blocks overlap")));
}

TEST_F(TableVerifierTest, AKeyThatTheFilterDeniesIsSeenTombstonesIncluded) {
  forgery_.kept_from_filter = {NumberedKey(2)};
  EXPECT_THAT(Verify(forgery_), Contains(HasSubstr("the filter denies a key")));
  Forgery tombstone;
  tombstone.blocks[0][0].first = InternalKeyOf(NumberedKey(0), 10, RecordKind::kTombstone);
  tombstone.kept_from_filter = {NumberedKey(0)};
  EXPECT_THAT(Verify(tombstone), Contains(HasSubstr("the filter denies a key")));
}

TEST_F(TableVerifierTest, TotalsThatDoNotAddUpAreSeen) {
  const std::vector<std::function<void(SegmentDescriptor&)>> lies = {
      [](SegmentDescriptor& segment) { ++segment.tombstones; },
      [](SegmentDescriptor& segment) { ++segment.data_blocks; },
      [](SegmentDescriptor& segment) { ++segment.data_bytes; },
      [](SegmentDescriptor& segment) { ++segment.meta_bytes; },
      [](SegmentDescriptor& segment) { segment.largest_sequence = SequenceNumber(0); },
  };
  for (const auto& lie : lies) {
    Forgery forgery;
    forgery.change_totals = lie;
    EXPECT_THAT(Verify(forgery), Contains(HasSubstr("do not add up to what its footer says")));
  }
}

}  // namespace
}  // namespace varve
