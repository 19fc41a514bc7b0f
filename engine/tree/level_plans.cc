#include "engine/tree/level_plans.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/units.h"
#include "engine/space/extent.h"

namespace varve {

namespace {

// A table that would shrink by less than this share of what it takes is not worth its merge.
constexpr uint64_t kWastefulShare = 8;

// Grows `chosen` (positions in `placed`, marked) by all tables that overlap the hull, until none does, and
// the hull with them. What is older and overlaps must not stay behind, and what is newer may not either: it
// overlaps what comes next.
void CloseUnderOverlap(const std::vector<StampedTable>& placed, std::vector<bool>& chosen, KeyRange& hull) {
  bool grew = true;
  while (grew) {
    grew = false;
    for (size_t i = 0; i < placed.size(); ++i) {
      if (!chosen[i] && placed[i]->range().Overlaps(hull)) {
        chosen[i] = true;
        ExtendToCover(hull, placed[i]->range());
        grew = true;
      }
    }
  }
}

void AddChosen(CompactionPlan& plan, Place place, const std::vector<StampedTable>& placed,
               const std::vector<bool>& chosen) {
  for (size_t i = 0; i < placed.size(); ++i) {
    if (chosen[i]) {
      plan.AddInput(place, placed[i].table);
    }
  }
}

// Given inputs and their hull: the children, the grandparents, and whether it is a move. nullopt when a
// running job is in the way.
std::optional<CompactionPlan> Complete(const Version& version, const TreeConfig& config, const BusySet& busy,
                                       CompactionPlan plan) {
  const uint32_t output = plan.output_level;
  plan.children = version.tree(output).Overlapping(plan.hull);
  if (!plan.children.empty()) {
    ExtendToCover(plan.hull, plan.children.front()->range());
    ExtendToCover(plan.hull, plan.children.back()->range());
  }
  plan.output_table_bytes = config.table_bytes;
  plan.grandparent_bytes_max = config.grandparent_tables_max * config.table_bytes;
  if (output + 1 < kLevels) {
    plan.grandparents = version.tree(output + 1).Overlapping(plan.hull);
  }
  plan.kind = MovesAsItIs(plan) ? MergeKind::kTrivialMove : MergeKind::kTableMerge;
  if (!busy.CanRun(plan)) {
    return std::nullopt;
  }
  return plan;
}

// The plan that takes tables of Log_level down.
std::optional<CompactionPlan> PlanOfLogTables(const Version& version, const TreeConfig& config,
                                              const BusySet& busy, uint32_t level, const LogTables& tables,
                                              PlanReason reason) {
  CompactionPlan plan;
  plan.reason = reason;
  plan.output_level = level + 1;
  for (const std::shared_ptr<const LiveTable>& table : tables) {
    plan.AddInput({level, Part::kLog}, table);
  }
  return Complete(version, config, busy, std::move(plan));
}

}  // namespace

bool MovesAsItIs(const CompactionPlan& plan) {
  uint64_t grandparent_bytes = 0;
  for (const std::shared_ptr<const LiveTable>& grandparent : plan.grandparents) {
    grandparent_bytes += grandparent->valid_bytes();
  }
  return plan.inputs.size() == 1 && plan.children.empty() && grandparent_bytes <= plan.grandparent_bytes_max;
}

bool IsWasteful(const TableView& table) {
  const uint64_t taken = table.allocated_bytes();
  const uint64_t left = RoundUp(taken - std::min(taken, table.wasted_bytes()), kExtentUnitBytes);
  // Whole units only: padding alone is never worth a merge, which would leave as much.
  return left < taken && taken - left >= taken / kWastefulShare;
}

CompactionPlan PlanOfItself(const TreeConfig& config, uint32_t level,
                            const std::shared_ptr<const LiveTable>& table, PlanReason reason) {
  CompactionPlan plan;
  plan.reason = reason;
  plan.output_level = level;
  plan.output_table_bytes = config.table_bytes;
  plan.AddInput({level, Part::kTree}, table);
  return plan;
}

CompactionPlan PlanOfItselfInLog(uint32_t level, const std::shared_ptr<const LiveTable>& table,
                                 PlanReason reason) {
  CompactionPlan plan;
  plan.reason = reason;
  plan.output_level = level;
  plan.output_part = Part::kLog;
  plan.AddInput(plan.output_place(), table);
  return plan;
}

std::optional<CompactionPlan> PlanOfLevel0(const Version& version, const TreeConfig& config,
                                           const BusySet& busy, PlanReason reason) {
  if (version.level0().empty()) {
    return std::nullopt;
  }
  return PlanOfLevel0Over(version, config, busy, version.level0().front()->range(), reason);
}

std::optional<CompactionPlan> PlanOfLevel0Over(const Version& version, const TreeConfig& config,
                                               const BusySet& busy, const KeyRangeView& range,
                                               PlanReason reason) {
  const std::vector<StampedTable>& tables = version.level0();
  CompactionPlan plan;
  plan.reason = reason;
  plan.output_level = 1;
  plan.hull = range.Owned();
  std::vector<bool> chosen(tables.size(), false);
  CloseUnderOverlap(tables, chosen, plan.hull);
  AddChosen(plan, {0, Part::kLevel0}, tables, chosen);
  return Complete(version, config, busy, std::move(plan));
}

std::optional<CompactionPlan> PlanOfGroups(const Version& version, const TreeConfig& config,
                                           const BusySet& busy, uint32_t level,
                                           const std::vector<LogTables>& groups, PlanReason reason) {
  for (const LogTables& group : groups) {
    std::optional<CompactionPlan> plan = PlanOfLogTables(version, config, busy, level, group, reason);
    if (plan.has_value()) {
      return plan;
    }
  }
  return std::nullopt;
}

std::optional<CompactionPlan> PlanOfTable(const Version& version, const TreeConfig& config,
                                          const BusySet& busy, uint32_t level,
                                          const std::shared_ptr<const LiveTable>& table, PlanReason reason) {
  return PlanOfTables(version, config, busy, level, {table}, reason);
}

std::optional<CompactionPlan> PlanOfTables(const Version& version, const TreeConfig& config,
                                           const BusySet& busy, uint32_t level, const LevelTables& tables,
                                           PlanReason reason) {
  CompactionPlan plan;
  plan.reason = reason;
  plan.output_level = level + 1;
  for (const std::shared_ptr<const LiveTable>& table : tables) {
    plan.AddInput({level, Part::kTree}, table);
  }
  const std::vector<StampedTable>& log = version.level(level).log;
  std::vector<bool> chosen(log.size(), false);
  CloseUnderOverlap(log, chosen, plan.hull);
  AddChosen(plan, {level, Part::kLog}, log, chosen);
  return Complete(version, config, busy, std::move(plan));
}

}  // namespace varve
