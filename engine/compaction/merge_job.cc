#include "engine/compaction/merge_job.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/units.h"
#include "engine/compaction/append_merge.h"
#include "engine/compaction/block_merge.h"
#include "engine/compaction/merge_loop.h"
#include "engine/compaction/part_records.h"
#include "engine/compaction/table_merge_job.h"
#include "engine/compaction/table_output.h"
#include "engine/ring/when_all.h"
#include "engine/table/merging_iterator.h"
#include "engine/table/table_reader.h"
#include "engine/version/range_deletes.h"

namespace varve {

namespace {

// So many merge at once, each the children of one stretch of keys.
constexpr size_t kStretches = 3;
// Of a child's records that are held against its index; more than this share of the child touch so many of
// its blocks that no block merge pays.
constexpr uint64_t kHeldBytesMax = 8 * kMiB;
constexpr uint64_t kHeldShareOfChild = 2;
constexpr uint32_t kReadAheadMin = 16 * kKiB;
constexpr uint32_t kReadAheadMax = 256 * kKiB;
// Of each of a child's segments, which share the most that is read ahead.
constexpr uint32_t kReadAheadOfSegmentMin = 64 * kKiB;
// Records between two blocks become a block of their own from this share of a full one on.
constexpr uint64_t kGapShareOfBlock = 8;

// Takes what a merge keeps into a run.
class RunSink final : public RecordSink {
 public:
  explicit RunSink(RecordRun& run) : run_(run) {}
  bool NeedsCut(std::string_view) override { return false; }
  Task<Status> Cut() override { co_return OkStatus(); }
  void Add(std::string_view internal_key, std::string_view value, CacheStanding standing) override {
    run_.Add(internal_key, value, standing);
  }
  bool WantsDrain() const override { return false; }
  Task<Status> Drain() override { co_return OkStatus(); }

 private:
  RecordRun& run_;
};

class PartedMerge {
 public:
  PartedMerge(const JobEnvironment& environment, CompactionPlan plan, std::shared_ptr<const Version> base,
              SnapshotList snapshots, SpaceReservation reservation)
      : environment_(environment),
        plan_(std::move(plan)),
        base_(std::move(base)),
        snapshots_(std::move(snapshots)),
        reservation_(std::move(reservation)),
        input_bytes_(plan_.input_bytes()),
        child_bytes_(plan_.child_bytes()),
        limits_(environment_.shape.LimitsOf(plan_.output_level, Shares())),
        outputs_(plan_.children.size()) {
    for (const PlanInput& input : plan_.inputs) {
      ids_.push_back(input.table->id());
    }
    for (const std::shared_ptr<const LiveTable>& child : plan_.children) {
      ids_.push_back(child->id());
    }
    std::sort(ids_.begin(), ids_.end());
  }

  Task<Result<JobOutput>> Run() {
    std::vector<Task<Status>> workers;
    const size_t stretches = std::min(kStretches, outputs_.size());
    for (size_t i = 0; i < stretches; ++i) {
      workers.push_back(Work(i * outputs_.size() / stretches, (i + 1) * outputs_.size() / stretches));
    }
    const Status worked = co_await WhenAllOk(std::move(workers));
    JobOutput made = Gather();
    if (!worked.ok()) {
      DiscardOutput(environment_, made);
      co_return worked.error();
    }
    reservation_.GiveBack();
    Result<JobOutput> durable = co_await MadeDurable(environment_, IoPurpose::kCompaction, std::move(made));
    co_return durable;
  }

 private:
  // Merges children [first, end), one after the other, until one has failed.
  Task<Status> Work(size_t first, size_t end) {
    PartRecords records = RecordsOf(first, end);
    for (size_t part = first; part < end && !failed_; ++part) {
      records.GoOnTo(LastKeyFor(part));
      Result<std::optional<ChildOutput>> output = co_await Merge(part, records);
      if (!output.ok()) {
        failed_ = true;
        co_return output.error();
      }
      outputs_[part] = std::move(output).value();
    }
    co_return OkStatus();
  }

  Task<Result<std::optional<ChildOutput>>> Merge(size_t part, PartRecords& records) {
    const LiveTable& child = *plan_.children[part];
    const uint64_t expected = ExpectedBytes(child);
    const bool may_mend = limits_.block && child.view().segments.size() == 1;
    RecordRun held;
    JobStatistics statistics;
    Status status = co_await Hold(records, may_mend ? HeldBytesMax(child) : 0, held, statistics);
    if (!status.ok()) {
      co_return status.error();
    }
    if (held.empty() && !records.HasMore()) {
      co_return std::optional<ChildOutput>();
    }
    ChildFacts facts = ChildFacts::Of(child.view());
    facts.read_much = child.read_much();
    facts.table_bytes = plan_.output_table_bytes;
    facts.block_bytes = environment_.shape.OptionsOf(plan_.output_level).block_bytes;
    facts.record_bytes = records.HasMore() ? std::max(expected, held.bytes()) : held.bytes();
    facts.records = records.HasMore() ? EntriesIn(facts.record_bytes) : held.size();
    SegmentLayout layout;
    MendPlan mend;
    if (may_mend && !records.HasMore()) {
      Result<SegmentLayout> read =
          co_await ReadSegmentLayout(environment_.table, child.view(), 0, IoPurpose::kCompaction);
      if (!read.ok()) {
        co_return read.error();
      }
      layout = std::move(read).value();
      mend = PlanMend(layout.blocks, held, MendOptionsFor(facts, child));
      facts.dirty = DirtyFacts{mend.dirty_bytes, mend.replaced_bytes, mend.entries};
    }
    const ChildMerge choice = ChooseMerge(facts, limits_);
    std::unique_ptr<InternalIterator> all = NewRunIterator(held, 0, held.size(), &records);
    std::optional<Result<ChildOutput>> merged;
    if (choice == ChildMerge::kBlock) {
      OlderData older(base_, plan_.output_level, ids_);
      environment_.LetAsk(older, child.valid_bytes() + facts.record_bytes);
      MergeRules rules(snapshots_, &older, base_->range_tombstones());
      BlockMergeInput input{&child.view(),
                            plan_.output_level,
                            &layout,
                            &mend,
                            &held,
                            environment_.has_one_generation && environment_.has_one_generation(child.id()),
                            PurgedUpTo(child)};
      merged = co_await RunBlockMerge(environment_, input, rules, reservation_);
    } else if (choice == ChildMerge::kAppend) {
      OlderData older(base_, plan_.output_level, ids_);
      older.AddTable(child);
      environment_.LetAsk(older, child.valid_bytes() + facts.record_bytes);
      MergeRules rules(snapshots_, &older, base_->range_tombstones());
      AppendMergeInput input{&child.view(), plan_.output_level, all.get(), facts.record_bytes,
                             PurgedUpTo(child)};
      merged = co_await RunAppendMerge(environment_, input, rules, reservation_);
    } else {
      merged = co_await MergeTable(child, std::move(all), facts);
    }
    if (!merged->ok()) {
      co_return merged->error();
    }
    ChildOutput output = std::move(*merged).value();
    output.statistics.entries_in += statistics.entries_in - statistics.entries_out;
    output.statistics.children_by[static_cast<size_t>(choice)] += 1;
    co_return std::optional<ChildOutput>(std::move(output));
  }

  // Reads records for the index, versions that nobody sees left out.
  Task<Status> Hold(PartRecords& records, uint64_t bytes_max, RecordRun& held, JobStatistics& statistics) {
    records.LimitTo(bytes_max);
    RunSink sink(held);
    MergeRules rules(snapshots_, nullptr, base_->range_tombstones());
    Status status = co_await MergeRecords(environment_, records, rules, nullptr, sink, statistics);
    records.LimitTo(UINT64_MAX);
    co_return status;
  }

  // Child and records become new tables.
  Task<Result<ChildOutput>> MergeTable(const LiveTable& child, std::unique_ptr<InternalIterator> records,
                                       const ChildFacts& facts) {
    const TableIteratorOptions reading = environment_.MergeReading(std::max<uint32_t>(
        kReadAheadMax / static_cast<uint32_t>(child.view().segments.size()), kReadAheadOfSegmentMin));
    std::vector<std::unique_ptr<InternalIterator>> sources;
    sources.push_back(std::move(records));
    sources.push_back(NewTableIterator(environment_.table, child.view(), reading));
    const std::unique_ptr<InternalIterator> merged = NewMergingIterator(std::move(sources));
    TableOutputOptions options;
    options.level = plan_.output_level;
    options.table_bytes = EvenTableBytes(facts);
    // Parts take from one reservation: none is to take what another needs.
    options.expected_bytes = facts.live_bytes + facts.record_bytes;
    options.grandparents = plan_.grandparents;
    options.grandparent_bytes_max = plan_.grandparent_bytes_max;
    TableOutput output(environment_, reservation_, std::move(options));
    OlderData older(base_, plan_.output_level, ids_);
    environment_.LetAsk(older, facts.live_bytes + facts.record_bytes);
    MergeRules rules(snapshots_, &older, base_->range_tombstones());
    ChildOutput made;
    made.statistics.read_bytes = child.view().data_bytes();
    Status status = co_await MergeRecords(environment_, *merged, rules, nullptr, output, made.statistics);
    if (!status.ok()) {
      co_await output.Abandon();
      co_return status.error();
    }
    Result<std::vector<TableView>> tables = co_await output.Finish();
    if (!tables.ok()) {
      co_return tables.error();
    }
    made.tables = std::move(tables).value();
    for (TableView& table : made.tables) {
      table.purged_up_to = rules.purged_up_to();
      made.statistics.written_bytes += table.used_bytes;
      made.statistics.tables_out += 1;
      for (const TableExtent& extent : table.extents) {
        made.taken.push_back(extent.extent);
      }
    }
    co_return made;
  }

  // Tables of one size, so that none is left over that is small. Live bytes are an estimate: where there are
  // more, tables are at least of the size that one table may have.
  static uint64_t EvenTableBytes(const ChildFacts& facts) {
    const auto total = static_cast<double>(facts.live_bytes + facts.record_bytes);
    const auto table = static_cast<double>(std::max<uint64_t>(facts.table_bytes, 1));
    const double tables = std::max(std::round(total / table), 1.0);
    const double even = total / tables * 1.1;
    return static_cast<uint64_t>(tables > 1 ? even : std::max(even, table));
  }

  // What the child holds is not looked at where it stays: for it, what its view says counts, unless no range
  // tombstone is over it.
  SequenceNumber PurgedUpTo(const LiveTable& child) const {
    const RangeTombstones* const ranges = base_->range_tombstones();
    return ranges == nullptr || MayHoldHidden(*ranges, child.view()) ? child.view().purged_up_to
                                                                     : ranges->largest_sequence();
  }
  MergeShares Shares() const {
    uint64_t entries = 0;
    uint64_t tombstones = 0;
    for (const PlanInput& input : plan_.inputs) {
      entries += input.table->entries();
      tombstones += input.table->tombstones();
    }
    return {ShareOf(base_->totals(plan_.output_level).valid_bytes, base_->totals().valid_bytes),
            ShareOf(tombstones, entries)};
  }
  // Of the inputs' bytes, by the child's share of all children.
  uint64_t ExpectedBytes(const LiveTable& child) const {
    return static_cast<uint64_t>(ShareOf(child.valid_bytes(), child_bytes_) *
                                 static_cast<double>(input_bytes_));
  }
  uint64_t EntriesIn(uint64_t bytes) const {
    uint64_t entries = 0;
    for (const PlanInput& input : plan_.inputs) {
      entries += input.table->entries();
    }
    return bytes * entries / std::max<uint64_t>(input_bytes_, 1) + 1;
  }
  static MendOptions MendOptionsFor(const ChildFacts& facts, const LiveTable& child) {
    MendOptions options;
    options.block_bytes = facts.block_bytes;
    options.gap_bytes_min = facts.block_bytes / kGapShareOfBlock;
    options.record_bytes = facts.live_bytes / std::max<uint64_t>(child.entries(), 1);
    // Small records are not worth an entry of the index each, and long keys make large entries.
    if (facts.record_bytes >= facts.records * options.gap_bytes_min &&
        facts.IndexEntryBytes() <= options.gap_bytes_min) {
      options.keep_bytes_min = facts.block_bytes / 2;
    }
    return options;
  }
  static uint64_t HeldBytesMax(const LiveTable& child) {
    return std::min(kHeldBytesMax, child.valid_bytes() / kHeldShareOfChild);
  }

  // Up to which key child `part` takes records; nullopt: all that are left.
  std::optional<std::string> LastKeyFor(size_t part) const {
    if (part + 1 == plan_.children.size()) {
      return std::nullopt;
    }
    return std::string(plan_.children[part]->largest_key());
  }

  // What the inputs hold for children [first, end).
  PartRecords RecordsOf(size_t first, size_t end) const {
    std::optional<std::string> low = first > 0 ? LastKeyFor(first - 1) : std::nullopt;
    const std::optional<std::string> high = LastKeyFor(end - 1);
    std::vector<const LiveTable*> tables;
    for (const PlanInput& input : plan_.inputs) {
      const bool meets =
          (!low || input.table->largest_key() > *low) && (!high || input.table->smallest_key() <= *high);
      if (meets) {
        tables.push_back(input.table.get());
      }
    }
    uint64_t expected_bytes = 0;
    for (size_t part = first; part < end; ++part) {
      expected_bytes += ExpectedBytes(*plan_.children[part]);
    }
    TableIteratorOptions reading = environment_.MergeReading(static_cast<uint32_t>(std::clamp<uint64_t>(
        expected_bytes / std::max<size_t>(tables.size(), 1), kReadAheadMin, kReadAheadMax)));
    if (high) {
      reading.last_key = *high;
    }
    std::vector<std::unique_ptr<InternalIterator>> inputs;
    for (const LiveTable* table : tables) {
      inputs.push_back(NewTableIterator(environment_.table, table->view(), reading));
    }
    MergeObserver* const observer = plan_.inputs.front().place.level == 0 ? environment_.observer : nullptr;
    return PartRecords(NewMergingIterator(std::move(inputs)), std::move(low), observer);
  }

  // What the parts have made, also where some have failed.
  JobOutput Gather() {
    JobOutput made;
    for (const PlanInput& input : plan_.inputs) {
      made.edit.RemoveTable(input.place, *input.table);
      made.statistics.read_bytes += input.table->view().data_bytes();
      made.statistics.tables_in += 1;
    }
    const Place place{plan_.output_level, Part::kTree};
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const LiveTable& child = *plan_.children[i];
      made.edit.RemoveTable(place, child);
      if (!outputs_[i]) {
        // The edit says so, since the inputs' ranges alone do not.
        made.statistics.children_by[static_cast<size_t>(ChildMerge::kKeep)] += 1;
        made.edit.AddTable(place, child.view());
        continue;
      }
      made.statistics.tables_in += 1;
      made.statistics.Add(outputs_[i]->statistics);
      made.taken.insert(made.taken.end(), outputs_[i]->taken.begin(), outputs_[i]->taken.end());
      made.dead_blocks.insert(made.dead_blocks.end(), outputs_[i]->dead_blocks.begin(),
                              outputs_[i]->dead_blocks.end());
      for (TableView& table : outputs_[i]->tables) {
        made.edit.AddTable(place, std::move(table));
      }
    }
    return made;
  }

  const JobEnvironment& environment_;
  const CompactionPlan plan_;
  const std::shared_ptr<const Version> base_;
  const SnapshotList snapshots_;
  SpaceReservation reservation_;
  const uint64_t input_bytes_;
  const uint64_t child_bytes_;
  const MergeLimits limits_;
  std::vector<TableId> ids_;  // sorted
  bool failed_ = false;
  // Nothing for a child that stays as it is.
  std::vector<std::optional<ChildOutput>> outputs_;
};

// Less than half a table each, with what comes down to them, or none: together they become fewer tables.
bool ChildrenAreSmall(const CompactionPlan& plan) {
  uint64_t bytes = plan.input_bytes();
  for (const std::shared_ptr<const LiveTable>& child : plan.children) {
    bytes += child->valid_bytes();
  }
  return plan.children.empty() ||
         (plan.children.size() > 1 && bytes < plan.children.size() * plan.output_table_bytes / 2);
}

}  // namespace

Task<Result<JobOutput>> RunMerge(JobEnvironment environment, CompactionPlan plan,
                                 std::shared_ptr<const Version> base, SnapshotList snapshots) {
  const MergeLimits limits = environment.shape.LimitsOf(plan.output_level, {});
  if ((!limits.block && !limits.append) || ChildrenAreSmall(plan)) {
    Result<JobOutput> whole = co_await RunTableMerge(std::move(environment), std::move(plan), std::move(base),
                                                     std::move(snapshots));
    co_return whole;
  }
  Check(plan.kind == MergeKind::kTableMerge, "a merge was asked to run another kind of plan");
  Result<SpaceReservation> reservation =
      environment.allocator.Reserve(SpaceNeededBy(plan, environment.shape), SpaceClass::kInternal);
  if (!reservation.ok()) {
    co_return reservation.error();
  }
  PartedMerge merge(environment, std::move(plan), std::move(base), std::move(snapshots),
                    std::move(reservation).value());
  Result<JobOutput> output = co_await merge.Run();
  co_return output;
}

}  // namespace varve
