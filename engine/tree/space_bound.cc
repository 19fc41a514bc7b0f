#include "engine/tree/space_bound.h"

#include "engine/base/units.h"
#include "engine/tree/level_plans.h"

namespace varve {

namespace {

// Of a table's live bytes, what it wastes, to be merged with itself for the bound: a byte that comes back
// then costs five that are written at most, and six that are read.
constexpr double kWastedShareMin = 0.2;
// Neighbours of the worst table that waste so much of its share go with it, as long as they are so many full
// tables together.
constexpr double kLikeTheWorst = 0.75;
constexpr uint64_t kTablesTogether = 4;

double WastedShareOf(const LiveTable& table) {
  return ShareOf(table.view().wasted_bytes(), table.valid_bytes());
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
  const uint32_t level = LevelOfMost(version);
  const auto may_go = [&](const SortedTables::Cursor& table, double share) {
    return WastedShareOf(*table) > share && IsWasteful(table->view()) &&
           busy.CanRun(PlanOfItself(config, level, table.shared(), PlanReason::kSpace));
  };
  std::optional<SortedTables::Cursor> worst;
  double most = kWastedShareMin;
  for (SortedTables::Cursor cursor = version.tree(level).First(); cursor.Valid(); cursor.Next()) {
    if (may_go(cursor, most)) {
      worst = cursor;
      most = WastedShareOf(*cursor);
    }
  }
  if (!worst) {
    return std::nullopt;
  }
  CompactionPlan plan = PlanOfItself(config, level, worst->shared(), PlanReason::kSpace);
  uint64_t bytes = (*worst)->valid_bytes();
  const auto joins = [&](const SortedTables::Cursor& table) {
    if (!table.Valid() || !may_go(table, kLikeTheWorst * most) ||
        bytes + table->valid_bytes() > kTablesTogether * config.table_bytes) {
      return false;
    }
    plan.AddInput({level, Part::kTree}, table.shared());
    bytes += table->valid_bytes();
    return true;
  };
  SortedTables::Cursor neighbour = *worst;
  do {
    neighbour.Next();
  } while (joins(neighbour));
  neighbour = *worst;
  do {
    neighbour.Prev();
  } while (joins(neighbour));
  return plan;
}

}  // namespace varve
