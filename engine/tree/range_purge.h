// Merges for a range of keys in which readers step over tombstones. Pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/tree/tree_config.h"
#include "engine/tree/tree_picker.h"
#include "engine/version/compaction_plan.h"
#include "engine/version/version.h"

namespace varve {

struct RangePurge {
  // The next step: what takes tombstones of the range closest to where they end, from the top down.
  std::optional<CompactionPlan> plan;
  // There is no plan now, since running jobs hold what it would take: ask again when one has ended.
  bool waits = false;
};

// Takes the tables whose entries are tombstones to a fair share. Neither a plan nor `waits`: none of them is
// left in the range, or a snapshot sees what they hide.
RangePurge PlanRangePurge(const Version& version, const TreeConfig& config, const TreePickerState& state,
                          const KeyRangeView& range);

}  // namespace varve
