#include "engine/compaction/flush_job.h"

#include <optional>
#include <utility>
#include <vector>

#include "engine/compaction/merge_loop.h"
#include "engine/compaction/output_space.h"
#include "engine/compaction/table_output.h"

namespace varve {

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
  MergeRules rules(std::move(input.snapshots), older ? &*older : nullptr);
  JobOutput made;
  Status merged = co_await MergeRecords(environment, *input.records, rules, nullptr, output, made.statistics);
  if (!merged.ok()) {
    co_await output.Abandon();
    co_return merged.error();
  }
  Result<std::vector<TableView>> tables = co_await output.Finish();
  if (!tables.ok()) {
    co_return tables.error();
  }
  for (TableView& table : *tables) {
    made.edit.last_sequence = table.largest_sequence();
    made.AddTable({0, Part::kLevel0}, std::move(table));
  }
  Result<JobOutput> durable = co_await MadeDurable(environment, IoPurpose::kFlush, std::move(made));
  co_return durable;
}

}  // namespace varve
