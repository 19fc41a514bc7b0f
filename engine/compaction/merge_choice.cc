#include "engine/compaction/merge_choice.h"

#include <algorithm>

#include "engine/base/units.h"

namespace varve {
namespace {

// What trailers, index and filter add to records.
constexpr double kOverhead = 1.03;
// A segment's footer and the padding around it.
constexpr double kSegmentBytes = 4096;
// What a table merge writes more than a block merge would have, as a share of the table: on average.
constexpr double kExtraOfTableMerge = 0.4;
// What comes makes the table grow, and when it has outgrown its size all of it is written: for each byte that
// came growth / (growth - 1), of which about so much is more than the next mend would write.
constexpr double kLaterForGrowth = 0.5;
// Of records that come to blocks that are split, about so many replace one. Holes so small are lost.
constexpr double kReplacedShare = 0.5;
// Below this share of a full block for each of its entries, the index is bloated by small blocks and spans.
constexpr double kBlockFillMin = 0.3;

bool HasOutgrown(const ChildFacts& child, const MergeLimits& limits) {
  return ShareOf(child.live_bytes + child.record_bytes, child.table_bytes) > limits.growth_max;
}

bool MayAppend(const ChildFacts& child, const MergeLimits& limits) {
  const size_t segments_max = child.read_much ? limits.segments_max_read : limits.segments_max;
  return limits.append && child.segments < std::min(segments_max, kSegmentsMax) &&
         ShareOf(child.wasted_bytes, child.live_bytes) <= limits.wasted_share_max &&
         !HasOutgrown(child, limits);
}

// What a block merge would leave: the blocks before are dead only once it is durable, so what it writes goes
// into the holes that were there already.
double WastedAfterMending(const ChildFacts& child, const MergeLimits& limits) {
  const auto wasted = static_cast<double>(child.wasted_bytes);
  const auto dirty = static_cast<double>(child.dirty->bytes);
  const auto replaced = static_cast<double>(child.dirty->replaced_bytes);
  // Records between spans make small blocks, and what they replace leaves holes that are smaller.
  const double written = dirty + std::max(static_cast<double>(child.record_bytes) - replaced, 0.0);
  const double filled = std::min(written, wasted * (1 - limits.holes_lost_share));
  return wasted - filled + dirty + replaced;
}

bool MayMend(const ChildFacts& child, const MergeLimits& limits) {
  if (!limits.block || child.segments != 1 || !child.dirty) {
    return false;
  }
  const bool filter_has_room =
      child.filter.capacity == 0 || child.filter.insertions + child.records <= child.filter.capacity;
  const double block_fill =
      ShareOf(child.live_bytes + child.record_bytes, child.dirty->index_entries * child.block_bytes);
  return filter_has_room && block_fill >= kBlockFillMin &&
         ShareOf(child.dirty->bytes, child.live_bytes) <= limits.dirty_share_max &&
         WastedAfterMending(child, limits) <=
             limits.wasted_share_max * static_cast<double>(child.live_bytes) &&
         !HasOutgrown(child, limits);
}

}  // namespace

std::string_view ChildMergeName(ChildMerge merge) {
  switch (merge) {
    case ChildMerge::kKeep:
      return "keep";
    case ChildMerge::kTable:
      return "table";
    case ChildMerge::kBlock:
      return "block";
    case ChildMerge::kAppend:
      return "append";
  }
  return "unknown";
}

ChildFacts ChildFacts::Of(const TableView& child) {
  ChildFacts facts;
  facts.wasted_bytes = child.wasted_bytes();
  facts.live_bytes = child.live_bytes();
  facts.meta_bytes = child.meta_bytes();
  facts.data_bytes = child.data_bytes();
  for (const SegmentDescriptor& segment : child.segments) {
    facts.data_blocks += segment.data_blocks;
  }
  facts.segments = child.segments.size();
  facts.filter = child.segments.front().filter;
  return facts;
}

uint64_t ChildFacts::IndexEntryBytes() const {
  const auto filter_bytes =
      static_cast<uint64_t>(static_cast<double>(filter.capacity) * filter.bits_per_key / 8);
  return (meta_bytes - std::min(filter_bytes, meta_bytes)) / std::max<uint64_t>(data_blocks, 1);
}

MergeCosts CostsOf(const ChildFacts& child, const MergeLimits& limits) {
  const auto live = static_cast<double>(child.live_bytes);
  const double records = static_cast<double>(child.record_bytes) * kOverhead;
  MergeCosts costs;
  costs.table = live * kOverhead + records;
  if (MayMend(child, limits)) {
    const auto dirty = static_cast<double>(child.dirty->bytes);
    // What is lost for good makes a table merge due when it comes to the share that may be wasted; that one
    // then takes the place of a block merge, and costs so much more than it.
    const double lost =
        dirty * limits.holes_lost_share + static_cast<double>(child.dirty->replaced_bytes) * kReplacedShare;
    const double later =
        lost / std::max(limits.wasted_share_max, 0.01) * kExtraOfTableMerge + records * kLaterForGrowth;
    const uint64_t more_entries =
        child.dirty->index_entries - std::min(child.data_blocks, child.dirty->index_entries);
    const double meta = static_cast<double>(child.meta_bytes + child.IndexEntryBytes() * more_entries);
    costs.block = records + dirty + meta + later;
  }
  if (MayAppend(child, limits)) {
    const size_t segments_max = child.read_much ? limits.segments_max_read : limits.segments_max;
    // Once in so many appends all of it is written.
    const double later = (live + records) / static_cast<double>(segments_max);
    costs.append = records + kSegmentBytes + later;
  }
  return costs;
}

ChildMerge ChooseMerge(const ChildFacts& child, const MergeLimits& limits) {
  if (child.records == 0) {
    return ChildMerge::kKeep;
  }
  const MergeCosts costs = CostsOf(child, limits);
  ChildMerge choice = ChildMerge::kTable;
  double least = *costs.table;
  if (costs.block && *costs.block < least) {
    choice = ChildMerge::kBlock;
    least = *costs.block;
  }
  if (costs.append && *costs.append < least) {
    choice = ChildMerge::kAppend;
  }
  return choice;
}

}  // namespace varve
