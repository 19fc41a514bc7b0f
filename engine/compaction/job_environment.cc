#include "engine/compaction/job_environment.h"

#include <utility>

#include "engine/space/extent_allocator.h"

namespace varve {

void JobStatistics::Add(const JobStatistics& other) {
  read_bytes += other.read_bytes;
  written_bytes += other.written_bytes;
  entries_in += other.entries_in;
  entries_out += other.entries_out;
  tables_in += other.tables_in;
  tables_out += other.tables_out;
  for (size_t i = 0; i < kChildMerges; ++i) {
    children_by[i] += other.children_by[i];
  }
}

void JobOutput::AddTable(Place place, TableView view) {
  for (const TableExtent& part : view.extents) {
    taken.push_back(part.extent);
  }
  statistics.written_bytes += view.used_bytes;
  statistics.tables_out += 1;
  edit.AddTable(place, std::move(view));
}

Task<Result<JobOutput>> MadeDurable(const JobEnvironment& environment, IoPurpose purpose, JobOutput made) {
  if (made.statistics.written_bytes > 0) {
    const Status flushed = co_await environment.table.device.Flush(purpose);
    if (!flushed.ok()) {
      DiscardOutput(environment, made);
      co_return flushed.error();
    }
  }
  co_return made;
}

void DiscardOutput(const JobEnvironment& environment, const JobOutput& output) {
  environment.allocator.Release(output.taken);
}

}  // namespace varve
