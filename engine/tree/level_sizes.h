// How much each level is to hold, by the options and by what the levels hold. Pure functions.
#pragma once

#include <array>
#include <cstdint>

#include "engine/tree/tree_config.h"
#include "engine/version/version.h"

namespace varve {

uint64_t LevelCapacityBytes(const TreeConfig& config, uint32_t level);
// What the levels are to hold in place of their capacities, as a multiple. Of level 0 it is the trigger that
// counts.
// - Level 0: more than 1 where it always waits.
// - The level above the last, where what the store takes is bounded (engine/tree/space_bound.h): less, the
//   more the last one holds, down to an eighth of that.
// - With merges for deletes, all: by what bytes write on their way down (engine/tree/level_targets.h); what a
//   level is larger, less by as much as it would pay to merge it for its deletes.
// - The others: 1.
using LevelSlack = std::array<double, kLevels>;
LevelSlack SlackOfLevels(const Version& version, const TreeConfig& config);
// How many overdue bytes are worth a second look: the capacity of level 1, as many times as level 0 hands
// down more at once. Where levels are of other sizes than by the options to write less, the square of what
// one may be larger at least, however long level 0 waits at the moment: a table or two that are due in a
// smaller level count for what they rewrite below.
uint64_t ConcernBytes(const TreeConfig& config, const LevelSlack& slack);

}  // namespace varve
