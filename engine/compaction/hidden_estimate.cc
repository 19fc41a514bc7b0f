#include "engine/compaction/hidden_estimate.h"

#include <algorithm>

#include "engine/table/segment_layout.h"

namespace varve {

namespace {

// Whether every key of the block is under a tombstone newer than `than`.
bool IsCovered(const RangeTombstones& tombstones, const IndexEntry& block, SequenceNumber than,
               SequenceNumber at) {
  RangeCover cover = tombstones.CoverAt(block.smallest, at);
  while (cover.newest > than && !cover.HoldsFor(block.largest)) {
    cover = tombstones.CoverAt(std::string(cover.end), at);
  }
  return cover.newest > than;
}

}  // namespace

Task<Result<uint64_t>> EstimateHidden(const TableEnvironment& environment, const TableView& table,
                                      const RangeTombstones& tombstones, SequenceNumber at) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < table.segments.size(); ++i) {
    const SegmentDescriptor& segment = table.segments[i];
    const KeyRangeView range(segment.smallest_user_key(), segment.largest_user_key());
    const SequenceNumber than = std::max(table.purged_up_to, segment.smallest_sequence);
    if (tombstones.NewestOver(range, at) <= than) {
      continue;
    }
    const Result<SegmentLayout> layout =
        co_await ReadSegmentLayout(environment, table, i, IoPurpose::kCompaction);
    if (!layout.ok()) {
      co_return layout.error();
    }
    for (const IndexEntry& block : layout->blocks) {
      bytes += IsCovered(tombstones, block, than, at) ? block.block.bytes : 0;
    }
  }
  // A block counts once for each of its spans.
  co_return std::min(bytes, table.data_bytes());
}

}  // namespace varve
