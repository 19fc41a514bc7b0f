#include "engine/table/segment_builder.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/checksum.h"
#include "engine/base/internal_key.h"
#include "engine/base/units.h"
#include "engine/ring/executor.h"
#include "engine/table/block_reader.h"
#include "engine/table/segment_footer.h"

namespace varve {
namespace {

// Keys that go into a filter before others have their turn: about a tenth of a millisecond.
constexpr size_t kFilterKeysAtOnce = 16'384;

// What a data block takes besides its payload: trailer, and its index entry with two keys.
uint64_t IndexShareBytes(std::string_view key) {
  return 2 * key.size() + 32;
}

}  // namespace

SegmentBuilder::SegmentBuilder(const TableEnvironment& environment, TableId table, Generation generation,
                               uint32_t ordinal, TableWriter& writer, const SegmentOptions& options)
    : environment_(environment),
      table_(table),
      generation_(generation),
      ordinal_(ordinal),
      writer_(writer),
      options_(options),
      identity_(environment.store_uuid, table),
      outline_(options_.outlines),
      index_(identity_, generation, writer, options.short_index_keys),
      block_target_(options.block_bytes) {
}

void SegmentBuilder::CutEvenly(uint64_t bytes) {
  stretch_bytes_ = bytes;
}

void SegmentBuilder::BeginBlock() {
  const uint64_t full = options_.block_bytes;
  const uint64_t blocks = std::max<uint64_t>((stretch_bytes_ + full / 2) / full, 1);
  block_target_ = stretch_bytes_ == 0 ? full : CeilDiv(stretch_bytes_, blocks);
  const uint64_t wanted = block_target_ + block_target_ / 32 + kBlockTrailerBytes;
  // A smaller one leaves half a block at least for the next.
  const uint64_t rest = full / 2;
  const uint64_t least = full * 6 / 10;
  const bool may_be_small = stretch_bytes_ >= least + rest;
  block_room_ = writer_.ChooseRoom(wanted, may_be_small ? least : wanted);
  if (block_room_ < wanted) {
    block_room_ = std::min(block_room_, stretch_bytes_ - rest);
  }
}

void SegmentBuilder::Add(std::string_view internal_key, std::string_view value, CacheStanding standing) {
  Check(internal_key.size() >= kTrailerBytes, "an internal key without a trailer");
  Check(last_key_.empty() || CompareInternalKeys(last_key_, internal_key) < 0,
        "keys of a segment out of order");
  const std::string_view user_key = UserKeyOf(internal_key);
  const bool new_user_key = last_key_.empty() || UserKeyOf(last_key_) != user_key;
  if (new_user_key && !block_.empty()) {
    // Cuts where the block's size comes nearest to the target; a user key never spans two blocks.
    const size_t without = block_.EstimatedBytes();
    const size_t with = without + BlockBuilder::EntryBytesMax(internal_key, value);
    if (without >= block_target_ || with + kBlockTrailerBytes > block_room_ ||
        (with > block_target_ && with - block_target_ > block_target_ - without)) {
      FinishBlock();
    }
  }
  if (block_.empty()) {
    BeginBlock();
  }
  stretch_bytes_ -= std::min(stretch_bytes_, internal_key.size() + value.size());
  if (block_.empty()) {
    block_smallest_ = user_key;
  }
  block_.Add(internal_key, value);
  outline_.Add(internal_key, value);
  const uint64_t bytes = internal_key.size() + value.size();
  cached_bytes_ += standing == CacheStanding::kAbsent ? 0 : bytes;
  proven_bytes_ += standing == CacheStanding::kProven ? bytes : 0;
  if (new_user_key && options_.bits_per_key > 0) {
    filter_.Add(Hash64(user_key));
  }
  const SequenceNumber sequence = SequenceOf(internal_key);
  if (descriptor_.entries == 0) {
    descriptor_.smallest = internal_key;
  }
  if (descriptor_.entries == 0 && !before_) {
    descriptor_.smallest_sequence = sequence;
    descriptor_.largest_sequence = sequence;
  }
  descriptor_.smallest_sequence = std::min(descriptor_.smallest_sequence, sequence);
  descriptor_.largest_sequence = std::max(descriptor_.largest_sequence, sequence);
  ++descriptor_.entries;
  descriptor_.tombstones += KindOf(internal_key) == RecordKind::kTombstone ? 1 : 0;
  last_key_ = internal_key;
}

void SegmentBuilder::MendSegment(const SegmentDescriptor& before) {
  before_ = before;
  descriptor_.smallest_sequence = before.smallest_sequence;
  descriptor_.largest_sequence = before.largest_sequence;
}

void SegmentBuilder::Keep(IndexEntry entry, IndexKeyBytes key_bytes_min) {
  Check(before_.has_value(), "a block can only be kept of a segment that is mended");
  Check(last_key_.empty() || UserKeyOf(last_key_) < entry.smallest, "a kept block is out of order");
  if (!block_.empty()) {
    FinishBlock();
  }
  // The index knows user keys only: what is not an end of the segment before is bounded.
  if (descriptor_.entries == 0) {
    descriptor_.smallest = before_->smallest_user_key() == entry.smallest
                               ? before_->smallest
                               : SeekKey(entry.smallest, kSequenceNumberMax);
  }
  last_key_.clear();
  if (before_->largest_user_key() == entry.largest) {
    last_key_ = before_->largest;
  } else {
    AppendLastKeyOf(last_key_, entry.largest);
  }
  descriptor_.entries += entry.entries;
  kept_entries_ += entry.entries;
  ++descriptor_.data_blocks;
  if (entry.is_span) {
    span_blocks_.push_back(entry.block);
  } else {
    descriptor_.data_bytes += entry.block.bytes;
  }
  index_.Add(std::move(entry), key_bytes_min);
}

void SegmentBuilder::FinishBlock() {
  IndexEntry entry;
  entry.entries = block_.entries();
  std::string& block = block_.Finish();
  entry.outline = outline_.Take(block.size());
  entry.block = WriteBlock(writer_, block, identity_, BlockKind::kData, generation_);
  CacheAsSuccessor(entry.block, block);
  entry.smallest = std::move(block_smallest_);
  entry.largest = UserKeyOf(last_key_);
  ++descriptor_.data_blocks;
  descriptor_.data_bytes += block.size();
  new_data_bytes_ += block.size();
  index_.Add(std::move(entry));
  block_.Reset();
}

void SegmentBuilder::CacheAsSuccessor(const BlockHandle& handle, std::string_view block) {
  const double share_min = options_.cached_share_min * static_cast<double>(block.size());
  if (cached_bytes_ > 0 && static_cast<double>(cached_bytes_) >= share_min) {
    environment_.cache.InsertSuccessor(
        CacheKeyOf(table_, handle), BlockRef::CopyOf(block),
        2 * proven_bytes_ >= block.size() ? CacheStanding::kProven : CacheStanding::kOnTrial);
    is_cached_ = true;
  }
  cached_bytes_ = 0;
  proven_bytes_ = 0;
}

uint64_t SegmentBuilder::EstimatedBytes() const {
  if (descriptor_.entries == 0) {
    return 0;
  }
  const uint64_t filter = FilterBuilder::BytesFor(filter_.keys(), FilterBitsPerKey(), FilterReserve());
  return writer_.table_offset() + block_.EstimatedBytes() + IndexShareBytes(last_key_) +
         index_.pending_bytes() + filter + sizeof(FooterHead);
}

bool SegmentBuilder::CanCutBefore(std::string_view user_key) const {
  return last_key_.empty() || UserKeyOf(last_key_) != user_key;
}

// Of all false positives of a table's filters each segment has the share that its entries are of the table's:
// so they are fewest for the memory (Dayan, Athanassoulis, Idreos, "Monkey", section 4.1). A rate that is
// lower by a factor f takes ln f / ln²2 bits more a key.
double SegmentBuilder::FilterBitsPerKey() const {
  if (options_.entries_beside == 0 || options_.bits_per_key == 0 || filter_.keys() == 0) {
    return options_.bits_per_key;
  }
  const auto keys = static_cast<double>(filter_.keys());
  const double fewer = (keys + static_cast<double>(options_.entries_beside)) / keys;
  const double more = std::log(fewer) / (std::numbers::ln2 * std::numbers::ln2);
  return options_.bits_per_key + std::min(more, kMoreBitsPerKeyMax);
}

double SegmentBuilder::FilterReserve() const {
  if (options_.filter_share_max == 0 || options_.filter_reserve == 0 || filter_.keys() == 0) {
    return options_.filter_reserve;
  }
  const double without = static_cast<double>(filter_.keys()) * FilterBitsPerKey() / 8;
  const double allowed = options_.filter_share_max * static_cast<double>(descriptor_.data_bytes);
  return std::clamp(allowed / without - 1, 0.0, options_.filter_reserve);
}

uint64_t SegmentBuilder::AddedHotness() const {
  return options_.hotness == nullptr ? 0 : options_.hotness->SumOf(filter_.hashes());
}

Task<void> SegmentBuilder::BuildFilter() {
  if (!block_.empty()) {
    FinishBlock();
  }
  built_filter_ = filter_.Begin(FilterBitsPerKey(), FilterReserve());
  for (size_t first = 0; first < filter_.keys(); first += kFilterKeysAtOnce) {
    if (first > 0) {
      co_await Executor::Current().Yield();
    }
    filter_.Insert(first, kFilterKeysAtOnce, *built_filter_);
  }
}

SegmentDescriptor SegmentBuilder::Finish() {
  Check(descriptor_.entries > 0, "a segment without entries");
  if (!block_.empty()) {
    FinishBlock();
  }
  descriptor_.live_bytes = descriptor_.data_bytes;
  descriptor_.hotness = std::min(AddedHotness(), KeyHotness::MostOf(descriptor_.entries));
  FilterBuilder::Image filter =
      built_filter_ ? std::move(*built_filter_) : filter_.Build(FilterBitsPerKey(), FilterReserve());
  descriptor_.filter = filter.descriptor;
  std::vector<BlockHandle> pages;
  pages.reserve(filter.pages.size());
  for (std::string& page : filter.pages) {
    pages.push_back(WriteGuide(page, BlockKind::kFilter));
    descriptor_.meta_bytes += page.size();
  }
  return WriteIndexAndFooter(filter.geometry, pages);
}

SegmentDescriptor SegmentBuilder::FinishMended(MendedFilter filter, uint64_t kept_tombstones,
                                               uint64_t kept_live_bytes) {
  Check(before_.has_value() && descriptor_.entries > 0,
        "what was not mended, or is empty, has no mended filter");
  if (!block_.empty()) {
    FinishBlock();
  }
  CountSpanBlocks();
  descriptor_.live_bytes = std::min(kept_live_bytes + new_data_bytes_, descriptor_.data_bytes);
  descriptor_.tombstones += kept_tombstones;
  const double kept_hotness =
      static_cast<double>(before_->hotness) * ShareOf(kept_entries_, before_->entries);
  const uint64_t most = KeyHotness::MostOf(descriptor_.entries);
  descriptor_.hotness = static_cast<uint64_t>(std::min(kept_hotness, static_cast<double>(most)));
  descriptor_.hotness = std::min(descriptor_.hotness + AddedHotness(), most);
  descriptor_.filter = before_->filter;
  descriptor_.filter.insertions += filter.insertions;
  for (auto& [page, bytes] : filter.changed) {
    filter.pages[page] = WriteGuide(bytes, BlockKind::kFilter);
  }
  for (const BlockHandle& page : filter.pages) {
    descriptor_.meta_bytes += page.bytes;
  }
  return WriteIndexAndFooter(filter.geometry, filter.pages);
}

// Each once, however many spans it has.
void SegmentBuilder::CountSpanBlocks() {
  const auto lies_before = [](const BlockHandle& a, const BlockHandle& b) {
    return a.table_offset < b.table_offset;
  };
  std::sort(span_blocks_.begin(), span_blocks_.end(), lies_before);
  span_blocks_.erase(std::unique(span_blocks_.begin(), span_blocks_.end()), span_blocks_.end());
  for (const BlockHandle& block : span_blocks_) {
    descriptor_.data_bytes += block.bytes;
  }
}

BlockHandle SegmentBuilder::WriteGuide(std::string& block, BlockKind kind) {
  const BlockHandle handle = WriteBlock(writer_, block, identity_, kind, generation_);
  if (is_cached_) {
    environment_.cache.Insert(CacheKeyOf(table_, handle), kind, BlockRef::CopyOf(block));
  }
  return handle;
}

SegmentDescriptor SegmentBuilder::WriteIndexAndFooter(const FilterGeometry& geometry,
                                                      const std::vector<BlockHandle>& pages) {
  descriptor_.largest = last_key_;
  const IndexBuilder::Root root = index_.Finish();
  descriptor_.meta_bytes += index_.written_bytes();
  writer_.PadToSector();
  std::string footer;
  AppendFooter(footer, environment_.store_uuid, table_, generation_, ordinal_, descriptor_, geometry, pages,
               root.payload, root.levels,
               options_.short_index_keys ? kFooterVersion : kFooterVersionOfWholeKeys);
  descriptor_.footer = WriteGuide(footer, BlockKind::kFooter);
  descriptor_.meta_bytes += footer.size();
  return std::move(descriptor_);
}

}  // namespace varve
