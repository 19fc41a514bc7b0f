// TableView: one immutable generation of a table, as the manifest holds it. It is all that stays in memory of
// an open table; footers, indexes, filters and data go through the block cache.
//
// A table is a byte space of its own: offsets below are *table offsets*, which the extents map to the device.
// An append (block merge, append merge) makes a view of the same id and the next generation that names more
// bytes, and leaves every byte that the older view names as it is. Format: docs/on-disk/table.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/coding.h"
#include "engine/base/internal_key.h"
#include "engine/base/result.h"
#include "engine/base/units.h"
#include "engine/space/extent.h"

namespace varve {

// More segments cost reads more than an append saves (LSMA, "Append-based compaction").
inline constexpr size_t kSegmentsMax = 12;

// A part of the table's byte space. Parts are sorted, do not overlap, and may leave gaps: a trimmed view
// gives whole extents back without moving the others. table_offset is a multiple of the allocation unit.
struct TableExtent {
  uint64_t table_offset = 0;
  Extent extent;

  bool operator==(const TableExtent&) const = default;
};

// Where a block lies, and which one it must be: the generation in which it was written and the low half of
// its checksum tell it from an older block in the same place.
struct BlockHandle {
  uint64_t table_offset = 0;
  uint32_t bytes = 0;  // trailer included
  uint32_t checksum = 0;
  Generation birth;

  uint64_t end() const { return table_offset + bytes; }
  bool operator==(const BlockHandle&) const = default;
};

struct FilterDescriptor {
  // Keys it was sized for, reserve included, and keys inserted so far. capacity 0: the segment has no filter.
  uint64_t capacity = 0;
  uint64_t insertions = 0;
  double bits_per_key = 0;  // at full capacity
  uint32_t probes = 0;

  bool operator==(const FilterDescriptor&) const = default;
};

// One sorted run of a table.
struct SegmentDescriptor {
  BlockHandle footer;
  uint64_t entries = 0;
  uint64_t tombstones = 0;
  uint64_t data_blocks = 0;
  // Bytes of the data blocks that the index names, of which live_bytes are not known to be shadowed by newer
  // segments of the table: an estimate, equal to data_bytes when the segment is written.
  uint64_t data_bytes = 0;
  uint64_t live_bytes = 0;
  // Index, filter and footer that this generation of the segment uses.
  uint64_t meta_bytes = 0;
  std::string smallest;  // internal keys
  std::string largest;
  SequenceNumber smallest_sequence;
  SequenceNumber largest_sequence;
  FilterDescriptor filter;
  // Reserved, and never written: range tombstones are the Version's (engine/version/version.h). A reader of
  // this version answers kUnsupported where one is set.
  std::optional<BlockHandle> range_tombstones;
  // Of its keys, summed up when they were written (key_hotness.h). Not among the view's bytes: the manifest
  // has a field of its own for it.
  uint64_t hotness = 0;

  std::string_view smallest_user_key() const { return UserKeyOf(smallest); }
  std::string_view largest_user_key() const { return UserKeyOf(largest); }
  bool operator==(const SegmentDescriptor&) const = default;
};

struct TableView {
  TableId id;
  Generation generation;
  // The order of installs (L0, SST-Log and compaction buffer); set by whoever installs the table.
  InstallStamp stamp;
  std::vector<TableExtent> extents;
  // 1 to kSegmentsMax, newest last.
  std::vector<SegmentDescriptor> segments;
  // Where the next append starts: a multiple of the sector size. Also the table's bytes in use:
  // used_bytes = live + dead + meta + what was given back, where padding counts as dead.
  uint64_t used_bytes = 0;
  // User keys.
  std::string smallest;
  std::string largest;
  // The table holds no record that is older than a range tombstone over its key which has at most this number
  // (docs/design/range-deletes.md). 0: nothing is known.
  SequenceNumber purged_up_to;

  uint64_t entries() const;
  uint64_t tombstones() const;
  // Bytes of data blocks that some index names.
  uint64_t data_bytes() const;
  // The estimate that level scores count (see SegmentDescriptor::live_bytes).
  uint64_t live_bytes() const;
  uint64_t meta_bytes() const;
  uint64_t hotness() const;
  // Of the bytes in use, those that its extents hold: all, unless it has given units back.
  uint64_t held_bytes() const;
  uint64_t dead_bytes() const { return held_bytes() - data_bytes() - meta_bytes(); }
  // What is neither live nor of the newest indexes, filters and footers.
  uint64_t wasted_bytes() const {
    const uint64_t useful = live_bytes() + meta_bytes();
    const uint64_t held = held_bytes();
    return held > useful ? held - useful : 0;
  }
  // The table offset behind its last extent.
  uint64_t extents_end() const;
  // What its extents hold of the device.
  uint64_t allocated_bytes() const;
  SequenceNumber smallest_sequence() const;
  SequenceNumber largest_sequence() const;

  bool ContainsUserKey(std::string_view user_key) const {
    return smallest <= user_key && user_key <= largest;
  }
  // Whether the table's range meets [low, high].
  bool Overlaps(std::string_view low, std::string_view high) const {
    return smallest <= high && low <= largest;
  }
  bool operator==(const TableView&) const = default;
};

// Appends the view's bytes: tagged fields, so that later versions may add some. The reader skips an unknown
// field unless its tag says that it must not be skipped (kUnsupported).
void AppendTableView(std::string& to, const TableView& view);
// Takes all of `bytes`, which may be anything: kCorruption for what no writer makes (empty or inverted
// ranges, segments beyond used_bytes, extents that overlap or do not cover used_bytes, counts that do not add
// up, ...).
Result<TableView> DecodeTableView(std::string_view bytes);

}  // namespace varve
