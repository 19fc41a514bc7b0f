// Plans that take tables down from their level, each closed under what must go with it: which tables they are
// to be is the caller's choice. Pure functions; nullopt where a running job holds a table of the plan, or
// writes where it would.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/sst_log/log_picker.h"
#include "engine/tree/tree_config.h"
#include "engine/version/busy_set.h"
#include "engine/version/compaction_plan.h"
#include "engine/version/version.h"

namespace varve {

// Whether a plan of one input without children is a move: a table over too much of the level after next
// (thousands of tombstones are small and wide) is rewritten instead, cut where the merges that come next stay
// small. Moved as it is, its own merge might find no space any more.
bool MovesAsItIs(const CompactionPlan& plan);

// Whether merging the table with itself gives back a good share of it.
bool IsWasteful(const TableView& table);

// The merge of one table of a Tree with itself: its segments become one, and what is dead in it goes.
CompactionPlan PlanOfItself(const TreeConfig& config, uint32_t level,
                            const std::shared_ptr<const LiveTable>& table, PlanReason reason);

// The same of a table of a Log, which stays where it is in the Log.
CompactionPlan PlanOfItselfInLog(uint32_t level, const std::shared_ptr<const LiveTable>& table,
                                 PlanReason reason);

// The oldest table of level 0 with all that overlaps it, transitively.
std::optional<CompactionPlan> PlanOfLevel0(const Version& version, const TreeConfig& config,
                                           const BusySet& busy, PlanReason reason);

// The tables of level 0 over `range`, with all that overlaps them, transitively.
std::optional<CompactionPlan> PlanOfLevel0Over(const Version& version, const TreeConfig& config,
                                               const BusySet& busy, const KeyRangeView& range,
                                               PlanReason reason);

// Of the first group of Log_level whose tables, and those below it, are in no job.
std::optional<CompactionPlan> PlanOfGroups(const Version& version, const TreeConfig& config,
                                           const BusySet& busy, uint32_t level,
                                           const std::vector<LogTables>& groups, PlanReason reason);

// `table` of Tree_level, with the part of Log_level that may not stay above it.
std::optional<CompactionPlan> PlanOfTable(const Version& version, const TreeConfig& config,
                                          const BusySet& busy, uint32_t level,
                                          const std::shared_ptr<const LiveTable>& table, PlanReason reason);

// The same of neighbours in Tree_level, in key order. Precondition: at least one.
using LevelTables = std::vector<std::shared_ptr<const LiveTable>>;
std::optional<CompactionPlan> PlanOfTables(const Version& version, const TreeConfig& config,
                                           const BusySet& busy, uint32_t level, const LevelTables& tables,
                                           PlanReason reason);

}  // namespace varve
