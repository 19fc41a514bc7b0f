#include "engine/version/range_deletes.h"

#include <algorithm>
#include <span>

namespace varve {

namespace {

bool MayHoldHiddenBy(const RangeTombstone& tombstone, const LiveTable& table) {
  const TableView& view = table.view();
  return tombstone.begin <= view.largest && view.smallest < tombstone.end &&
         view.purged_up_to < tombstone.sequence && view.smallest_sequence() < tombstone.sequence;
}

bool AnyHolds(const SortedTables& tables, const RangeTombstone& tombstone) {
  for (SortedTables::Cursor cursor = tables.Seek(tombstone.begin);
       cursor.Valid() && cursor->smallest_key() < tombstone.end; cursor.Next()) {
    if (MayHoldHiddenBy(tombstone, *cursor)) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool MayHoldHidden(const RangeTombstones& tombstones, const TableView& table) {
  return tombstones.NewestOver({table.smallest, table.largest}, kSequenceNumberMax) >
         std::max(table.purged_up_to, table.smallest_sequence());
}

bool AllHidden(const RangeTombstones& tombstones, const TableView& table, SequenceNumber at) {
  return tombstones.LeastOver({table.smallest, table.largest}, at) > table.largest_sequence();
}

bool MayHideAny(const Version& version, const RangeTombstone& tombstone) {
  const auto placed_holds = [&](const StampedTable& placed) {
    return MayHoldHiddenBy(tombstone, *placed.table);
  };
  if (std::any_of(version.level0().begin(), version.level0().end(), placed_holds)) {
    return true;
  }
  for (uint32_t level = 1; level < kLevels; ++level) {
    const std::span<const SortedTables> log = version.level(level).log_index.runs();
    if (AnyHolds(version.tree(level), tombstone) ||
        std::any_of(log.begin(), log.end(),
                    [&](const SortedTables& run) { return AnyHolds(run, tombstone); })) {
      return true;
    }
  }
  return false;
}

bool MayRetire(const Version& version, const RangeTombstone& tombstone,
               const std::vector<SequenceNumber>& shadowed) {
  return std::binary_search(shadowed.begin(), shadowed.end(), tombstone.sequence) ||
         !MayHideAny(version, tombstone);
}

}  // namespace varve
