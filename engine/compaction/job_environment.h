// What every job is given, and what it hands back.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/cache/block_cache.h"
#include "engine/compaction/merge_choice.h"
#include "engine/device/block_device.h"
#include "engine/ring/task.h"
#include "engine/table/segment_builder.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_reader.h"
#include "engine/version/version.h"
#include "engine/version/version_edit.h"

namespace varve {

class ExtentAllocator;
class OlderData;

// Sees the keys of merges from level 0 into level 1, once for each version of a key that the merge reads.
// Jobs run on background executors: an observer that several jobs may call at once locks for itself, and must
// be quick.
class MergeObserver {
 public:
  virtual ~MergeObserver() = default;
  virtual void OnMergedKey(std::string_view user_key) = 0;
};

// Asked between slices of work: how long the job must pause before it goes on. For rate limits.
class JobPacer {
 public:
  virtual ~JobPacer() = default;
  // `bytes` were read and written since the last call.
  virtual uint64_t PauseNanos(uint64_t bytes) = 0;
};

// What limits of merges into a level go by.
struct MergeShares {
  // Of the store's live bytes, the level's.
  double of_store = 0;
  // Of the records that come, the tombstones.
  double tombstones = 0;
};

// How tables of a level are built.
class TableShape {
 public:
  virtual ~TableShape() = default;
  virtual SegmentOptions OptionsOf(uint32_t level) const = 0;
  // How merges into the level may treat its tables.
  virtual MergeLimits LimitsOf(uint32_t level, const MergeShares& shares) const = 0;
};

struct JobEnvironment {
  TableEnvironment table;
  ExtentAllocator& allocator;
  const TableShape& shape;
  // Never handed out before; any thread.
  std::function<TableId()> new_table_id;
  // Whether the newest generation of a table is its only one: no reader holds an older one. May be empty:
  // never.
  std::function<bool(TableId)> has_one_generation = {};
  // Whether merges put into the cache what they write of blocks that are cached, and flushes what is read.
  bool carries_cached = false;
  // Both may be nullptr.
  MergeObserver* observer = nullptr;
  JobPacer* pacer = nullptr;
  // Set from any thread: the job ends with kCancelled at its next slice. May be nullptr.
  const std::atomic<bool>* cancelled = nullptr;
  // Whether merges ask the tables below for the keys of tombstones (OlderData).
  bool removes_tombstones_early = false;

  // Lets `older` ask, where that is wanted, at a cost that is little for a job that reads so many bytes.
  void LetAsk(OlderData& older, uint64_t job_bytes) const;
  // How merges read tables.
  TableIteratorOptions MergeReading(uint32_t readahead_bytes) const;
};

struct JobStatistics {
  uint64_t read_bytes = 0;     // of the input tables' data
  uint64_t written_bytes = 0;  // to the output tables, meta and padding included
  uint64_t entries_in = 0;
  uint64_t entries_out = 0;
  uint64_t tables_in = 0;
  uint64_t tables_out = 0;
  // Of those that were read: left out since no table below holds their key, though its range covers it.
  uint64_t tombstones_removed_early = 0;
  // Of those that were read: left out since range tombstones hide them.
  uint64_t hidden_by_ranges = 0;
  // Child tables by what was made of them (ChildMerge).
  std::array<uint64_t, kChildMerges> children_by{};

  void Add(const JobStatistics& other);
};

// What a job did. Its tables are durable; nobody knows of them before `edit` is installed. If it never is,
// DiscardOutput gives back the space that they took, and what the cache has of them.
struct JobOutput {
  VersionEdit edit;
  JobStatistics statistics;
  // Beside what a next generation of a table has from the one before.
  std::vector<Extent> taken;
  // What no table names once `edit` is installed, of tables that live on.
  std::vector<BlockKey> dead_blocks;

  // A table of its own.
  void AddTable(Place place, TableView view);
};

// Makes what a job has written durable, once for all of its tables, before anybody hears of them. Where that
// fails, `made` is discarded.
Task<Result<JobOutput>> MadeDurable(const JobEnvironment& environment, IoPurpose purpose, JobOutput made);

void DiscardOutput(const JobEnvironment& environment, const JobOutput& output);

}  // namespace varve
