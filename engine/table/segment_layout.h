// SegmentLayout: what a segment's footer and index say, as a whole and in memory: what a merge needs that
// mends a segment instead of rewriting it.
#pragma once

#include <vector>

#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "engine/table/filter.h"
#include "engine/table/index_block.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_holes.h"
#include "engine/table/table_view.h"

namespace varve {

struct SegmentLayout {
  // Data blocks in key order, disjoint.
  std::vector<IndexEntry> blocks;
  // Those of the index below its root, in no order.
  std::vector<BlockHandle> index_blocks;
  FilterGeometry filter;
  std::vector<BlockHandle> filter_pages;
  BlockHandle footer;

  // All blocks of the segment and where they lie, in no order; a block as often as it has spans.
  std::vector<BlockHandle> AllBlocks() const;
  std::vector<TableRange> UsedRanges() const;
};

// Reads the footer and the index of segment `ordinal` of `view`, from the cache where they are in it; what
// comes from the device does not enter the cache. Blocks of one level of the index are read together, a few
// at a time. Memory: what the whole index holds, some 100 bytes a data block. Errors: kCorruption (also where
// footer, index and view do not agree), kDeviceError. All must outlive the Task.
Task<Result<SegmentLayout>> ReadSegmentLayout(const TableEnvironment& environment, const TableView& view,
                                              uint32_t ordinal, IoPurpose purpose);

}  // namespace varve
