// How hot a table is: which of its data blocks readers have in the cache, and what of the table is worth
// being kept for them. Goes by what is in the cache alone: it reads nothing, and leaves the cache as it is.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/base/key_range.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_holes.h"
#include "engine/table/table_view.h"
#include "engine/version/key_spans.h"

namespace varve {

// Blocks in a row that are kept or given up as one: an allocation unit's worth of the usual size. LSbM keeps
// files of a "super-file" (section 4.3).
inline constexpr size_t kBlocksAPart = 16;

// One data block of a segment, or a block of its index that is not cached: what that names is not known, and
// cold.
struct BlockHeat {
  KeyRange range;
  BlockHandle block;
  bool hot = false;
  bool is_index = false;
};

struct SegmentHeat {
  // In key order, disjoint.
  std::vector<BlockHeat> blocks;
  // Where footer, index and filter lie.
  std::vector<TableRange> meta;
};

// Whether the readers of a key are served by something that is about to go away: then the block that holds
// it is as good as cached, since they will come for it.
using IsServed = std::function<bool(std::string_view user_key)>;

// Of the newest segment of a view. nullopt where its footer is not cached, or is damaged. `served` may be
// empty: nothing is.
std::optional<SegmentHeat> HeatOf(const TableEnvironment& environment, const TableView& view,
                                  const IsServed& served);

// Of `within`, the keys of the parts of which the share `hot_share` is hot (LSbM's threshold, section 4.2). A
// part is kBlocksAPart blocks in a row that hold keys of `within`, fewer at the end of what is known.
KeySpans HotKeys(const SegmentHeat& heat, const KeySpans& within, double hot_share);

// What a buffer keeps of a table.
struct KeptPart {
  // None: nothing.
  KeySpans kept;
  // Engaged where the table gives extents back that none of `kept` needs: its next generation.
  std::optional<TableView> view;
};

// What of `within`, which lies in the view's range, is hot. A table of one segment is judged by parts and
// gives back what they leave; one of several is kept whole or not at all. A `hot_share` of 0: all is hot,
// without looking.
KeptPart HotPartOf(const TableEnvironment& environment, const TableView& view, const KeySpans& within,
                   const IsServed& served, double hot_share);
// The same of a view whose blocks have not had the time to be read: keeps all of `within`, and gives back
// what that leaves.
KeptPart WholePartOf(const TableEnvironment& environment, const TableView& view, const KeySpans& within);

}  // namespace varve
