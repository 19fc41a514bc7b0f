// Which tables of a Tree that is over its capacity go down: those that overlap the least of the level below
// for their size (RocksDB's kMinOverlappingRatio), so that the least is written anew. A pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/tree/delete_picker.h"
#include "engine/tree/tree_config.h"
#include "engine/version/busy_set.h"
#include "engine/version/compaction_plan.h"
#include "engine/version/version.h"

namespace varve {

// The first table after `cursor`, among equals, that no job holds or is in the way of, with what must go with
// it. With merges for deletes two neighbours go where `excess_bytes`, by which the Tree is too large, are a
// table or more, where `limits` leaves room for that, and unless one table overlaps nothing: it moves.
// nullopt where running jobs are in the way of all.
std::optional<CompactionPlan> PickByOverlap(const Version& version, const TreeConfig& config,
                                            const BusySet& busy, const DeleteLimits& limits, uint32_t level,
                                            std::string_view cursor, uint64_t excess_bytes);

}  // namespace varve
