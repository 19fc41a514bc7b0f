#include "engine/table/segment_iterator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/internal_key.h"
#include "engine/table/table_format.h"

namespace varve {

SegmentIterator::SegmentIterator(const TableEnvironment& environment, const TableView& view,
                                 const SegmentDescriptor& segment, TableIteratorOptions options)
    : environment_(environment),
      view_(view),
      segment_(segment),
      options_(options),
      readahead_(options.readahead_bytes, options.sequential, options.first_read_bytes),
      ahead_(environment_, view_, segment_, options_) {
}

Step SegmentIterator::Seek(std::string_view internal_key) {
  return StartDescent(Goal::kAtOrAfter, internal_key);
}

Step SegmentIterator::SeekForPrev(std::string_view internal_key) {
  return StartDescent(Goal::kAtOrBefore, internal_key);
}

Step SegmentIterator::SeekToFirst() {
  return StartDescent(Goal::kFirst, {});
}

Step SegmentIterator::SeekToLast() {
  return StartDescent(Goal::kLast, {});
}

Step SegmentIterator::Next() {
  data_.Next();
  if (data_.Valid()) {
    return CheckRecord();
  }
  if (data_.corrupt()) {
    FailCorrupt(data_offset_, "a data block is malformed");
    return Step::kDone;
  }
  return LeaveBlock(true) && AdvancePath() ? Descend() : Step::kDone;
}

Step SegmentIterator::Prev() {
  data_.Prev();
  if (data_.Valid()) {
    return CheckRecord();
  }
  if (data_.corrupt()) {
    FailCorrupt(data_offset_, "a data block is malformed");
    return Step::kDone;
  }
  return LeaveBlock(false) && RetreatPath() ? Descend() : Step::kDone;
}

Task<void> SegmentIterator::Load() {
  while (missing_) {
    Result<BlockRef> block = co_await LoadWanted();
    missing_ = false;
    if (!block.ok()) {
      Fail(block.error());
      if (!PassOver()) {
        co_return;
      }
    } else {
      provided_ = std::move(block).value();
    }
    if (Descend() == Step::kDone) {
      co_return;
    }
  }
}

Step SegmentIterator::StartDescent(Goal goal, std::string_view target) {
  status_ = OkStatus();
  data_.Clear();
  missing_ = false;
  provided_ = BlockRef();
  readahead_.Jump();
  ahead_.Jump();
  goal_ = goal;
  target_ = target;
  chosen_ = false;
  edge_.clear();
  if (path_.size() > 1) {
    path_.resize(1);
  }
  if (segment_.range_tombstones) {
    Fail(Unsupported(fmt::format("table {} has range tombstones", view_.id.value)));
    return Step::kDone;
  }
  return Descend();
}

Step SegmentIterator::Descend() {
  bool goes_on = true;
  while (goes_on && !data_.Valid()) {
    if (path_.empty()) {
      goes_on = OpenFooter() || PassOver();
      continue;
    }
    if (!chosen_) {
      goes_on = ChooseEntry() || PassOver();
      continue;
    }
    const std::optional<IndexBlock::Entry> entry = path_.back().index.At(path_.back().at);
    if (!entry) {
      FailCorrupt(wanted_.table_offset, "an index block is malformed");
      return Step::kDone;
    }
    if (EndsBefore(*entry)) {
      return Step::kDone;
    }
    goes_on = path_.size() < footer_.index_levels() ? OpenChildIndex(entry->block) : OpenData(*entry);
    goes_on = goes_on || PassOver();
  }
  if (missing_) {
    return Step::kNeedsIo;
  }
  return data_.Valid() ? CheckRecord() : Step::kDone;
}

bool SegmentIterator::OpenFooter() {
  BlockRef block = Fetch(segment_.footer, BlockKind::kFooter);
  if (!block) {
    return false;
  }
  const std::optional<SegmentFooter> footer = SegmentFooter::Parse(PayloadOf(block.bytes()));
  if (!footer) {
    FailCorrupt(segment_.footer.table_offset, "a segment footer is malformed");
    return false;
  }
  footer_ = *footer;
  path_.reserve(footer_.index_levels());
  path_.push_back(CursorOf(std::move(block), footer_.root()));
  return true;
}

bool SegmentIterator::ChooseEntry() {
  Cursor& cursor = path_.back();
  if (goal_ == Goal::kFirst || goal_ == Goal::kLast) {
    cursor.at = goal_ == Goal::kFirst ? 0 : cursor.index.size() - 1;
    chosen_ = true;
    return true;
  }
  const std::optional<uint32_t> found = cursor.index.LowerBound(UserKeyOf(target_));
  const bool beyond = found && *found == cursor.index.size();
  if (!found || (beyond && path_.size() > 1)) {
    // The level above says that this block reaches the target.
    FailCorrupt(wanted_.table_offset, "an index block is malformed");
    return false;
  }
  if (beyond && goal_ == Goal::kAtOrAfter) {
    return false;
  }
  if (beyond) {
    goal_ = Goal::kLast;
  }
  cursor.at = beyond ? cursor.index.size() - 1 : *found;
  chosen_ = true;
  return true;
}

bool SegmentIterator::OpenChildIndex(const BlockHandle& handle) {
  if (options_.outlines && path_.back().at % (kIndexBlocksAhead / 2) == 0) {
    ReadIndexAhead();
  }
  BlockRef block = Fetch(handle, BlockKind::kIndex);
  if (!block) {
    return false;
  }
  const std::optional<IndexBlock> index = IndexBlock::Parse(PayloadOf(block.bytes()));
  if (!index) {
    FailCorrupt(handle.table_offset, "an index block is malformed");
    return false;
  }
  path_.push_back(CursorOf(std::move(block), *index));
  ahead_.EnterLeaf();
  chosen_ = false;
  return true;
}

void SegmentIterator::OpenOutline(const IndexBlock::Entry& entry) {
  // The outline lies in the index block, which the path may leave before the walk has left the outline.
  data_block_ = path_.back().block;
  open_block_ = BlockHandle();
  standing_ = CacheStanding::kAbsent;
  data_.Reset(entry.outline, std::nullopt);
}

bool SegmentIterator::OpenData(const IndexBlock::Entry& entry) {
  if (WalksByOutline(options_, entry)) {
    OpenOutline(entry);
    data_offset_ = entry.block.table_offset;
    return PositionInData();
  }
  // Spans of one block often follow each other, with records between them that came later.
  const bool is_open = entry.is_span && data_block_ && open_block_ == entry.block && !provided_;
  if (!is_open) {
    BlockRef block = Fetch(entry.block, BlockKind::kData);
    if (!block) {
      return false;
    }
    data_block_ = std::move(block);
    open_block_ = entry.block;
    if (ahead_.is_on() && !goes_backwards()) {
      ahead_.MoveTo(PlaceAhead(entry.block));
    }
    if (options_.notice_standing) {
      standing_ = environment_.cache.StandingOf(CacheKeyOf(view_.id, entry.block));
    }
  }
  std::optional<EntrySpan> span;
  if (entry.is_span) {
    IndexEntry copy = path_.back().index.Copy(entry);
    span = EntrySpan{std::move(copy.smallest), std::move(copy.largest)};
  }
  data_offset_ = entry.block.table_offset;
  data_.Reset(PayloadOf(data_block_.bytes()), std::move(span));
  return PositionInData();
}

bool SegmentIterator::PositionInData() {
  switch (goal_) {
    case Goal::kFirst:
      data_.SeekToFirst();
      break;
    case Goal::kLast:
      data_.SeekToLast();
      break;
    case Goal::kAtOrAfter:
      data_.Seek(target_);
      break;
    case Goal::kAtOrBefore:
      data_.SeekForPrev(target_);
      break;
  }
  if (data_.corrupt()) {
    FailCorrupt(data_offset_, "a data block is malformed");
    return false;
  }
  if (data_.Valid()) {
    return edge_.empty() || EnterBlock(goal_ == Goal::kFirst);
  }
  if (data_.span() && goal_ != Goal::kAtOrAfter && goal_ != Goal::kAtOrBefore) {
    FailCorrupt(data_offset_, "a span holds no record");
    return false;
  }
  // The largest key of the block is the target's, but an older version; or all of the block is after the
  // target.
  edge_ = target_;
  return goal_ == Goal::kAtOrAfter ? AdvancePath() : RetreatPath();
}

bool SegmentIterator::LeaveBlock(bool forward) {
  if (const std::optional<EntrySpan>& span = data_.span()) {
    // Beyond the span's end, or at the block's: either way what follows lies beyond the span.
    edge_ = forward ? LastKeyOf(span->largest) : SeekKey(span->smallest, kSequenceNumberMax);
    return true;
  }
  const int order = edge_.empty() ? 0 : CompareInternalKeys(data_.key(), edge_);
  if (forward ? order < 0 : order > 0) {
    FailCorrupt(data_offset_, "entries of a block are out of order");
    return false;
  }
  edge_ = data_.key();
  return true;
}

bool SegmentIterator::EnterBlock(bool forward) {
  const int order = CompareInternalKeys(data_.key(), edge_);
  if (forward ? order <= 0 : order >= 0) {
    FailCorrupt(data_offset_, "blocks are out of order");
    return false;
  }
  edge_ = data_.key();
  return true;
}

bool SegmentIterator::AdvancePath() {
  while (path_.size() > 1 && path_.back().at + 1 >= path_.back().index.size()) {
    path_.pop_back();
  }
  if (path_.back().at + 1 >= path_.back().index.size()) {
    return false;
  }
  ++path_.back().at;
  goal_ = Goal::kFirst;
  chosen_ = true;
  return true;
}

bool SegmentIterator::RetreatPath() {
  while (path_.size() > 1 && path_.back().at == 0) {
    path_.pop_back();
  }
  if (path_.back().at == 0) {
    return false;
  }
  --path_.back().at;
  goal_ = Goal::kLast;
  chosen_ = true;
  return true;
}

bool SegmentIterator::PassOver() {
  if (!options_.pass_over_damage || !status_.Is(ErrorCode::kCorruption)) {
    return false;
  }
  // More often than there are blocks: indexes name the same ones again and again.
  if (++passed_over_ > view_.used_bytes / kBlockTrailerBytes) {
    return false;
  }
  status_ = OkStatus();
  // Without its footer nothing of the segment can be found.
  if (path_.empty()) {
    return false;
  }
  return goal_ == Goal::kFirst || goal_ == Goal::kAtOrAfter ? AdvancePath() : RetreatPath();
}

Step SegmentIterator::CheckRecord() {
  const RecordKind kind = KindOf(data_.key());
  if (kind == RecordKind::kTombstone || kind == RecordKind::kValue) [[likely]] {
    return Step::kDone;
  }
  if (kind == RecordKind::kRangeTombstone || kind == RecordKind::kLargeValuePointer) {
    Fail(
        Unsupported(fmt::format("table {} has a record of kind {}", view_.id.value, static_cast<int>(kind))));
  } else {
    FailCorrupt(data_offset_, "a record has an unknown kind");
  }
  return Step::kDone;
}

bool SegmentIterator::EndsBefore(const IndexBlock::Entry& entry) const {
  const Cursor& cursor = path_.back();
  return cursor.at >= cursor.walk_end.may_end_from && !goes_backwards() && !options_.last_key.empty() &&
         cursor.index.StartsAfter(entry, options_.last_key);
}

SegmentIterator::Cursor SegmentIterator::CursorOf(BlockRef block, const IndexBlock& index) const {
  return {std::move(block), index, 0, WalkEndIn(options_, index)};
}

void SegmentIterator::Fail(Error error) {
  data_.Clear();
  status_ = std::move(error);
}

void SegmentIterator::FailCorrupt(uint64_t table_offset, std::string_view what) {
  Fail(TableCorruption(view_.id, table_offset, what));
}

}  // namespace varve
