#include "engine/compaction/table_merge_job.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/compaction/merge_loop.h"
#include "engine/compaction/output_space.h"
#include "engine/compaction/table_output.h"
#include "engine/table/merging_iterator.h"
#include "engine/table/table_reader.h"
#include "engine/version/range_deletes.h"
#include "engine/version/tree_iterator.h"

namespace varve {

namespace {

// Large enough that a device's cost an operation does not count.
constexpr uint32_t kReadAheadBytes = 256 * kKiB;

// Everything that a plan reads, and what it adds up to: all that it names, but tables of which nobody sees
// anything.
struct MergeSources {
  // Disjoint by construction of the plan: read as one source each.
  SortedTables tree_inputs;
  SortedTables children;
  // Inputs whose ranges may overlap: level 0 and Log.
  std::vector<std::shared_ptr<const LiveTable>> overlapping;
  std::vector<TableId> ids;  // sorted
  JobStatistics statistics;

  void Count(const LiveTable& table, bool is_read) {
    ids.push_back(table.id());
    if (is_read) {
      statistics.read_bytes += table.view().data_bytes();
    } else {
      statistics.entries_in += table.entries();
      statistics.hidden_by_ranges += table.entries();
    }
    statistics.tables_in += 1;
  }
};

bool IsRead(const LiveTable& table, const RangeTombstones* ranges, SequenceNumber oldest_snapshot) {
  return ranges == nullptr || !AllHidden(*ranges, table.view(), oldest_snapshot);
}

Result<MergeSources> SourcesOf(const CompactionPlan& plan, const RangeTombstones* ranges,
                               SequenceNumber oldest_snapshot) {
  MergeSources sources;
  const auto is_read = [&](const LiveTable& table) { return IsRead(table, ranges, oldest_snapshot); };
  std::vector<std::shared_ptr<const LiveTable>> tree;
  for (const PlanInput& input : plan.inputs) {
    sources.Count(*input.table, is_read(*input.table));
    if (!is_read(*input.table)) {
      continue;
    }
    (input.place.part == Part::kTree ? tree : sources.overlapping).push_back(input.table);
  }
  std::vector<std::shared_ptr<const LiveTable>> read_children;
  for (const std::shared_ptr<const LiveTable>& child : plan.children) {
    sources.Count(*child, is_read(*child));
    if (is_read(*child)) {
      read_children.push_back(child);
    }
  }
  std::sort(sources.ids.begin(), sources.ids.end());
  Result<SortedTables> tree_inputs = SortedTables().Edited({}, std::move(tree));
  if (!tree_inputs.ok()) {
    return tree_inputs.error();
  }
  Result<SortedTables> children = SortedTables().Edited({}, std::move(read_children));
  if (!children.ok()) {
    return children.error();
  }
  sources.tree_inputs = std::move(tree_inputs).value();
  sources.children = std::move(children).value();
  return sources;
}

std::unique_ptr<InternalIterator> OpenSources(const JobEnvironment& environment,
                                              const MergeSources& sources) {
  const TableIteratorOptions options = environment.MergeReading(kReadAheadBytes);
  std::vector<std::unique_ptr<InternalIterator>> iterators;
  for (const std::shared_ptr<const LiveTable>& table : sources.overlapping) {
    iterators.push_back(NewTableIterator(environment.table, table->view(), options));
  }
  for (const SortedTables* tree : {&sources.tree_inputs, &sources.children}) {
    if (!tree->empty()) {
      iterators.push_back(NewTreeIterator(environment.table, *tree, options));
    }
  }
  return NewMergingIterator(std::move(iterators));
}

InstallStamp StampInLog(const Version& version, const PlanInput& input) {
  const std::vector<StampedTable>& log = version.level(input.place.level).log;
  const auto placed = std::find_if(log.begin(), log.end(), [&](const StampedTable& candidate) {
    return candidate->id() == input.table->id();
  });
  Check(placed != log.end(), "a table is to be merged within a log that does not hold it");
  return placed->stamp;
}

// A get that asks a table of a Log asks those below it as well, of which there is far more.
uint64_t EntriesBelow(const Version& version, const CompactionPlan& plan) {
  uint64_t entries = 0;
  for (const std::shared_ptr<const LiveTable>& table :
       version.tree(plan.output_level + 1).Overlapping(plan.hull)) {
    entries += table->entries();
  }
  return entries;
}

VersionEdit RemovalsOf(const CompactionPlan& plan) {
  VersionEdit edit;
  for (const PlanInput& input : plan.inputs) {
    edit.RemoveTable(input.place, *input.table);
  }
  for (const std::shared_ptr<const LiveTable>& child : plan.children) {
    edit.RemoveTable({plan.output_level, Part::kTree}, *child);
  }
  return edit;
}

}  // namespace

uint64_t SpaceNeededBy(const CompactionPlan& plan, const TableShape& shape, const RangeTombstones* ranges,
                       SequenceNumber oldest_snapshot) {
  if (MovesTables(plan.kind)) {
    return 0;
  }
  OutputSpaceInput space;
  space.options = shape.OptionsOf(plan.output_level);
  space.table_bytes = plan.output_table_bytes;
  const auto count = [&](const LiveTable& table) {
    if (!IsRead(table, ranges, oldest_snapshot)) {
      return;
    }
    space.data_bytes += table.view().data_bytes();
    space.meta_bytes += table.view().meta_bytes();
    space.entries += table.entries();
  };
  for (const PlanInput& input : plan.inputs) {
    count(*input.table);
  }
  for (const std::shared_ptr<const LiveTable>& child : plan.children) {
    count(*child);
  }
  uint64_t grandparent_bytes = 0;
  for (const std::shared_ptr<const LiveTable>& grandparent : plan.grandparents) {
    grandparent_bytes += grandparent->valid_bytes();
  }
  space.further_cuts = grandparent_bytes / std::max<uint64_t>(plan.grandparent_bytes_max, 1);
  const MergeLimits limits = shape.LimitsOf(plan.output_level, {});
  if (limits.block || limits.append) {
    // Each child is merged by itself, and ends in a table of its own.
    space.further_cuts += plan.children.size();
  }
  return OutputSpaceMax(space);
}

Task<Result<JobOutput>> RunTableMerge(JobEnvironment environment, CompactionPlan plan,
                                      std::shared_ptr<const Version> base, SnapshotList snapshots) {
  Check(plan.kind == MergeKind::kTableMerge, "a table merge was asked to run another kind of plan");
  const RangeTombstones* const ranges = base->range_tombstones();
  const SequenceNumber oldest = snapshots.empty() ? SequenceNumber(0) : snapshots.front();
  Result<MergeSources> sources = SourcesOf(plan, ranges, oldest);
  if (!sources.ok()) {
    co_return sources.error();
  }
  Result<SpaceReservation> reservation = environment.allocator.Reserve(
      SpaceNeededBy(plan, environment.shape, ranges, oldest), SpaceClass::kInternal);
  if (!reservation.ok()) {
    co_return reservation.error();
  }

  TableOutputOptions options;
  options.level = plan.output_level;
  options.table_bytes = plan.output_table_bytes;
  options.grandparents = plan.grandparents;
  options.grandparent_bytes_max = plan.grandparent_bytes_max;
  if (plan.output_part == Part::kLog) {
    options.expected_bytes = plan.input_bytes();
    options.entries_beside = EntriesBelow(*base, plan);
  }
  TableOutput output(environment, *reservation, std::move(options));
  OlderData older(base, plan.output_level, sources->ids);
  environment.LetAsk(older, sources->statistics.read_bytes);
  MergeRules rules(std::move(snapshots), &older, ranges);
  const bool from_level0 = !plan.inputs.empty() && plan.inputs.front().place.level == 0;
  MergeObserver* const observer = from_level0 ? environment.observer : nullptr;
  JobOutput made;
  made.edit = RemovalsOf(plan);
  made.statistics = sources->statistics;
  const std::unique_ptr<InternalIterator> records = OpenSources(environment, *sources);
  Status merged = co_await MergeRecords(environment, *records, rules, observer, output, made.statistics);
  if (!merged.ok()) {
    co_await output.Abandon();
    co_return merged.error();
  }
  Result<std::vector<TableView>> tables = co_await output.Finish();
  if (!tables.ok()) {
    co_return tables.error();
  }
  for (TableView& table : *tables) {
    table.purged_up_to = rules.purged_up_to();
    made.AddTable(plan.output_place(), std::move(table));
    if (plan.output_part == Part::kLog) {
      made.edit.added_tables.back().stamp = StampInLog(*base, plan.inputs.front());
    }
  }
  Result<JobOutput> durable = co_await MadeDurable(environment, IoPurpose::kCompaction, std::move(made));
  co_return durable;
}

VersionEdit MoveEdit(const CompactionPlan& plan) {
  Check(MovesTables(plan.kind), "not a plan that moves tables");
  VersionEdit edit = RemovalsOf(plan);
  for (const PlanInput& input : plan.inputs) {
    edit.AddTable(plan.output_place(), input.table->view());
  }
  return edit;
}

}  // namespace varve
