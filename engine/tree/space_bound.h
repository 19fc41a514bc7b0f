// What a store with an SST-Log may take beyond the live bytes of its last level, and which table is merged
// with itself where it takes more. Pure functions. docs/design/sst-log.md, "The last level wastes more", says
// why.
#pragma once

#include <optional>

#include "engine/tree/tree_config.h"
#include "engine/version/busy_set.h"
#include "engine/version/compaction_plan.h"
#include "engine/version/version.h"

namespace varve {

// Whether the store's tables take more than config.beyond_last_level_max allows. Never where the last level
// holds less than three quarters of what is live.
bool TakesTooMuch(const Version& version, const TreeConfig& config);

// While the store takes too much: the merge with itself of the table of the last level that gives back the
// most for what it writes. nullopt also where no table wastes enough for it that no job is in the way of.
std::optional<CompactionPlan> PickForSpaceBound(const Version& version, const TreeConfig& config,
                                                const BusySet& busy);

}  // namespace varve
