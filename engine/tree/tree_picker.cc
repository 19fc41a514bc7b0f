#include "engine/tree/tree_picker.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/units.h"
#include "engine/tree/level_plans.h"
#include "engine/tree/overlap_picker.h"

namespace varve {

namespace {

// A merge costs an edit and a synchronisation of the device whatever it writes.
constexpr uint64_t kLevel0PriceMin = 1 * kMiB;

// Whether readers have paid for the tables of level 0 that the plan takes what it writes.
bool ReadersHavePaidFor(const CompactionPlan& plan) {
  uint64_t paid_bytes = 0;
  for (const PlanInput& input : plan.inputs) {
    paid_bytes += input.table->paid_bytes();
  }
  return paid_bytes >= std::max(plan.input_bytes() + plan.child_bytes(), kLevel0PriceMin);
}

// Bytes of the level's Tree that running jobs have not yet taken down.
uint64_t IdleTreeBytes(const Version& version, const TreePickerState& state, uint32_t level) {
  uint64_t bytes = version.tree(level).totals().valid_bytes;
  return bytes - std::min(bytes, state.leaving_tree_bytes[level]);
}

// What makes room in a full Tree: the tables that wait in the level's Log from now on. nullopt where the Log
// takes none, since what it holds is on its way, or running jobs are in the way of all.
std::optional<CompactionPlan> PickPseudoCompaction(const Version& version, const TreeConfig& config,
                                                   const TreePickerState& state, uint32_t level) {
  const double score = LogScore(version, LogConfigOf(config), level, state.leaving_log_bytes[level]);
  const uint64_t bytes = IdleTreeBytes(version, state, level);
  if (score >= kLogScoreMax || bytes == 0) {
    return std::nullopt;
  }
  CompactionPlan plan;
  plan.kind = MergeKind::kPseudoCompaction;
  plan.output_level = level;
  plan.output_part = Part::kLog;
  for (std::shared_ptr<const LiveTable>& table : TablesForLog(version, state.busy, level, bytes)) {
    plan.AddInput({level, Part::kTree}, std::move(table));
  }
  return plan.inputs.empty() ? std::nullopt : std::optional<CompactionPlan>(std::move(plan));
}

// Whether half of what the Tree holds lies in tables that take no further segment.
bool IsFullOfSegments(const SortedTables& tree) {
  uint64_t full_bytes = 0;
  for (SortedTables::Cursor cursor = tree.First(); cursor.Valid(); cursor.Next()) {
    full_bytes += cursor->view().segments.size() >= kSegmentsMax ? cursor->valid_bytes() : 0;
  }
  return full_bytes > 0 && 2 * full_bytes >= tree.totals().valid_bytes;
}

// Whether a merge of level 0 would write level 1 anew, since the tables there take no further segment, where
// they can go into the Log first.
bool Level1GoesFirst(const Version& version, const TreeConfig& config) {
  return LogCapacityBytes(version, LogConfigOf(config), 1) > 0 && IsFullOfSegments(version.tree(1));
}

std::optional<CompactionPlan> PickLevel0(const Version& version, const TreeConfig& config,
                                         const TreePickerState& state) {
  if (Level1GoesFirst(version, config)) {
    std::optional<CompactionPlan> move = PickPseudoCompaction(version, config, state, 1);
    if (move.has_value()) {
      return move;
    }
  }
  return PlanOfLevel0(version, config, state.busy, PlanReason::kLevel0Tables);
}

// A merge of level 0 rewrites level 1 whatever it brings: it waits until it brings enough. Small tables count
// by their size, for the merge's cost a byte; each is still one more to ask for every read, so their number
// counts too, half as much.
double Level0Score(const Version& version, const TreeConfig& config, double slack) {
  double full_tables = 0;
  for (const StampedTable& table : version.level0()) {
    full_tables += std::min(ShareOf(table->valid_bytes(), config.level0_full_table_bytes), 1.0);
  }
  const double half_count = static_cast<double>(version.level0().size()) / 2;
  return std::max(full_tables, half_count) /
         (static_cast<double>(std::max(config.level0_tables_trigger, 1u)) * slack);
}

// What the levels may hold before they are due.
struct Capacities {
  // As a multiple of the trigger.
  double level0 = 1;
  // Bytes of the others.
  std::array<uint64_t, kLevels> trees{};
};

Capacities CapacitiesOf(const TreeConfig& config, const LevelSlack& slack) {
  Capacities capacities;
  capacities.level0 = slack[0];
  for (uint32_t level = 1; level < kLevels; ++level) {
    const double capacity =
        static_cast<double>(LevelCapacityBytes(config, level)) * config.slack * slack[level];
    capacities.trees[level] =
        capacity < 0x1p63 ? std::max<uint64_t>(static_cast<uint64_t>(capacity), 1) : uint64_t{1} << 63;
  }
  return capacities;
}

double ScoreOf(const Version& version, const TreeConfig& config, const Capacities& capacities, uint32_t level,
               uint64_t tree_bytes) {
  if (level == 0) {
    return Level0Score(version, config, capacities.level0);
  }
  // Nothing is below the last level of the format.
  if (level + 1 >= kLevels) {
    return 0;
  }
  return static_cast<double>(tree_bytes) / static_cast<double>(capacities.trees[level]);
}

uint64_t& LeavingBytesOf(TreePickerState& state, Place place) {
  return (place.part == Part::kLog ? state.leaving_log_bytes : state.leaving_tree_bytes)[place.level];
}

// A table that is merged with itself within a Log does not leave it.
uint64_t LeavingBytes(const CompactionPlan& plan, const PlanInput& input) {
  const bool stays = input.place.part == Part::kLog && plan.output_part == Part::kLog;
  return stays ? 0 : input.table->valid_bytes();
}

// A table of tombstones that moved as it is would take them along to where there is nothing to hide.
std::optional<CompactionPlan> Merged(std::optional<CompactionPlan> plan) {
  plan->kind = MergeKind::kTableMerge;
  return plan;
}

// What deletes make due at a level: the first plan that pays.
std::optional<CompactionPlan> PickForDeletes(const Version& version, const TreeConfig& config,
                                             const TreePickerState& state, uint32_t level) {
  const auto tables = [&](bool log) {
    return DensestTables(version, config.deletes, config.level_ratio, state.busy, level, log);
  };
  const auto pays = [&](const std::optional<CompactionPlan>& plan) {
    return plan.has_value() && DeletePays(version, config.deletes, state.deletes, *plan);
  };
  if (level == 0) {
    std::optional<CompactionPlan> plan = PlanOfLevel0(version, config, state.busy, PlanReason::kDeletes);
    return plan.has_value() && MayDropDeleted(state.deletes, *plan) ? Merged(std::move(plan)) : std::nullopt;
  }
  const bool is_last = level == version.last_level();
  for (const std::shared_ptr<const LiveTable>& table : tables(false)) {
    std::optional<CompactionPlan> plan;
    if (!is_last) {
      plan = PlanOfTable(version, config, state.busy, level, table, PlanReason::kDeletes);
    } else if (!version.level(level).log_index.AnyOverlaps(table->range())) {
      plan = PlanOfItself(config, level, table, PlanReason::kDeletes);
      plan = state.busy.CanRun(*plan) ? std::move(plan) : std::nullopt;
    }
    if (pays(plan)) {
      return Merged(std::move(plan));
    }
  }
  for (const std::shared_ptr<const LiveTable>& table : tables(true)) {
    std::vector<LogTables> groups = GroupsIn(version, state.busy, level, table->range());
    std::erase_if(groups, [&](const LogTables& group) { return group.back() != table; });
    std::optional<CompactionPlan> plan =
        PlanOfGroups(version, config, state.busy, level, groups, PlanReason::kDeletes);
    if (pays(plan)) {
      return Merged(std::move(plan));
    }
  }
  return std::nullopt;
}

struct Due {
  double score = 0;
  // Of a Tree that is too large.
  uint64_t excess_bytes = 0;
  Place place;
  bool for_deletes = false;
};

// The highest score first.
std::vector<Due> WhatIsDue(const Version& version, const TreeConfig& config, const TreePickerState& state) {
  std::vector<Due> due;
  const auto add = [&](double score, Place place, bool for_deletes = false, uint64_t excess_bytes = 0) {
    if (score >= 1) {
      due.push_back({score, excess_bytes, place, for_deletes});
    }
  };
  const Capacities capacities = CapacitiesOf(config, SlackOfLevels(version, config));
  add(ScoreOf(version, config, capacities, 0, 0), {0, Part::kLevel0});
  for (uint32_t level = 0; level < kLevels; ++level) {
    add(DeleteScore(version, config.deletes, config.level_ratio, level),
        {level, level == 0 ? Part::kLevel0 : Part::kTree}, true);
  }
  for (uint32_t level = 1; level < kLevels; ++level) {
    const uint64_t bytes = IdleTreeBytes(version, state, level);
    add(ScoreOf(version, config, capacities, level, bytes), {level, Part::kTree}, false,
        bytes - std::min(bytes, capacities.trees[level]));
    add(LogScore(version, LogConfigOf(config), level, state.leaving_log_bytes[level]), {level, Part::kLog});
  }
  std::stable_sort(due.begin(), due.end(), [](const Due& a, const Due& b) { return a.score > b.score; });
  return due;
}

std::optional<CompactionPlan> PickOf(const Version& version, const TreeConfig& config,
                                     const TreePickerState& state, const Due& due) {
  const auto [level, part] = due.place;
  if (due.for_deletes) {
    return PickForDeletes(version, config, state, level);
  }
  if (part == Part::kLevel0) {
    return PickLevel0(version, config, state);
  }
  if (part == Part::kLog) {
    return PlanOfGroups(version, config, state.busy, level,
                        GroupsToMerge(version, LogConfigOf(config), state.busy, level), PlanReason::kSize);
  }
  return LogCapacityBytes(version, LogConfigOf(config), level) > 0
             ? PickPseudoCompaction(version, config, state, level)
             : PickByOverlap(version, config, state.busy, state.deletes, level, state.cursors[level],
                             due.excess_bytes);
}

}  // namespace

LogConfig LogConfigOf(const TreeConfig& config) {
  return {config.log_share, config.table_bytes};
}

void TreePickerState::Started(const CompactionPlan& plan) {
  busy.Add(plan);
  const PlanInput& first = plan.inputs.front();
  if (first.place.part == Part::kTree) {
    cursors[first.place.level] = first.table->largest_key();
  }
  for (const PlanInput& input : plan.inputs) {
    LeavingBytesOf(*this, input.place) += LeavingBytes(plan, input);
  }
}

void TreePickerState::Ended(const CompactionPlan& plan) {
  busy.Remove(plan);
  for (const PlanInput& input : plan.inputs) {
    LeavingBytesOf(*this, input.place) -= LeavingBytes(plan, input);
  }
}

double LevelScore(const Version& version, const TreeConfig& config, const LevelSlack& slack, uint32_t level) {
  return ScoreOf(version, config, CapacitiesOf(config, slack), level,
                 level == 0 ? 0 : version.tree(level).totals().valid_bytes);
}

uint64_t CompactionDebtBytes(const Version& version, const TreeConfig& config, const LevelSlack& slack) {
  uint64_t debt = 0;
  // What level 0 holds beyond its trigger goes through level 1 as a whole.
  uint64_t arriving = 0;
  const Capacities capacities = CapacitiesOf(config, slack);
  if (Level0Score(version, config, capacities.level0) > 1) {
    arriving = version.totals(0).valid_bytes;
    debt += arriving + version.tree(1).totals().valid_bytes;
  }
  for (uint32_t level = 1; level + 1 < kLevels; ++level) {
    // What a Log may hold waits there, and goes down at the price of a part of it.
    const uint64_t bytes =
        version.tree(level).totals().valid_bytes + version.level(level).log_totals.valid_bytes + arriving;
    const uint64_t capacity = capacities.trees[level] + LogCapacityBytes(version, LogConfigOf(config), level);
    arriving = bytes > capacity ? bytes - capacity : 0;
    if (arriving == 0) {
      continue;
    }
    // Each byte that goes down rewrites what it overlaps below: as much as the levels' sizes say.
    const uint64_t below = version.tree(level + 1).totals().valid_bytes;
    const double overlap = static_cast<double>(below) / static_cast<double>(bytes);
    debt += static_cast<uint64_t>(static_cast<double>(arriving) * (1 + overlap));
  }
  return debt;
}

std::optional<CompactionPlan> PickTreeCompaction(const Version& version, const TreeConfig& config,
                                                 const TreePickerState& state) {
  for (const Due& due : WhatIsDue(version, config, state)) {
    std::optional<CompactionPlan> plan = PickOf(version, config, state, due);
    if (plan.has_value()) {
      return plan;
    }
  }
  return std::nullopt;
}

std::optional<CompactionPlan> PickLevel0AtRest(const Version& version, const TreeConfig& config,
                                               const TreePickerState& state) {
  if (Level0Score(version, config, 1) < 1) {
    return std::nullopt;
  }
  if (config.deletes.level1_slack_max > 1 && LogCapacityBytes(version, LogConfigOf(config), 1) > 0) {
    const Capacities capacities = CapacitiesOf(config, SlackOfLevels(version, config));
    const uint64_t level1_bytes = IdleTreeBytes(version, state, 1) + version.totals(0).valid_bytes;
    if (IsFullOfSegments(version.tree(1)) || ScoreOf(version, config, capacities, 1, level1_bytes) >= 1) {
      return std::nullopt;
    }
  }
  return PickLevel0(version, config, state);
}

std::optional<CompactionPlan> PickForReaders(const Version& version, const TreeConfig& config,
                                             const TreePickerState& state, bool& others_wait) {
  std::optional<CompactionPlan> level0 = PlanOfLevel0(version, config, state.busy, PlanReason::kReads);
  if (level0 && ReadersHavePaidFor(*level0)) {
    return level0;
  }
  for (uint32_t level = 1; level < kLevels; ++level) {
    for (SortedTables::Cursor cursor = version.tree(level).First(); cursor.Valid(); cursor.Next()) {
      if (!cursor->ReadersHavePaid()) {
        continue;
      }
      CompactionPlan plan = PlanOfItself(config, level, cursor.shared(), PlanReason::kReads);
      if (state.busy.CanRun(plan)) {
        return plan;
      }
      others_wait = true;
    }
  }
  for (uint32_t level = 1; level + 1 < kLevels; ++level) {
    for (const StampedTable& placed : version.level(level).log) {
      if (!placed->ReadersHavePaid()) {
        continue;
      }
      CompactionPlan plan = PlanOfItselfInLog(level, placed.table, PlanReason::kReads);
      if (state.busy.CanRun(plan)) {
        return plan;
      }
      others_wait = true;
    }
    const std::vector<LogTables> groups = GroupsPaidFor(version, state.busy, level);
    std::optional<CompactionPlan> plan =
        PlanOfGroups(version, config, state.busy, level, groups, PlanReason::kReads);
    if (plan.has_value()) {
      return plan;
    }
    others_wait = others_wait || !groups.empty();
  }
  return std::nullopt;
}

std::optional<CompactionPlan> PlanLogCompaction(const Version& version, const TreeConfig& config,
                                                const TreePickerState& state, uint32_t level,
                                                const KeyRangeView& range, PlanReason reason) {
  return PlanOfGroups(version, config, state.busy, level, GroupsIn(version, state.busy, level, range),
                      reason);
}

std::optional<CompactionPlan> PlanRangeCompaction(const Version& version, const TreeConfig& config,
                                                  const TreePickerState& state, uint32_t from,
                                                  const KeyRangeView& range) {
  if (from + 1 >= kLevels) {
    return std::nullopt;
  }
  if (from > 0) {
    for (const std::shared_ptr<const LiveTable>& table : version.tree(from).Overlapping(range)) {
      std::optional<CompactionPlan> plan =
          PlanOfTable(version, config, state.busy, from, table, PlanReason::kRequested);
      if (plan.has_value()) {
        return plan;
      }
    }
    return PlanLogCompaction(version, config, state, from, range, PlanReason::kRequested);
  }
  const bool meets = std::any_of(version.level0().begin(), version.level0().end(),
                                 [&](const StampedTable& table) { return table->range().Overlaps(range); });
  return meets ? PlanOfLevel0(version, config, state.busy, PlanReason::kRequested) : std::nullopt;
}

}  // namespace varve
