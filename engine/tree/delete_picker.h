// When deletes make a merge worth while, and for which tables (Delete-aware LSM, section 3.1.1, corrected:
// docs/design/deletes.md). Pure functions: the picker of the Trees makes plans of what they say.
//
// A level is due once tombstones are more than a share of its entries, the less the deeper it is; or once one
// of its tables is tombstones for the most part, however large the level. What is then merged must give back
// a part of what that writes: tombstones that lie thinly over much that is alive wait for the merges that
// sizes make due, as everything else does.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/units.h"
#include "engine/version/busy_set.h"
#include "engine/version/compaction_plan.h"
#include "engine/version/version.h"

namespace varve {

struct DeleteConfig {
  // Of level 1's entries, what may be tombstones before the level is due; a level deeper has level_ratio
  // times less. 0: deletes make nothing due.
  double share_max = 0;
  // Bytes that a merge for deletes gives back, for each that it writes, at least.
  double reclaim_min = 0.5;
  // A table of so large a share of tombstones is worth a look in a level of any size.
  double dense_share = 0.5;
  // How far a level may exceed its capacity at most, where deletes do not press and levels come nearer to
  // costing each other the same (SlackOfLevels in level_sizes.h). At least 1.
  double slack_max = 1;
  // How far a level may stay below its capacity at least, where that writes less. At most 1.
  double slack_min = 1;
  // How far level 1 may exceed its capacity at most, as far as it stays an eighth of the last level. At least
  // 1.
  double level1_slack_max = 1;
  // How far the last level may exceed its capacity before another one begins below it; then, as much less as
  // that one holds, the level above the last. At least 1.
  double last_level_slack = 1;
  // Whether levels give up of that what merging all of them for their deletes would pay for.
  bool presses = true;

  bool enabled() const { return share_max > 0; }
};

// What has to hold when a merge for deletes is picked.
struct DeleteLimits {
  // Some reader sees the store as of this number, and none as of an earlier one: of what is newer, nothing
  // may be dropped.
  SequenceNumber oldest_snapshot = kSequenceNumberMax;
  // Tables that are larger together are not merged for their deletes: there is no room for it.
  uint64_t bytes_max = UINT64_MAX;
};

// What a plan would do, reckoned from counts.
struct DeleteOutlook {
  // Until the tombstones of its inputs have met all that lies below them, at whatever level.
  uint64_t written_bytes = 0;
  // Records that the tombstones hide, and the tombstones.
  uint64_t reclaimed_bytes = 0;
};

double MaxDeleteShare(const DeleteConfig& config, uint32_t level_ratio, uint32_t level);
// At least 1 when merges for deletes are due at the level: those that DeletePays finds. Level 0 is due once
// its tombstones hide enough, at whatever level, for what a merge of levels 0 and 1 writes.
double DeleteScore(const Version& version, const DeleteConfig& config, uint32_t level_ratio, uint32_t level);
// From 0 to 1, which it is where a merge of the whole level into the next would pay by DeletePays; or where a
// table of level 0 is tombstones for the most part: the more puts are merged with them, the wider the tables
// of level 1 that hold them, and the less a merge of these gives back for what it writes.
double DeletePressure(const Version& version, const DeleteConfig& config, uint32_t level);

// The level's tables that are worth a try, the densest first: those whose tombstones are more than the level
// may have, or a dense table's share, that no job holds. `log`: those of its Log.
using TablesToPurge = std::vector<std::shared_ptr<const LiveTable>>;
TablesToPurge DensestTables(const Version& version, const DeleteConfig& config, uint32_t level_ratio,
                            const BusySet& busy, uint32_t level, bool log);

DeleteOutlook OutlookOf(const Version& version, const CompactionPlan& plan);
// Whether there is room for a plan that is larger than it needs to be.
bool HasRoom(const DeleteLimits& limits, const CompactionPlan& plan);
// Whether no snapshot holds what the plan's tombstones hide, and there is room for it.
bool MayDropDeleted(const DeleteLimits& limits, const CompactionPlan& plan);
// Whether it also gives back enough for what it writes.
bool DeletePays(const Version& version, const DeleteConfig& config, const DeleteLimits& limits,
                const CompactionPlan& plan);

// Of the bytes of `below`, which a merge of `table` would rewrite, those that its tombstones hide.
uint64_t HiddenBytes(const LiveTable& table, uint64_t below_bytes, uint64_t below_entries);

}  // namespace varve
