#include "engine/tree/range_purge.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace varve {

namespace {

// A table with fewer among its entries is not what makes a reader step over so many.
constexpr double kShareMin = 1.0 / 64;

bool IsInTheWay(const LiveTable& table, const KeyRangeView& range) {
  return table.range().Overlaps(range) && table.tombstone_share() >= kShareMin;
}

// Adds a plan to what was found, where it may run.
void Take(RangePurge& purge, const TreePickerState& state, std::optional<CompactionPlan> plan) {
  if (!plan.has_value()) {
    purge.waits = true;
  } else if (MayDropDeleted(state.deletes, *plan)) {
    plan->kind = MergeKind::kTableMerge;
    purge.plan = std::move(plan);
  }
}

std::optional<CompactionPlan> PlanOfTreeTable(const Version& version, const TreeConfig& config,
                                              const TreePickerState& state, uint32_t level,
                                              const std::shared_ptr<const LiveTable>& table) {
  if (level < version.last_level()) {
    return PlanOfTable(version, config, state.busy, level, table, PlanReason::kDeletes);
  }
  CompactionPlan plan = PlanOfItself(config, level, table, PlanReason::kDeletes);
  return state.busy.CanRun(plan) ? std::optional<CompactionPlan>(std::move(plan)) : std::nullopt;
}

void PurgeLevel(RangePurge& purge, const Version& version, const TreeConfig& config,
                const TreePickerState& state, uint32_t level, const KeyRangeView& range) {
  for (const std::shared_ptr<const LiveTable>& table : version.tree(level).Overlapping(range)) {
    const bool keeps_log =
        level == version.last_level() && version.level(level).log_index.AnyOverlaps(table->range());
    if (!purge.plan && IsInTheWay(*table, range) && !keeps_log) {
      Take(purge, state, PlanOfTreeTable(version, config, state, level, table));
    }
  }
  const std::vector<StampedTable>& log = version.level(level).log;
  const bool any = std::any_of(log.begin(), log.end(),
                               [&](const StampedTable& placed) { return IsInTheWay(*placed.table, range); });
  if (any && !purge.plan) {
    Take(purge, state, PlanLogCompaction(version, config, state, level, range, PlanReason::kDeletes));
  }
}

}  // namespace

RangePurge PlanRangePurge(const Version& version, const TreeConfig& config, const TreePickerState& state,
                          const KeyRangeView& range) {
  RangePurge purge;
  const std::vector<StampedTable>& level0 = version.level0();
  if (std::any_of(level0.begin(), level0.end(),
                  [&](const StampedTable& placed) { return IsInTheWay(*placed.table, range); })) {
    Take(purge, state, PlanOfLevel0(version, config, state.busy, PlanReason::kDeletes));
  }
  for (uint32_t level = 1; level < kLevels && !purge.plan && !purge.waits; ++level) {
    PurgeLevel(purge, version, config, state, level, range);
  }
  return purge;
}

}  // namespace varve
