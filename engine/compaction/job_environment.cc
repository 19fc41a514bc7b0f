#include "engine/compaction/job_environment.h"

#include <algorithm>
#include <utility>

#include "engine/compaction/older_data.h"
#include "engine/space/extent_allocator.h"

namespace varve {

namespace {

// Of what a job reads, that is read beside it to do without tombstones; kept in memory until the job ends. A
// small job may read the filters of a few tables.
constexpr uint64_t kAskedShare = 16;
constexpr uint64_t kAskedBytesMin = 256 * kKiB;
constexpr uint64_t kAskedBytesMax = 8 * kMiB;

}  // namespace

void JobStatistics::Add(const JobStatistics& other) {
  read_bytes += other.read_bytes;
  written_bytes += other.written_bytes;
  entries_in += other.entries_in;
  entries_out += other.entries_out;
  tables_in += other.tables_in;
  tables_out += other.tables_out;
  tombstones_removed_early += other.tombstones_removed_early;
  hidden_by_ranges += other.hidden_by_ranges;
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

TableIteratorOptions JobEnvironment::MergeReading(uint32_t readahead_bytes) const {
  TableIteratorOptions options;
  // What a merge reads is about to be dropped: it must not push out what readers use.
  options.fill_cache = false;
  options.purpose = IoPurpose::kCompaction;
  options.readahead_bytes = readahead_bytes;
  options.sequential = true;
  options.notice_standing = carries_cached;
  return options;
}

void JobEnvironment::LetAsk(OlderData& older, uint64_t job_bytes) const {
  if (removes_tombstones_early) {
    older.AskTables(table, std::clamp(job_bytes / kAskedShare, kAskedBytesMin, kAskedBytesMax));
  }
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
  // The next attempt may give a table the same generation, with other blocks at the same places.
  for (const VersionEdit::RemovedTable& removed : output.edit.removed_tables) {
    environment.table.cache.EraseTable(removed.table.id);
  }
  // What was written of new tables is nobody's any more.
  for (const VersionEdit::AddedTable& added : output.edit.added_tables) {
    environment.table.cache.EraseTable(added.view.id);
  }
}

}  // namespace varve
