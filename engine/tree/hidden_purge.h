// Merges for what range tombstones hide (docs/design/range-deletes.md). Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "engine/tree/tree_config.h"
#include "engine/tree/tree_picker.h"
#include "engine/version/compaction_plan.h"
#include "engine/version/version.h"

namespace varve {

// A table that holds hidden records, and where it was found.
struct HiddenInTable {
  uint32_t level = 0;
  std::string smallest_key;
  uint64_t table_bytes = 0;
  uint64_t hidden_bytes = 0;
};
using HiddenTables = std::map<std::pair<TableId, Generation>, HiddenInTable>;

enum class PurgeNeed : uint8_t {
  kPays,   // at most three bytes are written for one that comes back
  kSpace,  // something comes back
  kAll,
};

// Of a table of a Tree the merge with itself, at whatever level; of one of level 0 or of a Log the step that
// takes it down. Of the plans that fit the one for the table that gives back the most, where it is worth it.
// nullopt: there is none, or running jobs are in the way.
std::optional<CompactionPlan> PlanHiddenPurge(const Version& version, const TreeConfig& config,
                                              const TreePickerState& state, const HiddenTables& tables,
                                              PurgeNeed need,
                                              const std::function<bool(const CompactionPlan&)>& fits);

}  // namespace varve
