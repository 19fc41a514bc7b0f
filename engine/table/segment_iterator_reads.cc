// Where a walk's blocks come from: the cache, what was read ahead, the device.

#include <algorithm>
#include <utility>

#include "engine/table/segment_iterator.h"
#include "engine/table/table_format.h"

namespace varve {

BlockRef SegmentIterator::Fetch(const BlockHandle& handle, BlockKind kind) {
  if (provided_) {
    return std::exchange(provided_, BlockRef());
  }
  // What a walk reads for itself alone it finds there before it asks the cache for each block.
  if (kind == BlockKind::kData && passing_ != nullptr && passing_->Find(handle)) {
    return TakeFromPassing(handle);
  }
  if (kind == BlockKind::kData && !options_.fill_cache) {
    if (const std::optional<uint64_t> at = readahead_.Find(handle)) {
      return TakeFromWindow(handle, *at);
    }
  }
  // First: several spans of one block count as one miss.
  if (kind != BlockKind::kData || !options_.sequential) {
    // What was read for this walk has not been hit by it.
    BlockRef block = kind == BlockKind::kData && ahead_.Covers(handle)
                         ? environment_.cache.Peek(CacheKeyOf(view_.id, handle))
                         : FindCachedBlock(environment_, view_.id, handle, kind);
    if (block) {
      return block;
    }
  }
  if (kind == BlockKind::kData) {
    if (const std::optional<uint64_t> at = readahead_.Find(handle)) {
      return TakeFromWindow(handle, *at);
    }
    BlockRef block = TakeFromBatch(handle);
    if (block) {
      return block;
    }
  }
  missing_ = true;
  wanted_ = handle;
  wanted_kind_ = kind;
  return {};
}

BlockRef SegmentIterator::TakeFromWindow(const BlockHandle& handle, uint64_t at) {
  if (options_.fill_cache) {
    environment_.cache.CountMiss(BlockKind::kData);
  }
  Result<BlockRef> block = AcceptBlock(environment_, view_.id, handle, BlockKind::kData, readahead_.window(),
                                       at, options_.fill_cache);
  if (!block.ok()) {
    Fail(block.error());
    return {};
  }
  return std::move(block).value();
}

BlockRef SegmentIterator::TakeFromPassing(const BlockHandle& handle) {
  const uint64_t at = *passing_->Find(handle);
  if (passing_->HasEnded(at, handle.bytes) && passing_->StatusOf(at, handle.bytes).ok()) {
    Result<BlockRef> block =
        AcceptBlock(environment_, view_.id, handle, BlockKind::kData, passing_->memory(), at, false);
    if (block.ok()) {
      return std::move(block).value();
    }
  }
  missing_ = true;
  wanted_ = handle;
  wanted_kind_ = BlockKind::kData;
  return {};
}

Task<Result<BlockRef>> SegmentIterator::LoadFromPassing() {
  const uint64_t at = *passing_->Find(wanted_);
  co_await passing_->Wait(at, wanted_.bytes);
  if (passing_->StatusOf(at, wanted_.bytes).ok()) {
    Result<BlockRef> block =
        AcceptBlock(environment_, view_.id, wanted_, wanted_kind_, passing_->memory(), at, false);
    if (block.ok()) {
      co_return block;
    }
  }
  // By itself: what failed may be a sector of another block, and what was read ahead may have been written
  // since.
  co_return co_await ReadBlock(environment_, view_, wanted_, wanted_kind_, options_.purpose, false);
}

void SegmentIterator::ReadOn(uint64_t end) {
  if (options_.stretch_bytes > 0) {
    // What lies between the bytes that are asked for comes on top.
    const uint64_t bytes =
        options_.stretch_bytes + options_.stretch_bytes / 16 + options_.reads_through_bytes;
    const uint64_t until = wanted_.table_offset + bytes;
    options_.background->ReadOn(environment_, view_, {wanted_.table_offset, end, noted_}, until,
                                wanted_.bytes, options_.purpose);
    noted_ = true;
  }
}

BlockRef SegmentIterator::TakeFromBatch(const BlockHandle& handle) {
  BlockRef block = batch_.Find(handle);
  if (block && options_.fill_cache) {
    environment_.cache.CountMiss(BlockKind::kData);
    environment_.cache.Insert(CacheKeyOf(view_.id, handle), BlockKind::kData,
                              BlockRef::CopyOf(block.bytes()));
  }
  return block;
}

ReadAheadWalk::Place SegmentIterator::PlaceAhead(const BlockHandle& block) const {
  const Cursor& leaf = path_.back();
  const Cursor* const above = path_.size() > 1 ? &path_[path_.size() - 2] : nullptr;
  return {block,
          leaf.index,
          leaf.at,
          leaf.walk_end.end,
          above != nullptr ? &above->index : nullptr,
          above != nullptr ? above->at : 0,
          above != nullptr ? above->walk_end.end : 0};
}

SegmentIterator::Run SegmentIterator::RunFrom(uint64_t bytes_max) const {
  const Cursor& leaf = path_.back();
  Run run{wanted_.end(), false};
  bool goes_on = Extend(run, leaf.index, leaf.at + 1, leaf.walk_end.end, bytes_max);
  if (options_.reads_through_bytes == 0 || path_.size() < 2) {
    return run;
  }
  const Cursor& above = path_[path_.size() - 2];
  for (uint32_t i = above.at + 1; i < above.walk_end.end && goes_on; ++i) {
    const std::optional<IndexBlock::Entry> next = above.index.At(i);
    if (!next || !HandleFits(view_, next->block)) {
      break;
    }
    const BlockRef block = environment_.cache.Peek(CacheKeyOf(view_.id, next->block));
    const std::optional<IndexBlock> index =
        block ? IndexBlock::Parse(PayloadOf(block.bytes())) : std::nullopt;
    goes_on = index && Extend(run, *index, 0, WalkEndIn(options_, *index).end, bytes_max);
  }
  return run;
}

bool SegmentIterator::Extend(Run& run, const IndexBlock& index, uint32_t first, uint32_t end,
                             uint64_t bytes_max) const {
  for (uint32_t i = first; i < end; ++i) {
    const std::optional<IndexBlock::Entry> next = index.At(i);
    if (!next || WalksByOutline(options_, *next) || !HandleFits(view_, next->block) ||
        run.end - wanted_.table_offset >= bytes_max) {
      return false;
    }
    run.breaks_off = next->block.table_offset < run.end ||
                     next->block.table_offset - run.end > options_.reads_through_bytes;
    if (run.breaks_off || next->block.end() - wanted_.table_offset > bytes_max) {
      return false;
    }
    run.end = next->block.end();
  }
  return end == index.size();
}

void SegmentIterator::ReadIndexAhead() {
  if (options_.background == nullptr || !options_.fill_cache || goes_backwards() || path_.empty()) {
    return;
  }
  const Cursor& above = path_.back();
  for (uint32_t i = above.at; i < above.walk_end.end && i - above.at < kIndexBlocksAhead; ++i) {
    const std::optional<IndexBlock::Entry> entry = above.index.At(i);
    if (!entry || !HandleFits(view_, entry->block)) {
      return;
    }
    const BlockKey key = CacheKeyOf(view_.id, entry->block);
    if (!environment_.cache.Peek(key) && !environment_.cache.IsBeingRead(key) &&
        !options_.background->Start(environment_, view_, {&entry->block, 1}, BlockKind::kIndex,
                                    options_.purpose)) {
      return;
    }
  }
}

Task<Result<BlockRef>> SegmentIterator::LoadWanted() {
  const bool is_data = wanted_kind_ == BlockKind::kData;
  if (wanted_kind_ == BlockKind::kIndex && options_.outlines) {
    ReadIndexAhead();
  }
  if (!is_data || !HandleFits(view_, wanted_)) {
    co_return co_await ReadBlock(environment_, view_, wanted_, wanted_kind_, options_.purpose,
                                 options_.fill_cache || (options_.fill_index && !is_data));
  }
  if (passing_ != nullptr && passing_->Find(wanted_)) {
    co_return co_await LoadFromPassing();
  }
  const bool passes = !options_.fill_cache && options_.background != nullptr && !goes_backwards();
  if (passes && options_.stretch_bytes > 0) {
    if (std::shared_ptr<PassingRead> ahead = options_.background->FindAhead(view_.id, wanted_)) {
      passing_ = std::move(ahead);
      ReadOn(wanted_.table_offset);
      co_return co_await LoadFromPassing();
    }
  }
  if (goes_backwards()) {
    readahead_.Jump();
  }
  const uint64_t plan = goes_backwards() ? 0 : readahead_.PlanBytes(wanted_);
  if (!goes_backwards()) {
    ahead_.Miss(plan);
    if (ahead_.is_on()) {
      ahead_.MoveTo(PlaceAhead(wanted_));
      if (environment_.cache.IsBeingRead(CacheKeyOf(view_.id, wanted_))) {
        co_return co_await JoinRead(environment_, view_, wanted_, wanted_kind_, options_.purpose);
      }
    }
  }
  const Run run = RunFrom(plan);
  readahead_.SetNextExpected(run.end);
  if (run.breaks_off && readahead_.goes_on()) {
    const Cursor& leaf = path_.back();
    // Of split blocks only a part is read for the walk.
    co_await batch_.ReadAhead(environment_, view_, leaf.index, leaf.at, leaf.walk_end.end, 2 * plan,
                              options_.purpose);
    BlockRef block = TakeFromBatch(wanted_);
    if (block) {
      co_return block;
    }
  }
  const uint64_t end = run.end;
  if (end == wanted_.end()) {
    co_return co_await ReadBlock(environment_, view_, wanted_, wanted_kind_, options_.purpose,
                                 options_.fill_cache);
  }
  const uint32_t sector = environment_.device.sector_bytes();
  const uint64_t start = RoundDown(wanted_.table_offset, sector);
  if (passes && end - start > PassingRead::kPieceBytes) {
    passing_ = options_.background->StartPassing(environment_, view_, start, RoundUp(end, sector) - start,
                                                 options_.purpose);
  }
  if (passes) {
    ReadOn(end);
  }
  if (passes && passing_ != nullptr && passing_->Find(wanted_)) {
    co_return co_await LoadFromPassing();
  }
  ReadRun window = MemoryFor(environment_, RoundUp(end, sector) - start, options_.fill_cache);
  const Status read = co_await ReadTableBytes(environment_, view_, start, window.span(), options_.purpose);
  if (!read.ok()) {
    // By itself: what failed may be a sector of something else.
    co_return co_await ReadBlock(environment_, view_, wanted_, wanted_kind_, options_.purpose,
                                 options_.fill_cache);
  }
  readahead_.Fill(std::move(window), start);
  if (options_.fill_cache) {
    environment_.cache.CountMiss(wanted_kind_);
  }
  co_return AcceptBlock(environment_, view_.id, wanted_, wanted_kind_, readahead_.window(),
                        wanted_.table_offset - start, options_.fill_cache);
}

}  // namespace varve
