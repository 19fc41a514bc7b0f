// Holes: bytes within a table's stream that no block of it uses any more. A later generation of the same
// table may write there, once no generation that still reads them is alive: so block merge needs no space
// beyond what is live (docs/design/merging.md).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/table/table_view.h"

namespace varve {

// [begin, end) in table offsets.
struct TableRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  static TableRange Of(const BlockHandle& block) { return {block.table_offset, block.end()}; }

  uint64_t bytes() const { return end - begin; }
  bool operator==(const TableRange&) const = default;
};

// The whole sectors of [0, view.used_bytes) that lie in the view's extents and meet none of `used`, in order:
// blocks are not aligned to sectors. Where an extent ends, a hole ends.
std::vector<TableRange> HolesOf(const TableView& view, std::vector<TableRange> used, uint32_t sector_bytes);

// The view's extents without the allocation units that lie whole in `holes`: what a generation gives back
// that will not write there. The last unit of the table stays, since the next append begins in it.
std::vector<TableExtent> ExtentsWithout(const std::vector<TableExtent>& extents,
                                        const std::vector<TableRange>& holes, uint64_t used_bytes);

}  // namespace varve
