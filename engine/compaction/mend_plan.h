// Which blocks of a segment a merge touches, from the segment's index alone (BlockDB, section 4.2, "dirty
// block detection"; corrected: equality is an update, and records that lie in no block are kept).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/units.h"
#include "engine/compaction/record_run.h"
#include "engine/table/index_block.h"

namespace varve {

// A stretch of the merged segment, in key order. Either blocks [first_block, end_block) stay where they are,
// and there are no records; or they are dirty (there may be none), and they are merged with the records.
struct MendStep {
  bool merges = false;
  size_t first_block = 0;
  size_t end_block = 0;
  size_t first_record = 0;
  size_t end_record = 0;

  bool operator==(const MendStep&) const = default;
};

struct MendOptions {
  // Records between two clean blocks become blocks of their own from so many bytes on (keys and values).
  uint64_t gap_bytes_min = 0;
  // Of a block, or a span, that has more the records stay that no record replaces; fewer are written anew.
  // UINT64_MAX: all are.
  uint64_t keep_bytes_min = UINT64_MAX;
  // Of the child's records on average, and of a full block.
  uint64_t record_bytes = 1;
  uint64_t block_bytes = 4 * kKiB;
};

struct MendPlan {
  // Cover all blocks and all records, each once. Neighbouring stretches differ in `merges`.
  std::vector<MendStep> steps;
  // Blocks to be written anew, and those that are split.
  uint64_t dirty_blocks = 0;
  uint64_t dirty_bytes = 0;
  uint64_t split_blocks = 0;
  // Of split blocks, what records may replace: at most.
  uint64_t replaced_bytes = 0;
  // The index's entries afterwards, about; at most, where blocks are split.
  uint64_t entries = 0;
  uint64_t keep_bytes_min = UINT64_MAX;
};

// A block is dirty when the user key of a record lies in its range. Records between two clean blocks become
// blocks of their own where they come to `gap_bytes_min`; fewer make the block before them
// dirty (the first block, where there is none) unless that is split, since each block costs an entry of the
// index. `blocks` are sorted and disjoint, `records` sorted.
MendPlan PlanMend(const std::vector<IndexEntry>& blocks, const RecordRun& records,
                  const MendOptions& options);

}  // namespace varve
