#include "engine/tree/tree_picker.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/base/units.h"

namespace varve {

namespace {

// A merge costs an edit and a synchronisation of the device whatever it writes.
constexpr uint64_t kLevel0PriceMin = 1 * kMiB;

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

std::optional<CompactionPlan> PickLevel0(const Version& version, const TreeConfig& config,
                                         const TreePickerState& state, PlanReason reason) {
  const std::vector<StampedTable>& tables = version.level0();
  if (tables.empty()) {
    return std::nullopt;
  }
  CompactionPlan plan;
  plan.reason = reason;
  plan.output_level = 1;
  plan.hull = tables.front()->range().Owned();
  std::vector<bool> chosen(tables.size(), false);
  CloseUnderOverlap(tables, chosen, plan.hull);
  AddChosen(plan, {0, Part::kLevel0}, tables, chosen);
  return Complete(version, config, state.busy, std::move(plan));
}

// The plan that takes tables of Log_level down.
std::optional<CompactionPlan> PlanOfLogTables(const Version& version, const TreeConfig& config,
                                              const TreePickerState& state, uint32_t level,
                                              const LogTables& tables, PlanReason reason) {
  CompactionPlan plan;
  plan.reason = reason;
  plan.output_level = level + 1;
  for (const std::shared_ptr<const LiveTable>& table : tables) {
    plan.AddInput({level, Part::kLog}, table);
  }
  return Complete(version, config, state.busy, std::move(plan));
}

// Of the first group whose tables, and those below it, are in no job.
std::optional<CompactionPlan> PlanOfGroups(const Version& version, const TreeConfig& config,
                                           const TreePickerState& state, uint32_t level,
                                           const std::vector<LogTables>& groups, PlanReason reason) {
  for (const LogTables& group : groups) {
    std::optional<CompactionPlan> plan = PlanOfLogTables(version, config, state, level, group, reason);
    if (plan.has_value()) {
      return plan;
    }
  }
  return std::nullopt;
}

// The plan that takes `table` of Tree_level down, with the part of Log_level that may not stay above it.
std::optional<CompactionPlan> PlanOfTable(const Version& version, const TreeConfig& config,
                                          const TreePickerState& state, uint32_t level,
                                          const std::shared_ptr<const LiveTable>& table, PlanReason reason) {
  CompactionPlan plan;
  plan.reason = reason;
  plan.output_level = level + 1;
  plan.AddInput({level, Part::kTree}, table);
  const std::vector<StampedTable>& log = version.level(level).log;
  std::vector<bool> chosen(log.size(), false);
  CloseUnderOverlap(log, chosen, plan.hull);
  AddChosen(plan, {level, Part::kLog}, log, chosen);
  return Complete(version, config, state.busy, std::move(plan));
}

// Whether readers have paid for the tables of level 0 that the plan takes what it writes.
bool ReadersHavePaidFor(const CompactionPlan& plan) {
  uint64_t paid_bytes = 0;
  for (const PlanInput& input : plan.inputs) {
    paid_bytes += input.table->paid_bytes();
  }
  return paid_bytes >= std::max(plan.input_bytes() + plan.child_bytes(), kLevel0PriceMin);
}

struct Candidate {
  // Bytes of the level below that would be rewritten for each byte that goes down.
  double overlap_ratio;
  bool before_cursor;
  std::shared_ptr<const LiveTable> table;
};

// Every free table of the Tree with its overlap ratio, the best first. Walks both levels once.
std::vector<Candidate> RankByOverlap(const Version& version, const TreePickerState& state, uint32_t level) {
  std::vector<Candidate> candidates;
  SortedTables::Cursor child = version.tree(level + 1).First();
  for (SortedTables::Cursor parent = version.tree(level).First(); parent.Valid(); parent.Next()) {
    while (child.Valid() && child->largest_key() < parent->smallest_key()) {
      child.Next();
    }
    uint64_t overlap_bytes = 0;
    // The last child may reach under the next parent too: it stays where `child` is.
    for (SortedTables::Cursor under = child; under.Valid() && under->smallest_key() <= parent->largest_key();
         under.Next()) {
      overlap_bytes += under->valid_bytes();
    }
    if (state.busy.Holds(parent->id())) {
      continue;
    }
    const double ratio = static_cast<double>(overlap_bytes) /
                         static_cast<double>(std::max<uint64_t>(parent->valid_bytes(), 1));
    candidates.push_back({ratio, parent->largest_key() <= state.cursors[level], parent.shared()});
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::make_pair(a.overlap_ratio, a.before_cursor) <
           std::make_pair(b.overlap_ratio, b.before_cursor);
  });
  return candidates;
}

std::optional<CompactionPlan> PickLevel(const Version& version, const TreeConfig& config,
                                        const TreePickerState& state, uint32_t level) {
  for (const Candidate& candidate : RankByOverlap(version, state, level)) {
    std::optional<CompactionPlan> plan =
        PlanOfTable(version, config, state, level, candidate.table, PlanReason::kSize);
    if (plan.has_value()) {
      return plan;
    }
  }
  return std::nullopt;
}

// Bytes of the level's Tree that running jobs have not yet taken down.
uint64_t IdleTreeBytes(const Version& version, const TreePickerState& state, uint32_t level) {
  uint64_t bytes = version.tree(level).totals().valid_bytes;
  return bytes - std::min(bytes, state.leaving_tree_bytes[level]);
}

// What makes room in a full Tree: the tables that wait in the level's Log from now on. nullopt where the Log
// takes none, since what it holds is on its way, or running jobs are in the way of all.
std::optional<CompactionPlan> PickPseudoCompaction(const Version& version, const TreeConfig& config,
                                                   const TreePickerState& state, uint32_t level) {
  const double score = LogScore(version, LogConfigOf(config), level, state.leaving_log_bytes[level]);
  const uint64_t bytes = IdleTreeBytes(version, state, level);
  if (score >= kLogScoreMax || bytes == 0) {
    return std::nullopt;
  }
  CompactionPlan plan;
  plan.kind = MergeKind::kPseudoCompaction;
  plan.output_level = level;
  for (std::shared_ptr<const LiveTable>& table : TablesForLog(version, state.busy, level, bytes)) {
    plan.AddInput({level, Part::kTree}, std::move(table));
  }
  return plan.inputs.empty() ? std::nullopt : std::optional<CompactionPlan>(std::move(plan));
}

// A merge of level 0 rewrites level 1 whatever it brings: it waits until it brings enough. Small tables count
// by their size, for the merge's cost a byte; each is still one more to ask for every read, so their number
// counts too, half as much.
double Level0Score(const Version& version, const TreeConfig& config) {
  double full_tables = 0;
  for (const StampedTable& table : version.level0()) {
    const double share = static_cast<double>(table->valid_bytes()) /
                         static_cast<double>(std::max<uint64_t>(config.level0_full_table_bytes, 1));
    full_tables += std::min(share, 1.0);
  }
  const double half_count = static_cast<double>(version.level0().size()) / 2;
  return std::max(full_tables, half_count) / static_cast<double>(std::max(config.level0_tables_trigger, 1u));
}

double ScoreOf(const Version& version, const TreeConfig& config, uint32_t level, uint64_t tree_bytes) {
  if (level == 0) {
    return Level0Score(version, config);
  }
  // Nothing is below the last level of the format.
  if (level + 1 >= kLevels) {
    return 0;
  }
  return static_cast<double>(tree_bytes) /
         (static_cast<double>(LevelCapacityBytes(config, level)) * config.slack);
}

uint64_t& LeavingBytesOf(TreePickerState& state, Place place) {
  return (place.part == Part::kLog ? state.leaving_log_bytes : state.leaving_tree_bytes)[place.level];
}

struct Due {
  double score = 0;
  Place place;
};

// The highest score first.
std::vector<Due> WhatIsDue(const Version& version, const TreeConfig& config, const TreePickerState& state) {
  std::vector<Due> due;
  const auto add = [&](double score, Place place) {
    if (score >= 1) {
      due.push_back({score, place});
    }
  };
  add(ScoreOf(version, config, 0, 0), {0, Part::kLevel0});
  for (uint32_t level = 1; level < kLevels; ++level) {
    add(ScoreOf(version, config, level, IdleTreeBytes(version, state, level)), {level, Part::kTree});
    add(LogScore(version, LogConfigOf(config), level, state.leaving_log_bytes[level]), {level, Part::kLog});
  }
  std::stable_sort(due.begin(), due.end(), [](const Due& a, const Due& b) { return a.score > b.score; });
  return due;
}

std::optional<CompactionPlan> PickOf(const Version& version, const TreeConfig& config,
                                     const TreePickerState& state, const Due& due) {
  const auto [level, part] = due.place;
  if (part == Part::kLevel0) {
    return PickLevel0(version, config, state, PlanReason::kLevel0Tables);
  }
  if (part == Part::kLog) {
    return PlanOfGroups(version, config, state, level,
                        GroupsToMerge(version, LogConfigOf(config), state.busy, level), PlanReason::kSize);
  }
  return LogCapacityBytes(version, LogConfigOf(config), level) > 0
             ? PickPseudoCompaction(version, config, state, level)
             : PickLevel(version, config, state, level);
}

}  // namespace

LogConfig LogConfigOf(const TreeConfig& config) {
  return {config.log_share, config.table_bytes};
}

bool MovesAsItIs(const CompactionPlan& plan) {
  uint64_t grandparent_bytes = 0;
  for (const std::shared_ptr<const LiveTable>& grandparent : plan.grandparents) {
    grandparent_bytes += grandparent->valid_bytes();
  }
  return plan.inputs.size() == 1 && plan.children.empty() && grandparent_bytes <= plan.grandparent_bytes_max;
}

void TreePickerState::Started(const CompactionPlan& plan) {
  busy.Add(plan);
  const PlanInput& first = plan.inputs.front();
  if (first.place.part == Part::kTree) {
    cursors[first.place.level] = first.table->largest_key();
  }
  for (const PlanInput& input : plan.inputs) {
    LeavingBytesOf(*this, input.place) += input.table->valid_bytes();
  }
}

void TreePickerState::Ended(const CompactionPlan& plan) {
  busy.Remove(plan);
  for (const PlanInput& input : plan.inputs) {
    LeavingBytesOf(*this, input.place) -= input.table->valid_bytes();
  }
}

uint64_t LevelCapacityBytes(const TreeConfig& config, uint32_t level) {
  const double capacity =
      static_cast<double>(config.level1_bytes) * std::pow(config.level_ratio, static_cast<double>(level) - 1);
  return capacity < 0x1p63 ? static_cast<uint64_t>(capacity) : uint64_t{1} << 63;
}

double LevelScore(const Version& version, const TreeConfig& config, uint32_t level) {
  return ScoreOf(version, config, level, level == 0 ? 0 : version.tree(level).totals().valid_bytes);
}

uint64_t CompactionDebtBytes(const Version& version, const TreeConfig& config) {
  uint64_t debt = 0;
  // What level 0 holds beyond its trigger goes through level 1 as a whole.
  uint64_t arriving = 0;
  if (LevelScore(version, config, 0) > 1) {
    arriving = version.totals(0).valid_bytes;
    debt += arriving + version.tree(1).totals().valid_bytes;
  }
  for (uint32_t level = 1; level + 1 < kLevels; ++level) {
    // What a Log may hold waits there, and goes down at the price of a part of it.
    const uint64_t bytes =
        version.tree(level).totals().valid_bytes + version.level(level).log_totals.valid_bytes + arriving;
    const uint64_t capacity =
        LevelCapacityBytes(config, level) + LogCapacityBytes(version, LogConfigOf(config), level);
    arriving = bytes > capacity ? bytes - capacity : 0;
    if (arriving == 0) {
      continue;
    }
    // Each byte that goes down rewrites what it overlaps below: as much as the levels' sizes say.
    const uint64_t below = version.tree(level + 1).totals().valid_bytes;
    const double overlap = static_cast<double>(below) / static_cast<double>(bytes);
    debt += static_cast<uint64_t>(static_cast<double>(arriving) * (1 + overlap));
  }
  return debt;
}

std::optional<CompactionPlan> PickTreeCompaction(const Version& version, const TreeConfig& config,
                                                 const TreePickerState& state) {
  for (const Due& due : WhatIsDue(version, config, state)) {
    std::optional<CompactionPlan> plan = PickOf(version, config, state, due);
    if (plan.has_value()) {
      return plan;
    }
  }
  return std::nullopt;
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

std::optional<CompactionPlan> PickForReaders(const Version& version, const TreeConfig& config,
                                             const TreePickerState& state, bool& others_wait) {
  std::optional<CompactionPlan> level0 = PickLevel0(version, config, state, PlanReason::kReads);
  if (level0 && ReadersHavePaidFor(*level0)) {
    return level0;
  }
  for (uint32_t level = 1; level < kLevels; ++level) {
    for (SortedTables::Cursor cursor = version.tree(level).First(); cursor.Valid(); cursor.Next()) {
      if (!cursor->ReadersHavePaid()) {
        continue;
      }
      CompactionPlan plan = PlanOfItself(config, level, cursor.shared(), PlanReason::kReads);
      if (state.busy.CanRun(plan)) {
        return plan;
      }
      others_wait = true;
    }
  }
  for (uint32_t level = 1; level + 1 < kLevels; ++level) {
    const std::vector<LogTables> groups = GroupsPaidFor(version, state.busy, level);
    std::optional<CompactionPlan> plan =
        PlanOfGroups(version, config, state, level, groups, PlanReason::kReads);
    if (plan.has_value()) {
      return plan;
    }
    others_wait = others_wait || !groups.empty();
  }
  return std::nullopt;
}

std::optional<CompactionPlan> PlanLogCompaction(const Version& version, const TreeConfig& config,
                                                const TreePickerState& state, uint32_t level,
                                                const KeyRangeView& range, PlanReason reason) {
  return PlanOfGroups(version, config, state, level, GroupsIn(version, state.busy, level, range), reason);
}

std::optional<CompactionPlan> PlanRangeCompaction(const Version& version, const TreeConfig& config,
                                                  const TreePickerState& state, uint32_t from,
                                                  const KeyRangeView& range) {
  if (from + 1 >= kLevels) {
    return std::nullopt;
  }
  if (from > 0) {
    for (const std::shared_ptr<const LiveTable>& table : version.tree(from).Overlapping(range)) {
      std::optional<CompactionPlan> plan =
          PlanOfTable(version, config, state, from, table, PlanReason::kRequested);
      if (plan.has_value()) {
        return plan;
      }
    }
    return PlanLogCompaction(version, config, state, from, range, PlanReason::kRequested);
  }
  const bool meets = std::any_of(version.level0().begin(), version.level0().end(),
                                 [&](const StampedTable& table) { return table->range().Overlaps(range); });
  return meets ? PickLevel0(version, config, state, PlanReason::kRequested) : std::nullopt;
}

}  // namespace varve
