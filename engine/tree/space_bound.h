// What a store with an SST-Log may take beyond what is live in the level that holds most of it, and which
// table is merged with itself where it takes more. Pure functions. docs/design/sst-log.md, "The level that
// holds most wastes more", says why.
#pragma once

#include <optional>

#include "engine/tree/tree_config.h"
#include "engine/version/busy_set.h"
#include "engine/version/compaction_plan.h"
#include "engine/version/version.h"

namespace varve {

// Of what is live, what a level holds at least that holds most of it. With less, what is above it is on its
// way down, and more of its waste than is cheap would have to make room.
inline constexpr double kShareOfMost = 0.75;

// The level that holds most of the store; 0: none does.
uint32_t LevelOfMost(const Version& version);

// Whether the store's tables take more than config.beyond_level_of_most_max allows, of what is live in that
// level and below it. Never where no level holds most.
bool TakesTooMuch(const Version& version, const TreeConfig& config);

// While the store takes too much: the merge with itself of the table of that level that gives back the most
// for what it writes, and of neighbours that are nearly as good while all of them are a few full tables.
// nullopt also where no table wastes enough for it that no job is in the way of.
std::optional<CompactionPlan> PickForSpaceBound(const Version& version, const TreeConfig& config,
                                                const BusySet& busy);

}  // namespace varve
