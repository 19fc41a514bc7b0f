// ReadAheadWalk: begins reads of the blocks that a walk forward over one segment will come to, so that some
// are always under way while it goes through those that have arrived.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/base/read_ahead_marks.h"
#include "engine/table/background_reads.h"
#include "engine/table/index_block.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_reader.h"
#include "engine/table/table_view.h"

namespace varve {

// Whether the walk reads the entry's outline in place of its block.
inline bool WalksByOutline(const TableIteratorOptions& options, const IndexBlock::Entry& entry) {
  return options.outlines && !entry.outline.empty() && !entry.is_span;
}

// Where a walk forward ends among the entries of an index block, as far as the block can say.
struct WalkEnd {
  // No entry before this one lies behind all that is to be read.
  uint32_t may_end_from = 0;
  // Behind the last one to be read.
  uint32_t end = 0;
};
WalkEnd WalkEndIn(const TableIteratorOptions& options, const IndexBlock& index);

// Belongs to one iterator.
class ReadAheadWalk {
 public:
  // Where the walk stands: at a data block, which an entry of an index block names, and the entry of the
  // block above that names this one (nullptr: there is none above). Of both, where the walk ends (WalkEnd).
  struct Place {
    const BlockHandle& block;
    const IndexBlock& leaf;
    uint32_t at;
    uint32_t end;
    const IndexBlock* above;
    uint32_t above_at;
    uint32_t above_end;
  };

  // How far ahead of the walk reads are begun: as much as a device and this code have in flight at once.
  static constexpr uint64_t kDistanceBytes = 1 * kMiB;
  // A walk that has grown its reads to this size is long.
  static constexpr uint64_t kLongWalkReadBytes = 64 * kKiB;

  // All must outlive it.
  ReadAheadWalk(const TableEnvironment& environment, const TableView& view, const SegmentDescriptor& segment,
                const TableIteratorOptions& options);

  // The walk is set to another place, or turns.
  void Jump();
  // It has come to another index block.
  void EnterLeaf() {
    next_in_leaf_ = next_in_following_leaf_;
    next_in_following_leaf_ = 0;
  }
  // A block is missing: from here on it is worth reading ahead where the walk is long, as it is when its next
  // read would be of `planned_bytes`.
  void Miss(uint64_t planned_bytes);
  bool is_on() const { return on_; }
  // Begins what is due. Precondition: is_on().
  void MoveTo(const Place& place);
  // Whether a read of the block was begun, or it was there.
  bool Covers(const BlockHandle& block) const {
    return on_ && block.table_offset >= from_ && block.end() <= reached_;
  }

 private:
  // Begins reads from entry `i` of the index block on, before entry `end`, until enough is under way: answers
  // the entry that is then next. Sets `full_` when no more should be begun now.
  uint32_t ReadFrom(const IndexBlock& index, uint32_t i, uint32_t end, uint64_t until);
  // The end of what may be read together from entry `i` on; fills `run_`.
  uint32_t FindRun(const IndexBlock& index, uint32_t i, uint32_t end);
  void ReadInNextLeaf(const Place& place, uint64_t until);
  // Nothing has to be read for it.
  bool IsThere(const IndexBlock::Entry& entry) const;
  ReadAheadMarks::Source source() const;

  const TableEnvironment& environment_;
  const TableView& view_;
  const SegmentDescriptor& segment_;
  const TableIteratorOptions& options_;

  bool on_ = false;
  bool full_ = false;
  // Table offsets: reads were begun for what lies between.
  uint64_t from_ = 0;
  uint64_t reached_ = 0;
  // In the walk's own index block: the first entry that was not looked at.
  uint32_t next_in_leaf_ = 0;
  // The same of the one behind it.
  uint32_t next_in_following_leaf_ = 0;
  std::vector<BlockHandle> run_;
};

}  // namespace varve
