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
      if (options_.fill_cache) {
        environment_.cache.CountMiss(kind);
      }
      Result<BlockRef> block =
          AcceptBlock(environment_, view_.id, handle, kind, readahead_.window(), *at, options_.fill_cache);
      if (!block.ok()) {
        Fail(block.error());
        return {};
      }
      return std::move(block).value();
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
  return {block, leaf.index, leaf.at, above != nullptr ? &above->index : nullptr,
          above != nullptr ? above->at : 0};
}

SegmentIterator::Run SegmentIterator::RunFrom(uint64_t bytes_max) const {
  const Cursor& leaf = path_.back();
  const uint32_t end = ahead_.EndOfWalk(leaf.index);
  Run run{wanted_.end(), false};
  for (uint32_t i = leaf.at + 1; i < end; ++i) {
    const std::optional<IndexBlock::Entry> next = leaf.index.At(i);
    if (!next || WalksByOutline(options_, *next) || !HandleFits(view_, next->block) ||
        run.end - wanted_.table_offset >= bytes_max) {
      break;
    }
    run.breaks_off = next->block.table_offset != run.end;
    if (run.breaks_off || next->block.end() - wanted_.table_offset > bytes_max) {
      break;
    }
    run.end = next->block.end();
  }
  return run;
}

void SegmentIterator::ReadIndexAhead() {
  if (options_.background == nullptr || !options_.fill_cache || goes_backwards() || path_.empty()) {
    return;
  }
  const Cursor& above = path_.back();
  const uint32_t end = ahead_.EndOfWalk(above.index);
  for (uint32_t i = above.at; i < end && i - above.at < kIndexBlocksAhead; ++i) {
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
    co_await batch_.ReadAhead(environment_, view_, leaf.index, leaf.at, ahead_.EndOfWalk(leaf.index),
                              2 * plan, options_.purpose);
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
  ReadRun window = MemoryFor(environment_, RoundUp(end, sector) - start, options_.fill_cache);
  const Status read = co_await ReadTableBytes(environment_, view_, start, window.span(), options_.purpose);
  if (!read.ok()) {
    co_return read.error();
  }
  readahead_.Fill(std::move(window), start);
  if (options_.fill_cache) {
    environment_.cache.CountMiss(wanted_kind_);
  }
  co_return AcceptBlock(environment_, view_.id, wanted_, wanted_kind_, readahead_.window(),
                        wanted_.table_offset - start, options_.fill_cache);
}

}  // namespace varve
