// Which merge gives space back when the device is full. Policy as data, as the other pickers: no I/O, no
// state.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/compaction/job_environment.h"
#include "engine/tree/tree_picker.h"
#include "engine/version/compaction_plan.h"
#include "engine/version/version.h"

namespace varve {

// First tables that hold what is dead in them already, blocks that no index names and records that newer
// segments shadow, are merged with themselves, the worst first. Dead records elsewhere (overwritten versions,
// tombstones and what they delete) vanish where a merge brings them together with what they hide. So
// everything goes down, from the top: level 0, oldest tables first, then the table with the largest share of
// tombstones of the first level that is not the last; when only the last level is left, its tables with
// tombstones are merged with themselves. Plans that would need more than `bytes_max` of space while they run
// are passed over. nullopt: nothing is dead any more that a merge could remove, or no plan fits.
// `last_level_too`: false while merges of the last level with itself are known to be in vain, because a
// snapshot sees what is dead.
std::optional<CompactionPlan> PickForSpace(const Version& version, const TreeConfig& config,
                                           const TreePickerState& state, const TableShape& shape,
                                           uint64_t bytes_max, bool last_level_too);

}  // namespace varve
