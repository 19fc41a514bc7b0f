#include "engine/tree/delete_picker.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/internal_key.h"
#include "engine/base/units.h"

namespace varve {

namespace {

// Each try reckons what lies below a table.
constexpr size_t kTablesTried = 16;

// Bytes and entries of everything that one part of a level holds over some keys.
struct Sum {
  uint64_t bytes = 0;
  uint64_t entries = 0;
  void Add(const LiveTable& table) {
    bytes += table.valid_bytes();
    entries += table.entries();
  }
};

// Of one tombstone: not more than a record of its table takes on average.
double TombstoneBytes(const LiveTable& table) {
  const double on_average = ShareOf(table.valid_bytes(), table.entries());
  return std::min(on_average, static_cast<double>(table.smallest_key().size() + kTrailerBytes));
}

uint64_t Scaled(double each, uint64_t count) {
  return static_cast<uint64_t>(each * static_cast<double>(count));
}

bool IsWithinLevel(const CompactionPlan& plan) {
  return plan.inputs.front().place.level == plan.output_level;
}

// What the tombstones of the inputs have to meet: everything deeper that overlaps them. Of a merge of a table
// with itself, what is no tombstone in it.
Sum WhatLiesBelow(const Version& version, const CompactionPlan& plan) {
  Sum below;
  if (IsWithinLevel(plan)) {
    const LiveTable& table = *plan.inputs.front().table;
    const bool several = table.view().segments.size() > 1;
    below.entries = several ? table.entries() - table.tombstones() : 0;
    below.bytes = Scaled(ShareOf(below.entries, table.entries()), table.valid_bytes());
    return below;
  }
  KeyRange range = plan.inputs.front().table->range().Owned();
  for (const PlanInput& input : plan.inputs) {
    ExtendToCover(range, input.table->range());
  }
  for (uint32_t level = plan.output_level; level < kLevels; ++level) {
    for (const std::shared_ptr<const LiveTable>& table : version.tree(level).Overlapping(range)) {
      below.Add(*table);
    }
    for (const StampedTable& placed : version.level(level).log) {
      if (placed->range().Overlaps(range)) {
        below.Add(*placed.table);
      }
    }
  }
  return below;
}

bool IsNewerThan(const CompactionPlan& plan, SequenceNumber snapshot) {
  return std::any_of(plan.inputs.begin(), plan.inputs.end(), [&](const PlanInput& input) {
    return input.table->view().largest_sequence() > snapshot;
  });
}

uint64_t HeldBytes(const CompactionPlan& plan) {
  uint64_t bytes = 0;
  for (const PlanInput& input : plan.inputs) {
    bytes += input.table->total_bytes();
  }
  for (const std::shared_ptr<const LiveTable>& child : plan.children) {
    bytes += child->total_bytes();
  }
  return bytes;
}

}  // namespace

double MaxDeleteShare(const DeleteConfig& config, uint32_t level_ratio, uint32_t level) {
  return config.share_max / std::pow(level_ratio, static_cast<double>(std::max(level, 1u)) - 1);
}

double DeleteScore(const Version& version, const DeleteConfig& config, uint32_t level_ratio, uint32_t level) {
  const TableTotals totals = version.totals(level);
  if (!config.enabled() || totals.tombstones == 0) {
    return 0;
  }
  if (level == 0) {
    const TableTotals all = version.totals();
    const uint64_t hidden = Scaled(ShareOf(all.valid_bytes, all.entries), totals.tombstones);
    const uint64_t written = totals.valid_bytes + version.totals(1).valid_bytes;
    return ShareOf(hidden, written) / config.reclaim_min;
  }
  const double by_level =
      ShareOf(totals.tombstones, totals.entries) / MaxDeleteShare(config, level_ratio, level);
  return std::max(by_level, totals.densest_tombstones / config.dense_share);
}

double DeletePressure(const Version& version, const DeleteConfig& config, uint32_t level) {
  const TableTotals totals = version.totals(level);
  if (totals.tombstones == 0 || level + 1 >= kLevels) {
    return 0;
  }
  if (level == 0 && totals.densest_tombstones >= config.dense_share) {
    return 1;
  }
  const TableTotals below = version.totals(level + 1);
  const uint64_t hidden =
      Scaled(ShareOf(below.valid_bytes, below.entries), std::min(totals.tombstones, below.entries));
  return std::min(ShareOf(hidden, totals.valid_bytes + below.valid_bytes) / config.reclaim_min, 1.0);
}

TablesToPurge DensestTables(const Version& version, const DeleteConfig& config, uint32_t level_ratio,
                            const BusySet& busy, uint32_t level, bool log) {
  const double share_min = std::min(MaxDeleteShare(config, level_ratio, level), config.dense_share);
  TablesToPurge tables;
  const auto consider = [&](const std::shared_ptr<const LiveTable>& table) {
    if (table->tombstones() > 0 && table->tombstone_share() >= share_min && !busy.Holds(table->id())) {
      tables.push_back(table);
    }
  };
  if (log) {
    for (const StampedTable& placed : version.level(level).log) {
      consider(placed.table);
    }
  } else {
    for (SortedTables::Cursor cursor = version.tree(level).First(); cursor.Valid(); cursor.Next()) {
      consider(cursor.shared());
    }
  }
  std::stable_sort(tables.begin(), tables.end(),
                   [](const auto& a, const auto& b) { return a->tombstone_share() > b->tombstone_share(); });
  tables.resize(std::min(tables.size(), kTablesTried));
  return tables;
}

DeleteOutlook OutlookOf(const Version& version, const CompactionPlan& plan) {
  uint64_t input_bytes = 0;
  uint64_t tombstones = 0;
  uint64_t tombstone_bytes = 0;
  for (const PlanInput& input : plan.inputs) {
    input_bytes += input.table->valid_bytes();
    tombstones += input.table->tombstones();
    tombstone_bytes += Scaled(TombstoneBytes(*input.table), input.table->tombstones());
  }
  const Sum below = WhatLiesBelow(version, plan);
  const uint64_t hidden = Scaled(ShareOf(below.bytes, below.entries), std::min(tombstones, below.entries));
  const uint64_t read_bytes = input_bytes + (IsWithinLevel(plan) ? 0 : below.bytes);
  DeleteOutlook outlook;
  outlook.reclaimed_bytes = std::min(hidden + tombstone_bytes, read_bytes);
  outlook.written_bytes = read_bytes - outlook.reclaimed_bytes;
  return outlook;
}

bool HasRoom(const DeleteLimits& limits, const CompactionPlan& plan) {
  return HeldBytes(plan) <= limits.bytes_max;
}

bool MayDropDeleted(const DeleteLimits& limits, const CompactionPlan& plan) {
  return !IsNewerThan(plan, limits.oldest_snapshot) && HasRoom(limits, plan);
}

bool DeletePays(const Version& version, const DeleteConfig& config, const DeleteLimits& limits,
                const CompactionPlan& plan) {
  if (!MayDropDeleted(limits, plan)) {
    return false;
  }
  const DeleteOutlook outlook = OutlookOf(version, plan);
  return static_cast<double>(outlook.reclaimed_bytes) >=
         config.reclaim_min * static_cast<double>(outlook.written_bytes);
}

uint64_t HiddenBytes(const LiveTable& table, uint64_t below_bytes, uint64_t below_entries) {
  return Scaled(ShareOf(below_bytes, below_entries), std::min(table.tombstones(), below_entries));
}

}  // namespace varve
