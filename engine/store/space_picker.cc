#include "engine/store/space_picker.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/units.h"
#include "engine/compaction/table_merge_job.h"
#include "engine/space/extent.h"

namespace varve {

namespace {

std::optional<CompactionPlan> PlanOfOldest(const Version& version, const TreeConfig& config,
                                           const TreePickerState& state, size_t count) {
  CompactionPlan plan;
  plan.reason = PlanReason::kSpace;
  plan.output_level = 1;
  plan.output_table_bytes = config.table_bytes;
  for (size_t i = 0; i < count; i++) {
    plan.AddInput({0, Part::kLevel0}, version.level0()[i].table);
  }
  plan.children = version.tree(1).Overlapping(plan.hull);
  for (const std::shared_ptr<const LiveTable>& child : plan.children) {
    ExtendToCover(plan.hull, child->range());
  }
  plan.grandparents = version.tree(2).Overlapping(plan.hull);
  plan.grandparent_bytes_max = config.table_bytes * config.grandparent_tables_max;
  if (MovesAsItIs(plan)) {
    plan.kind = MergeKind::kTrivialMove;
  }
  if (!state.busy.CanRun(plan)) {
    return std::nullopt;
  }
  return plan;
}

// As many of the oldest tables as fit: whatever is newer may stay above them.
std::optional<CompactionPlan> PickOfLevel0(const Version& version, const TreeConfig& config,
                                           const TreePickerState& state, const TableShape& shape,
                                           uint64_t bytes_max) {
  for (size_t count = version.level0().size(); count > 0; count--) {
    std::optional<CompactionPlan> plan = PlanOfOldest(version, config, state, count);
    if (plan && SpaceNeededBy(*plan, shape) <= bytes_max) {
      return plan;
    }
  }
  return std::nullopt;
}

// The tables that waste the most, the worst first.
std::optional<CompactionPlan> PickWasteful(const Version& version, const TreeConfig& config,
                                           const TreePickerState& state, const TableShape& shape,
                                           uint64_t bytes_max) {
  std::optional<CompactionPlan> worst;
  uint64_t most = 0;
  for (uint32_t level = 1; level < kLevels; level++) {
    for (SortedTables::Cursor cursor = version.tree(level).First(); cursor.Valid(); cursor.Next()) {
      const uint64_t wasted = cursor->view().wasted_bytes();
      if (wasted <= most || !IsWasteful(cursor->view())) {
        continue;
      }
      CompactionPlan plan = PlanOfItself(config, level, cursor.shared(), PlanReason::kSpace);
      if (state.busy.CanRun(plan) && SpaceNeededBy(plan, shape) <= bytes_max) {
        worst = std::move(plan);
        most = wasted;
      }
    }
  }
  return worst;
}

std::vector<std::shared_ptr<const LiveTable>> ByTombstones(const SortedTables& tree) {
  std::vector<std::shared_ptr<const LiveTable>> tables;
  for (SortedTables::Cursor cursor = tree.First(); cursor.Valid(); cursor.Next()) {
    tables.push_back(cursor.shared());
  }
  std::stable_sort(tables.begin(), tables.end(), [](const auto& a, const auto& b) {
    return a->tombstones() * b->entries() > b->tombstones() * a->entries();
  });
  return tables;
}

}  // namespace

std::optional<CompactionPlan> PickForSpace(const Version& version, const TreeConfig& config,
                                           const TreePickerState& state, const TableShape& shape,
                                           uint64_t bytes_max, bool last_level_too) {
  if (std::optional<CompactionPlan> plan = PickWasteful(version, config, state, shape, bytes_max)) {
    return plan;
  }
  if (!version.level0().empty()) {
    if (std::optional<CompactionPlan> plan = PickOfLevel0(version, config, state, shape, bytes_max)) {
      return plan;
    }
  }
  const uint32_t last = version.last_level();
  for (uint32_t level = 1; level < last; level++) {
    for (const std::shared_ptr<const LiveTable>& table : ByTombstones(version.tree(level))) {
      std::optional<CompactionPlan> plan = PlanRangeCompaction(version, config, state, level, table->range());
      if (plan && SpaceNeededBy(*plan, shape) <= bytes_max) {
        plan->reason = PlanReason::kSpace;
        return plan;
      }
    }
    for (const StampedTable& placed : version.level(level).log) {
      std::optional<CompactionPlan> plan =
          PlanLogCompaction(version, config, state, level, placed->range(), PlanReason::kSpace);
      if (plan && SpaceNeededBy(*plan, shape) <= bytes_max) {
        return plan;
      }
    }
  }
  if (last == 0 || !last_level_too) {
    return std::nullopt;
  }
  for (const std::shared_ptr<const LiveTable>& table : ByTombstones(version.tree(last))) {
    if (table->tombstones() == 0) {
      break;
    }
    CompactionPlan plan = PlanOfItself(config, last, table, PlanReason::kSpace);
    if (state.busy.CanRun(plan) && SpaceNeededBy(plan, shape) <= bytes_max) {
      return plan;
    }
  }
  return std::nullopt;
}

}  // namespace varve
