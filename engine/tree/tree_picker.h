// The picker of the levels' Trees: looks at a Version and says which compaction is due, or none. A pure
// function: no I/O, no clock, no state of its own, and the same answer for the same arguments.
//
// Level 0 scores its number of tables (small ones count less) over the trigger, level i its valid bytes over
// its capacity (level1_bytes × ratio^(i-1)) times slack (engine/tree/level_sizes.h); level kLevels-1 takes
// what comes. The highest score of at least 1 goes first; where running jobs are in its way, the next.
// - Level 0: the transitive closure under overlap of its oldest table goes down, as one merge.
// - Level i: the table that overlaps the least of the level below (engine/tree/overlap_picker.h), together
// with
//   what of Log_i overlaps it. Where the level has a Log, tables go there instead
//   (engine/sst_log/log_picker.h).
// - Log_i, with a score of its own: the group of its tables that goes down at the least cost.
// - What deletes make due has a score beside those (engine/tree/delete_picker.h), so that either is enough:
//   level 0; the densest table of a Tree or a Log that pays; at the last level, such a table with itself.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/sst_log/log_picker.h"
#include "engine/tree/delete_picker.h"
#include "engine/tree/level_plans.h"
#include "engine/tree/level_sizes.h"
#include "engine/tree/tree_config.h"
#include "engine/version/busy_set.h"
#include "engine/version/compaction_plan.h"
#include "engine/version/version.h"

namespace varve {

struct TreePickerState {
  BusySet busy;
  // Per level, the largest key that was compacted last: among equals, what comes after it goes first.
  std::array<std::string, kLevels> cursors;
  // Per level, what running jobs are about to take out of its Tree, and its Log: it does not count for the
  // scores.
  std::array<uint64_t, kLevels> leaving_tree_bytes{};
  std::array<uint64_t, kLevels> leaving_log_bytes{};
  // As the store stands: what merges for deletes have to keep.
  DeleteLimits deletes;

  // When a plan starts and when it ends, whether its edit was installed or not.
  void Started(const CompactionPlan& plan);
  void Ended(const CompactionPlan& plan);
};

LogConfig LogConfigOf(const TreeConfig& config);

// At least 1 when a compaction is due. `slack` is SlackOfLevels, here and below.
double LevelScore(const Version& version, const TreeConfig& config, const LevelSlack& slack, uint32_t level);
// Bytes that have to be merged before every score is below 1: what back-pressure on writers goes by.
uint64_t CompactionDebtBytes(const Version& version, const TreeConfig& config, const LevelSlack& slack);

std::optional<CompactionPlan> PickTreeCompaction(const Version& version, const TreeConfig& config,
                                                 const TreePickerState& state);

// Level 0 at its trigger, where users do not write: what it waits for beyond (TreeConfig::level0_tables_max)
// are tables that do not come. Not where level 1 may be larger beside its Log and would have to leave for it:
// readers then pay for level 0.
std::optional<CompactionPlan> PickLevel0AtRest(const Version& version, const TreeConfig& config,
                                               const TreePickerState& state);

// Level 0, once readers have paid for its tables what taking them down writes; else the first table, from the
// top down and in Trees before Logs, whose readers have paid for its segments (LiveTable::ReadersHavePaid)
// and that is in no job: it is merged with itself, in its place; else such a group of a Log, which goes down.
// Sets `others_wait` where it has passed over one that is.
std::optional<CompactionPlan> PickForReaders(const Version& version, const TreeConfig& config,
                                             const TreePickerState& state, bool& others_wait);

// The smallest step that takes down what Log_level holds in `range`; nullopt where it holds nothing there, or
// running jobs are in the way.
std::optional<CompactionPlan> PlanLogCompaction(const Version& version, const TreeConfig& config,
                                                const TreePickerState& state, uint32_t level,
                                                const KeyRangeView& range, PlanReason reason);

// The next step of taking what level `from` holds in `range` down by one level, whatever the scores say: for
// a requested compaction, which asks again until the answer is nullopt (nothing is left, or running jobs are
// in the way).
std::optional<CompactionPlan> PlanRangeCompaction(const Version& version, const TreeConfig& config,
                                                  const TreePickerState& state, uint32_t from,
                                                  const KeyRangeView& range);

}  // namespace varve
