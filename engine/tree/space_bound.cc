#include "engine/tree/space_bound.h"

#include <algorithm>
#include <utility>

#include "engine/tree/level_plans.h"

namespace varve {

namespace {

// Of a table's live bytes, what it wastes, to be merged with itself for the bound: a byte that comes back
// then costs five that are written at most, and six that are read.
constexpr double kWastedShareMin = 0.2;
double WastedShareOf(const LiveTable& table) {
  return static_cast<double>(table.view().wasted_bytes()) /
         static_cast<double>(std::max<uint64_t>(table.valid_bytes(), 1));
}

}  // namespace

uint32_t LevelOfMost(const Version& version) {
  const double enough = kShareOfMost * static_cast<double>(version.totals().valid_bytes);
  uint32_t level = version.last_level();
  while (level > 0 && static_cast<double>(version.totals(level).valid_bytes) < enough) {
    --level;
  }
  return level;
}

bool TakesTooMuch(const Version& version, const TreeConfig& config) {
  const uint32_t most = LevelOfMost(version);
  if (config.beyond_level_of_most_max <= 0 || most == 0) {
    return false;
  }
  uint64_t live = 0;
  for (uint32_t level = most; level < kLevels; ++level) {
    live += version.tree(level).totals().valid_bytes;
  }
  return static_cast<double>(version.totals().total_bytes) >
         (1 + config.beyond_level_of_most_max) * static_cast<double>(live);
}

std::optional<CompactionPlan> PickForSpaceBound(const Version& version, const TreeConfig& config,
                                                const BusySet& busy) {
  if (!TakesTooMuch(version, config)) {
    return std::nullopt;
  }
  std::optional<CompactionPlan> cheapest;
  double most = kWastedShareMin;
  const uint32_t level = LevelOfMost(version);
  for (SortedTables::Cursor cursor = version.tree(level).First(); cursor.Valid(); cursor.Next()) {
    const double wasted = WastedShareOf(*cursor);
    if (wasted <= most || !IsWasteful(cursor->view())) {
      continue;
    }
    CompactionPlan plan = PlanOfItself(config, level, cursor.shared(), PlanReason::kSpace);
    if (busy.CanRun(plan)) {
      cheapest = std::move(plan);
      most = wasted;
    }
  }
  return cheapest;
}

}  // namespace varve
