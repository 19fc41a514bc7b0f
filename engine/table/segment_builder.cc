#include "engine/table/segment_builder.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/checksum.h"
#include "engine/base/internal_key.h"
#include "engine/table/segment_footer.h"

namespace varve {
namespace {

// What a data block takes besides its payload: trailer, and its index entry with two keys.
uint64_t IndexShareBytes(std::string_view key) {
  return 2 * key.size() + 32;
}

}  // namespace

SegmentBuilder::SegmentBuilder(const StoreUuid& store_uuid, TableId table, Generation generation,
                               uint32_t ordinal, TableWriter& writer, const SegmentOptions& options)
    : store_uuid_(store_uuid),
      table_(table),
      generation_(generation),
      ordinal_(ordinal),
      writer_(writer),
      options_(options),
      identity_(store_uuid, table),
      index_(identity_, generation, writer) {
}

void SegmentBuilder::Add(std::string_view internal_key, std::string_view value) {
  Check(internal_key.size() >= kTrailerBytes, "an internal key without a trailer");
  Check(last_key_.empty() || CompareInternalKeys(last_key_, internal_key) < 0,
        "keys of a segment out of order");
  const std::string_view user_key = UserKeyOf(internal_key);
  const bool new_user_key = last_key_.empty() || UserKeyOf(last_key_) != user_key;
  if (new_user_key && !block_.empty()) {
    // Cuts where the block's size comes nearest to the target; a user key never spans two blocks.
    const size_t without = block_.EstimatedBytes();
    const size_t with = without + BlockBuilder::EntryBytesMax(internal_key, value);
    if (without >= options_.block_bytes ||
        (with > options_.block_bytes && with - options_.block_bytes > options_.block_bytes - without)) {
      FinishBlock();
    }
  }
  if (block_.empty()) {
    block_smallest_ = user_key;
  }
  block_.Add(internal_key, value);
  if (new_user_key && options_.bits_per_key > 0) {
    filter_.Add(Hash64(user_key));
  }
  const SequenceNumber sequence = SequenceOf(internal_key);
  if (descriptor_.entries == 0) {
    descriptor_.smallest = internal_key;
    descriptor_.smallest_sequence = sequence;
    descriptor_.largest_sequence = sequence;
  }
  descriptor_.smallest_sequence = std::min(descriptor_.smallest_sequence, sequence);
  descriptor_.largest_sequence = std::max(descriptor_.largest_sequence, sequence);
  ++descriptor_.entries;
  descriptor_.tombstones += KindOf(internal_key) == RecordKind::kTombstone ? 1 : 0;
  last_key_ = internal_key;
}

void SegmentBuilder::FinishBlock() {
  IndexEntry entry;
  entry.entries = block_.entries();
  std::string& block = block_.Finish();
  entry.block = SealBlock(block, identity_, BlockKind::kData, generation_, writer_.table_offset());
  writer_.Append(block);
  entry.smallest = std::move(block_smallest_);
  entry.largest = UserKeyOf(last_key_);
  ++descriptor_.data_blocks;
  descriptor_.data_bytes += block.size();
  index_.Add(std::move(entry));
  block_.Reset();
}

uint64_t SegmentBuilder::EstimatedBytes() const {
  if (descriptor_.entries == 0) {
    return 0;
  }
  const uint64_t filter =
      FilterBuilder::BytesFor(filter_.keys(), options_.bits_per_key, options_.filter_reserve);
  return writer_.table_offset() + block_.EstimatedBytes() + IndexShareBytes(last_key_) +
         index_.pending_bytes() + filter + sizeof(FooterHead);
}

bool SegmentBuilder::CanCutBefore(std::string_view user_key) const {
  return last_key_.empty() || UserKeyOf(last_key_) != user_key;
}

SegmentDescriptor SegmentBuilder::Finish() {
  Check(descriptor_.entries > 0, "a segment without entries");
  if (!block_.empty()) {
    FinishBlock();
  }
  descriptor_.largest = last_key_;
  descriptor_.live_bytes = descriptor_.data_bytes;
  FilterBuilder::Image filter = filter_.Build(options_.bits_per_key, options_.filter_reserve);
  descriptor_.filter = filter.descriptor;
  std::vector<BlockHandle> pages;
  pages.reserve(filter.pages.size());
  for (std::string& page : filter.pages) {
    pages.push_back(SealBlock(page, identity_, BlockKind::kFilter, generation_, writer_.table_offset()));
    writer_.Append(page);
    descriptor_.meta_bytes += page.size();
  }
  const IndexBuilder::Root root = index_.Finish();
  descriptor_.meta_bytes += index_.written_bytes();
  writer_.PadToSector();
  std::string footer;
  AppendFooter(footer, store_uuid_, table_, generation_, ordinal_, descriptor_, filter.geometry, pages,
               root.payload, root.levels);
  descriptor_.footer = SealBlock(footer, identity_, BlockKind::kFooter, generation_, writer_.table_offset());
  writer_.Append(footer);
  descriptor_.meta_bytes += footer.size();
  return std::move(descriptor_);
}

}  // namespace varve
