// TableBuilder: writes a new table of one segment from internal keys in order, as a stream of large writes.
//
//   TableBuilder builder(environment, source, options);
//   for each key in order:
//     if (builder.EstimatedBytes() >= limit && builder.CanCutBefore(UserKeyOf(key))) { finish; start another
//     } builder.Add(key, value); if (builder.WantsDrain()) { status = co_await builder.Drain(); }
//   Result<TableView> view = co_await builder.Finish();
//
// Nothing is durable until the caller has flushed the device, once for all tables of a job.
// Memory: a few write batches, one block, one index partition per level, the segment footer, and eight bytes
// a key for the filter. Used by one coroutine, on the executor that made it. Unless Finish has ended, Abandon
// must be awaited before the builder is destroyed: writes may be in flight. The parts from which other jobs
// make segments on existing tables are table_writer.h and segment_builder.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/table/extent_source.h"
#include "engine/table/segment_builder.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_view.h"
#include "engine/table/table_writer.h"

namespace varve {

// Of a table that was never appended to.
inline constexpr Generation kFirstGeneration{1};

struct TableBuilderOptions {
  TableId id;
  SegmentOptions segment{};
  // kFlush or kCompaction.
  IoPurpose purpose = IoPurpose::kCompaction;
  // How much space to take at once at first: the size at which the job cuts tables.
  uint64_t expected_bytes = 4 * kMiB;
  // What is written is kept in memory for the merge that reads it, where the cache has room for it. nullopt:
  // that is far off.
  std::optional<WrittenFor> written_for{};
};

class TableBuilder {
 public:
  TableBuilder(const TableEnvironment& environment, ExtentSource& source, const TableBuilderOptions& options);

  // Keys ascend strictly (checked). Errors of writing surface in Drain and Finish. `standing`: see
  // SegmentBuilder.
  void Add(std::string_view internal_key, std::string_view value,
           CacheStanding standing = CacheStanding::kAbsent) {
    segment_.Add(internal_key, value, standing);
  }
  bool WantsDrain() const { return writer_.WantsDrain(); }
  // Starts the writes that are due, and waits while too many are in flight.
  Task<Status> Drain() { return writer_.Drain(); }

  // What the table would take if it were finished now.
  uint64_t EstimatedBytes() const { return segment_.EstimatedBytes(); }
  // A user key never spans two tables.
  bool CanCutBefore(std::string_view user_key) const { return segment_.CanCutBefore(user_key); }
  uint64_t entries() const { return segment_.entries(); }
  bool empty() const { return segment_.entries() == 0; }

  // Writes index, filter and footer, and waits for all writes. Precondition: !empty(). The view has no stamp
  // yet. After an error the space taken has gone back to the source.
  Task<Result<TableView>> Finish();
  // Waits for the writes in flight and gives all space back.
  Task<void> Abandon() { return writer_.Abandon(); }

 private:
  TableId id_;
  TableWriter writer_;
  SegmentBuilder segment_;
};

}  // namespace varve
