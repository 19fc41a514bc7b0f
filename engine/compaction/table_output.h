// TableOutput: a stream of records in key order becomes tables of one level, cut at the right places.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/compaction/job_environment.h"
#include "engine/compaction/output_space.h"
#include "engine/compaction/record_sink.h"
#include "engine/ring/task.h"
#include "engine/space/extent_allocator.h"
#include "engine/table/table_builder.h"

namespace varve {

struct TableOutputOptions {
  // Of all tables together, to take space by; 0: not known.
  uint64_t expected_bytes = 0;
  uint32_t level = 0;
  IoPurpose purpose = IoPurpose::kCompaction;
  // 0: one table, however large.
  uint64_t table_bytes = 0;
  // See CompactionPlan.
  std::vector<std::shared_ptr<const LiveTable>> grandparents;
  uint64_t grandparent_bytes_max = 0;
  // See SegmentOptions.
  uint64_t entries_beside = 0;
};

// Used by one coroutine. Ends with Finish or Abandon, whatever failed before.
class TableOutput final : public RecordSink {
 public:
  // All must outlive it.
  TableOutput(const JobEnvironment& environment, SpaceReservation& reservation, TableOutputOptions options);

  // After an error: Abandon.
  bool NeedsCut(std::string_view user_key) override;
  Task<Status> Cut() override;
  void Add(std::string_view internal_key, std::string_view value, CacheStanding standing) override;
  bool WantsDrain() const override { return builder_ != nullptr && builder_->WantsDrain(); }
  Task<Status> Drain() override { return builder_->Drain(); }

  // Ends the last table. In key order; none where nothing was added. Nothing is durable before the job has
  // flushed the device.
  Task<Result<std::vector<TableView>>> Finish();
  // Gives all space back.
  Task<void> Abandon();

 private:
  // Of the places where a grandparent ends: whether the open table, of so many bytes, ends best here.
  bool IsBestBoundary(uint64_t bytes) const;
  // Whether the open table, of so many bytes, takes hardly another record into the units that a table of
  // `bytes_max` fills.
  bool FillsItsUnits(uint64_t bytes, uint64_t bytes_max) const;

  const JobEnvironment& environment_;
  TableOutputOptions options_;
  JobExtents source_;
  std::unique_ptr<TableBuilder> builder_;
  std::vector<TableView> finished_;
  // The first grandparent that does not end before the last key asked about; how many ended within the open
  // table, and how many bytes of them it overlaps.
  size_t grandparent_ = 0;
  uint64_t boundaries_ = 0;
  uint64_t overlapped_bytes_ = 0;
};

}  // namespace varve
