#include "engine/table/table_lookup.h"

#include <fmt/format.h>

#include <utility>

#include "engine/table/table_format.h"

namespace varve {

Result<TableLookup> TableLookupWalk::TakeResult() {
  if (result_.ok()) {
    result_->filters_asked = filters_asked_;
    const bool last_was_right = result_->kind != TableLookup::Kind::kAbsent && filter_passed_;
    result_->filters_misled = static_cast<uint16_t>(filters_passed_ - (last_was_right ? 1 : 0));
  }
  return std::move(result_);
}

BlockRef TableLookupWalk::Fetch(const BlockHandle& handle, BlockKind kind, HeldBlock* held) {
  if (provided_) {
    return std::exchange(provided_, BlockRef());
  }
  const BlockKey key = CacheKeyOf(view_->id, handle);
  BlockCache& cache = environment_->cache;
  BlockRef block = held != nullptr ? cache.LookupToHold(key, kind, *held) : cache.Lookup(key, kind);
  if (!block) {
    wanted_ = handle;
    wanted_kind_ = kind;
  }
  return block;
}

std::vector<BlockHandle> TableLookupWalk::BlocksBehind(uint64_t bytes) const {
  std::vector<BlockHandle> behind;
  uint64_t end = wanted_.end();
  for (uint32_t i = child_at_ + 1; i < index_.size(); ++i) {
    const std::optional<IndexBlock::Entry> next = index_.At(i);
    if (!next || !HandleFits(*view_, next->block) || next->block.table_offset != end ||
        next->block.end() - wanted_.table_offset > bytes) {
      break;
    }
    behind.push_back(next->block);
    end = next->block.end();
  }
  return behind;
}

Task<Result<BlockRef>> TableLookupWalk::ReadWanted(CacheFill fill, LookupReadahead* readahead) const {
  constexpr IoPurpose kPurpose = IoPurpose::kUserRead;
  if (readahead != nullptr && fill != CacheFill::kNothing && wanted_kind_ == BlockKind::kData) {
    std::vector<BlockHandle> behind = BlocksBehind(readahead->PlanBytes(view_->id, wanted_));
    if (!behind.empty()) {
      readahead->NoteEnd(view_->id, behind.back().end());
      return ReadBlockAndBehind(*environment_, *view_, wanted_, std::move(behind), wanted_kind_, kPurpose);
    }
  }
  const bool lone_value =
      fill == CacheFill::kAllButLoneValues && wanted_kind_ == BlockKind::kData && child_is_lone_;
  if (lone_value) {
    environment_->cache.CountMiss(wanted_kind_);
  }
  return ReadBlock(*environment_, *view_, wanted_, wanted_kind_, kPurpose,
                   fill != CacheFill::kNothing && !lone_value);
}

bool TableLookupWalk::Run(const PointQuery& query) {
  while (segments_left_ > 0) {
    Outcome outcome = Outcome::kGoOn;
    switch (stage_) {
      case Stage::kSegment:
        outcome = RunSegment(query);
        break;
      case Stage::kRange:
        outcome = RunRange(query);
        break;
      case Stage::kFilter:
        outcome = RunFilter(query);
        break;
      case Stage::kFooter:
        outcome = RunFooter();
        break;
      case Stage::kIndex:
        outcome = RunIndex(query);
        break;
      case Stage::kData:
        stopped_before_data_ = std::exchange(stop_before_data_, false);
        if (stopped_before_data_) {
          return false;
        }
        outcome = RunData(query);
        break;
    }
    if (outcome == Outcome::kNeedsBlock) {
      return false;
    }
    if (outcome == Outcome::kEnded) {
      return true;
    }
    if (outcome == Outcome::kNextSegment) {
      --segments_left_;
      stage_ = Stage::kSegment;
    }
  }
  return true;
}

TableLookupWalk::Outcome TableLookupWalk::Fail(uint64_t table_offset, std::string_view what) {
  result_ = TableCorruption(view_->id, table_offset, what);
  return Outcome::kEnded;
}

TableLookupWalk::Outcome TableLookupWalk::RunSegment(const PointQuery& query) {
  directory_ = directories_->Find(segments_left_ - 1);
  filter_passed_ = false;
  footer_block_ = BlockRef();
  stage_ = Stage::kRange;
  const char* const held = directory_ != nullptr ? directory_->HeldPageOf(query.hash) : nullptr;
  // A held filter answers sooner than the segment's range does, whose keys lie elsewhere.
  return held == nullptr ? Outcome::kGoOn : AskFilter(query, {held, directory_->geometry().page_bytes()});
}

TableLookupWalk::Outcome TableLookupWalk::RunRange(const PointQuery& query) {
  if (segment().range_tombstones) {
    result_ = Unsupported(fmt::format("table {} has range tombstones", view_->id.value));
    return Outcome::kEnded;
  }
  if (query.user_key < segment().smallest_user_key() || query.user_key > segment().largest_user_key()) {
    return Outcome::kNextSegment;
  }
  stage_ = directory_ != nullptr && !filter_passed_ ? Stage::kFilter : Stage::kFooter;
  return Outcome::kGoOn;
}

TableLookupWalk::Outcome TableLookupWalk::RunFilter(const PointQuery& query) {
  const BlockHandle& handle = directory_->PageOf(query.hash);
  HeldBlock held;
  const BlockRef page = Fetch(handle, BlockKind::kFilter, &held);
  if (!page) {
    return Outcome::kNeedsBlock;
  }
  const std::string_view payload = PayloadOf(page.bytes());
  if (payload.size() != directory_->geometry().page_bytes()) {
    return Fail(handle.table_offset, "a filter page has a wrong length");
  }
  if (held) {
    directories_->Hold(segments_left_ - 1, query.hash, std::move(held), payload);
  }
  // Unless the filter was found by way of the footer, that comes now.
  stage_ = footer_block_ ? Stage::kIndex : Stage::kFooter;
  return AskFilter(query, payload);
}

TableLookupWalk::Outcome TableLookupWalk::AskFilter(const PointQuery& query, std::string_view page) {
  ++filters_asked_;
  if (!FilterMayContain(directory_->geometry(), page, query.hash)) {
    return Outcome::kNextSegment;
  }
  ++filters_passed_;
  filter_passed_ = true;
  return Outcome::kGoOn;
}

void TableLookupWalk::EnterIndex(const SegmentFooter& footer) {
  index_ = footer.root();
  levels_left_ = footer.index_levels();
  held_below_ = directory_ != nullptr ? directory_->below_root() : nullptr;
  stage_ = Stage::kIndex;
}

TableLookupWalk::Outcome TableLookupWalk::RunFooter() {
  // Unless it was provided: somebody may have had it held since it was wanted, and what is provided must be
  // used for what it is.
  const SegmentFooter* const known = directory_ != nullptr && !provided_ ? directory_->Footer() : nullptr;
  if (known != nullptr) {
    EnterIndex(*known);
    return Outcome::kGoOn;
  }
  const BlockHandle& handle = segment().footer;
  HeldBlock held;
  BlockRef block = Fetch(handle, BlockKind::kFooter, &held);
  if (!block) {
    return Outcome::kNeedsBlock;
  }
  const std::optional<SegmentFooter> footer = SegmentFooter::Parse(PayloadOf(block.bytes()));
  if (!footer) {
    return Fail(handle.table_offset, "a segment footer is malformed");
  }
  footer_block_ = std::move(block);
  if (footer->has_filter()) {
    directory_ = &directories_->Learn(segments_left_ - 1, *footer);
    if (held) {
      directory_->HoldFooter(std::move(held), *footer);
    }
  }
  EnterIndex(*footer);
  if (footer->has_filter() && !filter_passed_) {
    stage_ = Stage::kFilter;
  }
  return Outcome::kGoOn;
}

TableLookupWalk::Outcome TableLookupWalk::RunIndex(const PointQuery& query) {
  const std::optional<uint32_t> i = index_.LowerBound(query.user_key);
  if (i && *i == index_.size()) {
    return Outcome::kNextSegment;
  }
  const bool may_be_held = i && held_below_ != nullptr && !provided_;
  if (const HeldIndex* const held = may_be_held ? held_below_->At(*i) : nullptr) {
    child_ = held->handle;
    EnterBelow(held->index, held->below.get());
    return Outcome::kGoOn;
  }
  const std::optional<IndexBlock::Entry> entry = i ? index_.At(*i) : std::nullopt;
  if (!entry) {
    return Fail(child_.table_offset, "an index block is malformed");
  }
  // The two keys of an entry tell of a gap between blocks without reading one.
  if (index_.StartsAfter(*entry, query.user_key)) {
    return Outcome::kNextSegment;
  }
  if (levels_left_ == 1) {
    child_ = entry->block;
    child_at_ = *i;
    child_is_lone_ = entry->entries == 1 && !entry->is_span;
    stage_ = Stage::kData;
    return Outcome::kGoOn;
  }
  HeldBlock held;
  BlockRef block = Fetch(entry->block, BlockKind::kIndex, held_below_ != nullptr ? &held : nullptr);
  if (!block) {
    return Outcome::kNeedsBlock;
  }
  const std::optional<IndexBlock> below = IndexBlock::Parse(PayloadOf(block.bytes()));
  if (!below) {
    return Fail(entry->block.table_offset, "an index block is malformed");
  }
  child_ = entry->block;
  if (held) {
    const bool names_data = levels_left_ == 2;
    held_below_->Hold(*i, {std::move(held), child_, *below,
                           names_data ? nullptr : std::make_unique<HeldIndexes>(below->size())});
  }
  index_block_ = std::move(block);
  EnterBelow(*below, nullptr);
  return Outcome::kGoOn;
}

void TableLookupWalk::EnterBelow(const IndexBlock& index, HeldIndexes* held_below) {
  index_ = index;
  held_below_ = held_below;
  --levels_left_;
}

TableLookupWalk::Outcome TableLookupWalk::RunData(const PointQuery& query) {
  if (depth_ == LookupDepth::kBlock) {
    TableLookup lookup;
    lookup.kind = TableLookup::Kind::kInBlock;
    result_ = std::move(lookup);
    return Outcome::kEnded;
  }
  BlockRef block = Fetch(child_, BlockKind::kData);
  if (!block) {
    return Outcome::kNeedsBlock;
  }
  const FoundVersion found = FindInDataBlock(PayloadOf(block.bytes()), query.user_key, query.snapshot);
  if (found.kind == FoundVersion::Kind::kCorrupt) {
    return Fail(child_.table_offset, "a data block is malformed");
  }
  if (found.kind == FoundVersion::Kind::kAbsent) {
    return Outcome::kNextSegment;
  }
  return Answer(found, std::move(block));
}

TableLookupWalk::Outcome TableLookupWalk::Answer(const FoundVersion& found, BlockRef block) {
  TableLookup lookup;
  lookup.sequence = SequenceNumber(found.trailer >> 8);
  switch (static_cast<RecordKind>(found.trailer & 0xff)) {
    case RecordKind::kTombstone:
      lookup.kind = TableLookup::Kind::kTombstone;
      break;
    case RecordKind::kValue:
      lookup.kind = TableLookup::Kind::kValue;
      lookup.value = std::move(block).Pin(found.value);
      break;
    case RecordKind::kRangeTombstone:
    case RecordKind::kLargeValuePointer:
      result_ =
          Unsupported(fmt::format("table {} has a record of kind {}", view_->id.value, found.trailer & 0xff));
      return Outcome::kEnded;
    default:
      return Fail(child_.table_offset, "a record has an unknown kind");
  }
  result_ = std::move(lookup);
  return Outcome::kEnded;
}

}  // namespace varve
