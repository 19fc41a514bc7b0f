#include "engine/tree/hidden_purge.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/tree/level_plans.h"

namespace varve {

namespace {

// Of what a merge reads, the part that is hidden, at least: space that nobody sees is at most a quarter of a
// table's, and each byte that comes back costs three that are written.
constexpr uint64_t kHiddenShareMin = 4;

using Entry = HiddenTables::value_type;

bool Is(const LiveTable& table, const Entry& entry) {
  return table.id() == entry.first.first && table.generation() == entry.first.second;
}

std::optional<CompactionPlan> PlanOf(const Version& version, const TreeConfig& config,
                                     const TreePickerState& state, const Entry& entry) {
  const uint32_t level = entry.second.level;
  const std::string& key = entry.second.smallest_key;
  if (level == 0) {
    const auto placed = std::find_if(version.level0().begin(), version.level0().end(),
                                     [&](const StampedTable& at) { return Is(*at.table, entry); });
    return placed == version.level0().end()
               ? std::nullopt
               : PlanOfLevel0Over(version, config, state.busy, (*placed)->range(), PlanReason::kDeletes);
  }
  const SortedTables::Cursor table = version.tree(level).Seek(key);
  if (table.Valid() && Is(*table, entry)) {
    CompactionPlan plan = PlanOfItself(config, level, table.shared(), PlanReason::kDeletes);
    return state.busy.CanRun(plan) ? std::optional(std::move(plan)) : std::nullopt;
  }
  for (const LiveTable* const placed : version.level(level).log_index.At(key)) {
    if (Is(*placed, entry)) {
      return PlanLogCompaction(version, config, state, level, placed->range(), PlanReason::kDeletes);
    }
  }
  return std::nullopt;
}

bool Takes(const CompactionPlan& plan, const Entry& entry) {
  return std::any_of(plan.inputs.begin(), plan.inputs.end(),
                     [&](const PlanInput& input) { return Is(*input.table, entry); }) ||
         std::any_of(plan.children.begin(), plan.children.end(),
                     [&](const std::shared_ptr<const LiveTable>& child) { return Is(*child, entry); });
}

uint64_t HiddenBytesOf(const CompactionPlan& plan, const HiddenTables& tables) {
  uint64_t bytes = 0;
  const auto count = [&](const LiveTable& table) {
    const auto known = tables.find({table.id(), table.generation()});
    bytes += known == tables.end() ? 0 : known->second.hidden_bytes;
  };
  for (const PlanInput& input : plan.inputs) {
    count(*input.table);
  }
  for (const std::shared_ptr<const LiveTable>& child : plan.children) {
    count(*child);
  }
  return bytes;
}

bool IsWorth(uint64_t hidden_bytes, uint64_t bytes, PurgeNeed need) {
  switch (need) {
    case PurgeNeed::kPays:
      return hidden_bytes >= bytes / kHiddenShareMin;
    case PurgeNeed::kSpace:
      return hidden_bytes > 0;
    case PurgeNeed::kAll:
      break;
  }
  return true;
}

}  // namespace

std::optional<CompactionPlan> PlanHiddenPurge(const Version& version, const TreeConfig& config,
                                              const TreePickerState& state, const HiddenTables& tables,
                                              PurgeNeed need,
                                              const std::function<bool(const CompactionPlan&)>& fits) {
  // A merge of several tables is not worth it unless that of one of them would be: others need no plan.
  std::vector<const Entry*> most_first;
  for (const Entry& entry : tables) {
    if (IsWorth(entry.second.hidden_bytes, entry.second.table_bytes, need)) {
      most_first.push_back(&entry);
    }
  }
  std::stable_sort(most_first.begin(), most_first.end(), [](const Entry* a, const Entry* b) {
    return a->second.hidden_bytes > b->second.hidden_bytes;
  });
  for (const Entry* const entry : most_first) {
    std::optional<CompactionPlan> plan = PlanOf(version, config, state, *entry);
    if (!plan) {
      continue;
    }
    // What is older in its Log may have to go down first.
    const uint64_t hidden_bytes =
        HiddenBytesOf(*plan, tables) + (Takes(*plan, *entry) ? 0 : entry->second.hidden_bytes);
    // A move would take what is hidden along.
    plan->kind = MergeKind::kTableMerge;
    if (IsWorth(hidden_bytes, plan->input_bytes() + plan->child_bytes(), need) && fits(*plan)) {
      return plan;
    }
  }
  return std::nullopt;
}

}  // namespace varve
