// Merges for what range tombstones hide (docs/design/range-deletes.md). Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/tree/tree_config.h"
#include "engine/tree/tree_picker.h"
#include "engine/version/compaction_plan.h"
#include "engine/version/version.h"

namespace varve {

// A table that holds hidden records.
struct HiddenInTable {
  TableId table;
  Generation generation;
  uint64_t bytes = 0;
};

enum class PurgeNeed : uint8_t {
  kPays,   // at most three bytes are written for one that comes back
  kSpace,  // something comes back
  kAll,
};

// Of a table of a Tree the merge with itself, at whatever level; of one of level 0 or of a Log the step that
// takes it down. The one that gives back the most, where it is worth it. nullopt: there is none, or running
// jobs are in the way.
std::optional<CompactionPlan> PlanHiddenPurge(const Version& version, const TreeConfig& config,
                                              const TreePickerState& state,
                                              const std::vector<HiddenInTable>& tables, PurgeNeed need);

}  // namespace varve
