// The flush job: memtables become tables of level 0.
#pragma once

#include <memory>
#include <vector>

#include "engine/base/result.h"
#include "engine/compaction/job_environment.h"
#include "engine/compaction/merge_rules.h"
#include "engine/ring/task.h"
#include "engine/table/internal_iterator.h"

namespace varve {

struct FlushInput {
  // Over all of one immutable memtable, or of several that are merged into one table (then the caller merges
  // them).
  std::unique_ptr<InternalIterator> records;
  // An upper bound of the keys' and values' bytes and of their number: what is reserved goes by them.
  uint64_t bytes_max = 0;
  uint64_t entries_max = 0;
  // Of the memtables, whose records they hide, too; nullptr: none.
  const RangeTombstones* ranges = nullptr;
  SnapshotList snapshots;
  // What is in tables, and with it all that is older than the records; nullptr: it is not known.
  std::shared_ptr<const Version> base;
  // Readers come for records of late: what is written enters the cache, as what it replaces stands there.
  // Needs `base`.
  bool is_read = false;
};

// One table of level 0 (none when the memtable is empty), durable when the Task ends: the edit adds it, and
// those range tombstones that hide something in it or in `base`, and raises last_sequence. The caller adds to
// the edit what becomes of the log. Versions that no snapshot sees are dropped; tombstones are kept, but
// where the environment removes them early and nothing in `base` holds their key. Runs in slices on the
// calling executor. Errors: kNoSpace (nothing was written), kDeviceError, kCancelled; space taken has been
// given back.
Task<Result<JobOutput>> RunFlush(JobEnvironment environment, FlushInput input);

}  // namespace varve
