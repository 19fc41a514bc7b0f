#include "engine/sst_log/log_picker.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "engine/base/common_prefix.h"
#include "engine/base/units.h"
#include "engine/sst_log/weight.h"

namespace varve {

namespace {

// Of tables in one aggregated compaction, inputs and children: what it holds and reserves at once.
constexpr uint64_t kAggregatedTablesMax = 64;
constexpr size_t kGroupsTried = 8;
// In less nothing gathers.
constexpr uint64_t kTablesMin = 2;

struct Candidate {
  std::shared_ptr<const LiveTable> table;
  // log2 of the bytes below that its own merge would rewrite for each byte of it, rounded down; 0: fewer than
  // it has itself.
  int cost_class = 0;
  double weight = 0;
};

int CostClassOf(const LiveTable& table, const SortedTables& below) {
  uint64_t overlap_bytes = 0;
  for (const std::shared_ptr<const LiveTable>& child : below.Overlapping(table.range())) {
    overlap_bytes += child->valid_bytes();
  }
  const double ratio = ShareOf(overlap_bytes, table.valid_bytes());
  return ratio < 1 ? 0 : 1 + std::ilogb(ratio);
}

}  // namespace

bool HasLog(const Version& version, uint32_t level) {
  if (level == 0 || level + 1 >= kLevels) {
    return false;
  }
  const uint64_t below = version.totals(level + 1).valid_bytes;
  return below > 0 && below >= version.totals(level).valid_bytes;
}

uint64_t LogCapacityBytes(const Version& version, const LogConfig& config, uint32_t level) {
  if (!HasLog(version, level)) {
    return 0;
  }
  uint64_t tree_bytes = 0;
  uint64_t parts = 0;
  for (uint32_t i = 1; i < kLevels; ++i) {
    tree_bytes += version.tree(i).totals().valid_bytes;
    parts += HasLog(version, i) ? 1 : 0;
  }
  const double capacity = config.share * static_cast<double>(tree_bytes) / static_cast<double>(parts);
  return capacity < static_cast<double>(kTablesMin * config.table_bytes) ? 0
                                                                         : static_cast<uint64_t>(capacity);
}

double LogScore(const Version& version, const LogConfig& config, uint32_t level, uint64_t leaving_bytes) {
  const Level& at = version.level(level);
  const uint64_t held = at.log_totals.valid_bytes;
  const uint64_t bytes = held - std::min(held, leaving_bytes);
  if (bytes == 0) {
    return 0;
  }
  const uint64_t capacity = LogCapacityBytes(version, config, level);
  if (capacity == 0) {
    // None is to be there: the technique was switched off, or the level below has become smaller.
    const uint64_t below = version.tree(level + 1).totals().valid_bytes + config.table_bytes;
    return 1 + ShareOf(bytes, below);
  }
  // The depth falls when jobs end.
  const bool too_deep = at.log_index.depth() > kLogDepthMax && leaving_bytes == 0;
  const double by_bytes = static_cast<double>(bytes) / static_cast<double>(capacity);
  return too_deep ? std::max(by_bytes, 1.0) : by_bytes;
}

std::vector<std::shared_ptr<const LiveTable>> TablesForLog(const Version& version, const BusySet& busy,
                                                           uint32_t level, uint64_t bytes) {
  const SortedTables& tree = version.tree(level);
  std::vector<Candidate> candidates;
  std::vector<TableTraits> traits;
  size_t common_prefix = 0;
  if (!tree.empty()) {
    common_prefix = CommonPrefixOf(tree.First()->smallest_key(), tree.Last()->largest_key());
  }
  for (SortedTables::Cursor cursor = tree.First(); cursor.Valid(); cursor.Next()) {
    if (busy.Holds(cursor->id())) {
      continue;
    }
    const auto entries = static_cast<double>(std::max<uint64_t>(cursor->entries(), 1));
    candidates.push_back({cursor.shared(), CostClassOf(*cursor, version.tree(level + 1)), 0});
    traits.push_back(
        {static_cast<double>(cursor->hotness()) / entries,
         Sparseness(cursor->smallest_key(), cursor->largest_key(), cursor->entries(), common_prefix)});
  }
  const std::vector<double> weights = CombinedWeights(traits);
  for (size_t i = 0; i < candidates.size(); ++i) {
    candidates[i].weight = weights[i];
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.cost_class, a.weight) > std::tie(b.cost_class, b.weight);
  });
  std::vector<std::shared_ptr<const LiveTable>> chosen;
  uint64_t chosen_bytes = 0;
  for (Candidate& candidate : candidates) {
    chosen_bytes += candidate.table->valid_bytes();
    if (bytes == 0 || (!chosen.empty() && chosen_bytes > bytes)) {
      break;
    }
    chosen.push_back(std::move(candidate.table));
  }
  return chosen;
}

std::vector<LogTables> GroupsToMerge(const Version& version, const LogConfig& config, const BusySet& busy,
                                     uint32_t level) {
  std::vector<LogTables> tables;
  if (version.level(level).log.empty()) {
    return tables;
  }
  const LogGroups groups(version, busy, level);
  for (const LogGroup& group : groups.Ranked(kGroupsTried, kAggregatedTablesMax * config.table_bytes)) {
    tables.push_back(groups.TablesOf(group));
  }
  return tables;
}

std::vector<LogTables> GroupsIn(const Version& version, const BusySet& busy, uint32_t level,
                                const KeyRangeView& range) {
  const std::vector<StampedTable>& log = version.level(level).log;
  std::vector<LogTables> tables;
  if (log.empty()) {
    return tables;
  }
  const LogGroups groups(version, busy, level);
  for (size_t i = 0; i < log.size(); ++i) {
    if (log[i]->range().Overlaps(range)) {
      tables.push_back(groups.TablesOf(groups.ClosureOf(i)));
    }
  }
  return tables;
}

std::vector<LogTables> GroupsPaidFor(const Version& version, const BusySet& busy, uint32_t level) {
  const std::vector<StampedTable>& log = version.level(level).log;
  std::vector<LogTables> tables;
  // What is paid for a group is paid for a part of it: without such a table there is no such group.
  if (std::none_of(log.begin(), log.end(), [](const StampedTable& placed) {
        return placed->paid_bytes() >= placed->valid_bytes();
      })) {
    return tables;
  }
  const LogGroups groups(version, busy, level);
  for (size_t i = 0; i < log.size(); ++i) {
    const LogGroup& group = groups.ClosureOf(i);
    LogTables members = groups.TablesOf(group);
    uint64_t paid_bytes = 0;
    for (const std::shared_ptr<const LiveTable>& table : members) {
      paid_bytes += table->paid_bytes();
    }
    if (paid_bytes >= group.input_bytes + group.child_bytes) {
      tables.push_back(std::move(members));
    }
  }
  return tables;
}

std::vector<std::string> CheckSettledLogs(const Version& version, double share) {
  std::vector<std::string> violations;
  uint64_t tree_bytes = 0;
  uint64_t log_bytes = 0;
  for (uint32_t level = 1; level < kLevels; ++level) {
    tree_bytes += version.tree(level).totals().valid_bytes;
    log_bytes += version.level(level).log_totals.valid_bytes;
    const size_t depth = version.level(level).log_index.depth();
    if (depth > kLogDepthMax) {
      violations.push_back(fmt::format("{} tables of the log of level {} hold one key", depth, level));
    }
    if (!version.level(level).log.empty() && !HasLog(version, level)) {
      violations.push_back(fmt::format("level {} has a log over a smaller level", level));
    }
  }
  if (static_cast<double>(log_bytes) > share * static_cast<double>(tree_bytes)) {
    violations.push_back(
        fmt::format("logs hold {} bytes, trees {}: more than a share of {}", log_bytes, tree_bytes, share));
  }
  return violations;
}

}  // namespace varve
