// How a dirty block is taken apart: the records that stay where they are, as spans that the next index names,
// and those that a merge replaces. So a record that comes to a block makes only itself written, not its
// neighbours: what BlockDB's block merge (section 4.2) writes anew with it.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/compaction/record_run.h"
#include "engine/table/index_block.h"
#include "engine/table/index_keys.h"

namespace varve {

struct KeptSpan {
  // Of the records that come to the block, and of those that it gives up: how many lie before the span.
  size_t end_record = 0;
  size_t end_replaced = 0;
  IndexEntry span;
  // What tells the span from the rest of the block.
  IndexKeyBytes key_bytes_min;
};

struct BlockSplit {
  // In key order; none lies across a record that comes to the block.
  std::vector<KeptSpan> kept;
  // Of the block's bytes, the share of the records that were given up.
  uint64_t replaced_bytes = 0;
};

// Of the block with this `payload`, which `entry` names, the records whose user keys are among records
// [first, end) of `records` are added to `replaced`, all versions; or all of them, where those in the span
// come to no more than `keep_bytes_min` (keys and values). `standing` is the block's in the cache, `table` is
// for messages. Errors: kCorruption (also where the block is not what its entry says), kUnsupported.
Result<BlockSplit> SplitBlock(TableId table, const IndexEntry& entry, std::string_view payload,
                              CacheStanding standing, const RecordRun& records, size_t first, size_t end,
                              uint64_t keep_bytes_min, RecordRun& replaced);

}  // namespace varve
