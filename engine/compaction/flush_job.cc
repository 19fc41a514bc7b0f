#include "engine/compaction/flush_job.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "engine/compaction/flushed_standing.h"
#include "engine/compaction/merge_loop.h"
#include "engine/compaction/output_space.h"
#include "engine/compaction/table_output.h"
#include "engine/version/range_deletes.h"

namespace varve {

namespace {

// What it passes on stands in the cache as what it replaces.
class FlushedSink final : public RecordSink {
 public:
  FlushedSink(RecordSink& output, const TableEnvironment& environment, std::shared_ptr<const Version> base)
      : output_(output), standing_(environment, std::move(base)) {}

  bool NeedsCut(std::string_view user_key) override { return output_.NeedsCut(user_key); }
  Task<Status> Cut() override { return output_.Cut(); }
  void Add(std::string_view internal_key, std::string_view value, CacheStanding) override {
    output_.Add(internal_key, value, standing_.Of(UserKeyOf(internal_key)));
  }
  bool WantsDrain() const override { return output_.WantsDrain(); }
  Task<Status> Drain() override { return output_.Drain(); }

 private:
  RecordSink& output_;
  FlushedStanding standing_;
};

// Those of the flushed memtables that are needed. `purged_up_to`: of what was made of their records.
void AddRangeTombstones(const FlushInput& input, SequenceNumber purged_up_to, VersionEdit& edit) {
  if (input.ranges == nullptr) {
    return;
  }
  const std::vector<SequenceNumber> shadowed = input.ranges->Shadowed(input.snapshots);
  input.ranges->ForEach([&](RangeTombstone tombstone) {
    edit.last_sequence = std::max(edit.last_sequence.value_or(tombstone.sequence), tombstone.sequence);
    if (std::binary_search(shadowed.begin(), shadowed.end(), tombstone.sequence)) {
      return;
    }
    const bool hides_own = !edit.added_tables.empty() && purged_up_to < tombstone.sequence;
    if (hides_own || input.base == nullptr || MayHideAny(*input.base, tombstone)) {
      edit.added_range_tombstones.push_back(std::move(tombstone));
    }
  });
  edit.readers = input.snapshots;
}

}  // namespace

Task<Result<JobOutput>> RunFlush(JobEnvironment environment, FlushInput input) {
  OutputSpaceInput space;
  space.data_bytes = input.bytes_max;
  space.entries = input.entries_max;
  space.options = environment.shape.OptionsOf(0);
  Result<SpaceReservation> reservation =
      environment.allocator.Reserve(OutputSpaceMax(space), SpaceClass::kInternal);
  if (!reservation.ok()) {
    co_return reservation.error();
  }
  TableOutputOptions options;
  options.purpose = IoPurpose::kFlush;
  TableOutput output(environment, *reservation, options);
  std::optional<OlderData> older;
  if (input.base != nullptr && environment.removes_tombstones_early) {
    older.emplace(input.base, 0, std::vector<TableId>());
    for (const StampedTable& placed : input.base->level0()) {
      older->AddTable(*placed.table);
    }
    environment.LetAsk(*older, input.bytes_max);
  }
  MergeRules rules(input.snapshots, older ? &*older : nullptr, input.ranges);
  JobOutput made;
  std::optional<FlushedSink> caching;
  if (input.is_read) {
    caching.emplace(output, environment.table, input.base);
  }
  RecordSink& sink = caching ? static_cast<RecordSink&>(*caching) : output;
  Status merged = co_await MergeRecords(environment, *input.records, rules, nullptr, sink, made.statistics);
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
    made.edit.last_sequence = table.largest_sequence();
    made.AddTable({0, Part::kLevel0}, std::move(table));
  }
  AddRangeTombstones(input, rules.purged_up_to(), made.edit);
  Result<JobOutput> durable = co_await MadeDurable(environment, IoPurpose::kFlush, std::move(made));
  co_return durable;
}

}  // namespace varve
