#include "engine/tree/space_bound.h"

#include <algorithm>
#include <utility>

#include "engine/tree/level_plans.h"

namespace varve {

namespace {

// Of a table's live bytes, what it wastes, to be merged with itself for the bound: a byte that comes back
// then costs five that are written at most, and six that are read.
constexpr double kWastedShareMin = 0.2;
// Of what is live, what the last level holds at least: below it, what is above is on its way down, and more
// of the last level's waste than is cheap would have to make room for it.
constexpr double kLastLevelShareMin = 0.75;

double WastedShareOf(const LiveTable& table) {
  return static_cast<double>(table.view().wasted_bytes()) /
         static_cast<double>(std::max<uint64_t>(table.valid_bytes(), 1));
}

}  // namespace

bool TakesTooMuch(const Version& version, const TreeConfig& config) {
  const uint32_t last = version.last_level();
  if (config.beyond_last_level_max <= 0 || last == 0) {
    return false;
  }
  const auto live = static_cast<double>(version.tree(last).totals().valid_bytes);
  const TableTotals all = version.totals();
  return live >= kLastLevelShareMin * static_cast<double>(all.valid_bytes) &&
         static_cast<double>(all.total_bytes) > (1 + config.beyond_last_level_max) * live;
}

std::optional<CompactionPlan> PickForSpaceBound(const Version& version, const TreeConfig& config,
                                                const BusySet& busy) {
  if (!TakesTooMuch(version, config)) {
    return std::nullopt;
  }
  std::optional<CompactionPlan> cheapest;
  double most = kWastedShareMin;
  const uint32_t last = version.last_level();
  for (SortedTables::Cursor cursor = version.tree(last).First(); cursor.Valid(); cursor.Next()) {
    const double wasted = WastedShareOf(*cursor);
    if (wasted <= most || !IsWasteful(cursor->view())) {
      continue;
    }
    CompactionPlan plan = PlanOfItself(config, last, cursor.shared(), PlanReason::kSpace);
    if (busy.CanRun(plan)) {
      cheapest = std::move(plan);
      most = wasted;
    }
  }
  return cheapest;
}

}  // namespace varve
