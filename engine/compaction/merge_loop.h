// The loop that every merge runs: records in key order from an iterator, through the merge rules, into
// tables; in slices, so that others on the executor are served in between.
#pragma once

#include "engine/base/result.h"
#include "engine/base/units.h"
#include "engine/compaction/job_environment.h"
#include "engine/compaction/merge_rules.h"
#include "engine/compaction/record_sink.h"
#include "engine/ring/task.h"
#include "engine/table/internal_iterator.h"

namespace varve {

// Moves everything from `records`, from its first on, into `output`, which the caller then finishes, or
// abandons after an error. `observer` may be nullptr. Counts entries in `statistics`. All must outlive the
// Task. Errors: those of `records` and `output`, kCancelled.
Task<Status> MergeRecords(const JobEnvironment& environment, InternalIterator& records, MergeRules& rules,
                          MergeObserver* observer, RecordSink& output, JobStatistics& statistics);

// Between slices, once `bytes` of at least kMergeSliceBytes have been merged: lets others run. For whoever
// calls MergeRecords many times for little each. A slice is about a tenth of a millisecond of merging.
// Errors: kCancelled.
inline constexpr uint64_t kMergeSliceBytes = 64 * kKiB;
Task<Status> EndMergeSlice(const JobEnvironment& environment, uint64_t bytes);

}  // namespace varve
