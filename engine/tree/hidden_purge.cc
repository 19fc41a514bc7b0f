#include "engine/tree/hidden_purge.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace varve {

namespace {

// Of what a merge reads, the part that is hidden, at least: space that nobody sees is at most a quarter of a
// table's, and each byte that comes back costs three that are written.
constexpr uint64_t kHiddenShareMin = 4;

std::optional<CompactionPlan> PlanOf(const Version& version, const TreeConfig& config,
                                     const TreePickerState& state, const HiddenInTable& hidden) {
  const auto is_it = [&](const LiveTable& table) {
    return table.id() == hidden.table && table.generation() == hidden.generation;
  };
  for (const StampedTable& placed : version.level0()) {
    if (is_it(*placed.table)) {
      return PlanOfLevel0(version, config, state.busy, PlanReason::kDeletes);
    }
  }
  for (uint32_t level = 1; level < kLevels; ++level) {
    for (SortedTables::Cursor table = version.tree(level).First(); table.Valid(); table.Next()) {
      if (is_it(*table)) {
        CompactionPlan plan = PlanOfItself(config, level, table.shared(), PlanReason::kDeletes);
        return state.busy.CanRun(plan) ? std::optional(std::move(plan)) : std::nullopt;
      }
    }
    for (const StampedTable& placed : version.level(level).log) {
      if (is_it(*placed.table)) {
        return PlanLogCompaction(version, config, state, level, placed->range(), PlanReason::kDeletes);
      }
    }
  }
  return std::nullopt;
}

bool IsWorth(const CompactionPlan& plan, const HiddenInTable& hidden, PurgeNeed need) {
  switch (need) {
    case PurgeNeed::kPays:
      return hidden.bytes >= (plan.input_bytes() + plan.child_bytes()) / kHiddenShareMin;
    case PurgeNeed::kSpace:
      return hidden.bytes > 0;
    case PurgeNeed::kAll:
      break;
  }
  return true;
}

}  // namespace

std::optional<CompactionPlan> PlanHiddenPurge(const Version& version, const TreeConfig& config,
                                              const TreePickerState& state,
                                              const std::vector<HiddenInTable>& tables, PurgeNeed need) {
  std::vector<HiddenInTable> most_first = tables;
  std::stable_sort(most_first.begin(), most_first.end(),
                   [](const HiddenInTable& a, const HiddenInTable& b) { return a.bytes > b.bytes; });
  for (const HiddenInTable& hidden : most_first) {
    std::optional<CompactionPlan> plan = PlanOf(version, config, state, hidden);
    if (!plan.has_value()) {
      continue;
    }
    if (IsWorth(*plan, hidden, need)) {
      // A move would take what is hidden along.
      plan->kind = MergeKind::kTableMerge;
      return plan;
    }
  }
  return std::nullopt;
}

}  // namespace varve
