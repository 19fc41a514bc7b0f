#include "engine/table/read_ahead_walk.h"

#include <algorithm>
#include <optional>

#include "engine/table/block_reader.h"
#include "engine/table/table_format.h"

namespace varve {

WalkEnd WalkEndIn(const TableIteratorOptions& options, const IndexBlock& index) {
  const std::optional<uint32_t> last =
      options.last_key.empty() ? std::nullopt : index.LowerBound(options.last_key);
  // Entries whose largest key is below the last one begin below it, too.
  return last ? WalkEnd{*last, std::min(*last + 1, index.size())} : WalkEnd{0, index.size()};
}

ReadAheadWalk::ReadAheadWalk(const TableEnvironment& environment, const TableView& view,
                             const SegmentDescriptor& segment, const TableIteratorOptions& options)
    : environment_(environment), view_(view), segment_(segment), options_(options) {
  if (options_.background != nullptr && options_.fill_cache && options_.marks != nullptr) {
    reached_ = options_.marks->Of(source());
    on_ = reached_ != 0;
  }
}

ReadAheadMarks::Source ReadAheadWalk::source() const {
  return {view_.id, segment_.footer.table_offset};
}

void ReadAheadWalk::Jump() {
  next_in_leaf_ = 0;
  next_in_following_leaf_ = 0;
  from_ = 0;
  // The first place of an iterator that goes on is where the marks are; what lies elsewhere MoveTo corrects.
}

void ReadAheadWalk::Miss(uint64_t planned_bytes) {
  if (!on_ && options_.background != nullptr && options_.fill_cache &&
      (options_.goes_on || planned_bytes >= kLongWalkReadBytes)) {
    on_ = true;
    reached_ = 0;
  }
}

void ReadAheadWalk::MoveTo(const Place& place) {
  const uint64_t here = place.block.table_offset;
  if (from_ == 0) {
    from_ = here;
  }
  if (reached_ < here || reached_ > here + kDistanceBytes + BackgroundReads::kReadBytesMax) {
    from_ = here;
    reached_ = here;
    next_in_leaf_ = 0;
    next_in_following_leaf_ = 0;
  }
  const uint64_t until = here + kDistanceBytes;
  // A whole read is due.
  if (reached_ + BackgroundReads::kReadBytesMax > until) {
    return;
  }
  full_ = false;
  next_in_leaf_ = ReadFrom(place.leaf, std::max(next_in_leaf_, place.at), place.end, until);
  if (!full_ && next_in_leaf_ == place.leaf.size()) {
    ReadInNextLeaf(place, until);
  }
  if (options_.marks != nullptr) {
    options_.marks->Set(source(), reached_);
  }
}

uint32_t ReadAheadWalk::ReadFrom(const IndexBlock& index, uint32_t i, uint32_t end, uint64_t until) {
  full_ = end < index.size();
  while (i < end) {
    const std::optional<IndexBlock::Entry> entry = index.At(i);
    // Spans of a block, and blocks that a merge has put elsewhere, are read as the walk comes to them.
    if (!entry || entry->is_span || !HandleFits(view_, entry->block) || reached_ >= until) {
      full_ = true;
      return i;
    }
    if (entry->block.end() <= reached_) {
      ++i;
      continue;
    }
    if (IsThere(*entry)) {
      reached_ = entry->block.end();
      ++i;
      continue;
    }
    const uint32_t next = FindRun(index, i, end);
    if (!options_.background->Start(environment_, view_, run_, BlockKind::kData, options_.purpose)) {
      full_ = true;
      return i;
    }
    reached_ = run_.back().end();
    i = next;
  }
  return i;
}

uint32_t ReadAheadWalk::FindRun(const IndexBlock& index, uint32_t i, uint32_t end) {
  run_.clear();
  for (; i < end; ++i) {
    const std::optional<IndexBlock::Entry> entry = index.At(i);
    if (!entry ||
        (!run_.empty() && (entry->is_span || !HandleFits(view_, entry->block) ||
                           entry->block.table_offset != run_.back().end() ||
                           entry->block.end() - run_.front().table_offset > BackgroundReads::kReadBytesMax ||
                           IsThere(*entry)))) {
      break;
    }
    run_.push_back(entry->block);
  }
  return i;
}

void ReadAheadWalk::ReadInNextLeaf(const Place& place, uint64_t until) {
  if (place.above == nullptr || place.above_at + 1 >= place.above_end) {
    return;
  }
  const std::optional<IndexBlock::Entry> next = place.above->At(place.above_at + 1);
  if (!next || !HandleFits(view_, next->block)) {
    return;
  }
  const BlockRef block = environment_.cache.Peek(CacheKeyOf(view_.id, next->block));
  if (!block) {
    if (!environment_.cache.IsBeingRead(CacheKeyOf(view_.id, next->block))) {
      options_.background->Start(environment_, view_, {&next->block, 1}, BlockKind::kIndex, options_.purpose);
    }
    return;
  }
  if (const std::optional<IndexBlock> index = IndexBlock::Parse(PayloadOf(block.bytes()))) {
    const uint32_t end = WalkEndIn(options_, *index).end;
    next_in_following_leaf_ = ReadFrom(*index, next_in_following_leaf_, end, until);
  }
}

bool ReadAheadWalk::IsThere(const IndexBlock::Entry& entry) const {
  return WalksByOutline(options_, entry) ||
         static_cast<bool>(environment_.cache.Peek(CacheKeyOf(view_.id, entry.block)));
}

}  // namespace varve
