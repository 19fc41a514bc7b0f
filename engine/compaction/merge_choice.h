// How a merge treats one child table, as data: a pure function of what is known of the table and of the
// records that come down to it (docs/design/merging.md has the cost model).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/table/table_view.h"

namespace varve {

enum class ChildMerge : uint8_t {
  kKeep,    // no record comes down: it stays as it is
  kTable,   // child and records are written as new tables
  kBlock,   // only the blocks that records touch are written anew (BlockDB)
  kAppend,  // the records become one more segment (LSMA)
};
inline constexpr size_t kChildMerges = 4;
std::string_view ChildMergeName(ChildMerge merge);

// Of a level. All shares are of the child's live bytes.
struct MergeLimits {
  bool block = false;
  bool append = false;
  // What a table may hold that is neither live nor its newest meta: dead blocks, and records that newer
  // segments shadow.
  double wasted_share_max = 1.0;
  // A block merge that writes more than this share of the live bytes anew pays less than it costs later.
  double dirty_share_max = 0.9;
  // In tables of the level's size: beyond it a table is written as several.
  double growth_max = 3;
  size_t segments_max = kSegmentsMax;
  // For a table that is read much.
  size_t segments_max_read = 4;
  // Of the bytes that a block merge leaves dead, how many no later generation can write again: holes are
  // whole sectors, and blocks are not.
  double holes_lost_share = 0.3;
};

// What a block merge would do, from the index.
struct DirtyFacts {
  // Of the child, to be written anew.
  uint64_t bytes = 0;
  // In what is not written anew: records that others replace, at most.
  uint64_t replaced_bytes = 0;
  // The index's entries afterwards.
  uint64_t index_entries = 0;
};

struct ChildFacts {
  uint64_t table_bytes = 0;   // the level's
  uint64_t block_bytes = 0;   // a full block
  uint64_t wasted_bytes = 0;  // TableView::wasted_bytes
  uint64_t live_bytes = 0;
  uint64_t meta_bytes = 0;
  uint64_t data_bytes = 0;
  uint64_t data_blocks = 0;
  size_t segments = 1;
  // Of the only segment; without meaning where there are several.
  FilterDescriptor filter;
  bool read_much = false;

  // Of the records: keys and values.
  uint64_t record_bytes = 0;
  uint64_t records = 0;
  // Nothing where the child has several segments, or the records are too many to be held against its index.
  std::optional<DirtyFacts> dirty;

  static ChildFacts Of(const TableView& child);
  // Of the only segment: on average.
  uint64_t IndexEntryBytes() const;
};

struct MergeCosts {
  // Bytes, of now and of what it makes necessary later; nothing: it may not be done.
  std::optional<double> table;
  std::optional<double> block;
  std::optional<double> append;
};

MergeCosts CostsOf(const ChildFacts& child, const MergeLimits& limits);
// The cheapest; a table merge among equals.
ChildMerge ChooseMerge(const ChildFacts& child, const MergeLimits& limits);

}  // namespace varve
