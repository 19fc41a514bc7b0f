// The loop that every merge runs: records in key order from an iterator, through the merge rules, into
// tables; in slices, so that others on the executor are served in between.
#pragma once

#include "engine/base/result.h"
#include "engine/compaction/job_environment.h"
#include "engine/compaction/merge_rules.h"
#include "engine/compaction/table_output.h"
#include "engine/ring/task.h"
#include "engine/table/internal_iterator.h"

namespace varve {

// Moves everything from `records` into `output`, which the caller then finishes, or abandons after an error.
// `observer` may be nullptr. Counts entries in `statistics`. All must outlive the Task.
// Errors: those of `records` and `output`, kCancelled.
Task<Status> MergeRecords(const JobEnvironment& environment, InternalIterator& records, MergeRules& rules,
                          MergeObserver* observer, TableOutput& output, JobStatistics& statistics);

}  // namespace varve
