// The merge job: inputs go down into the child tables that they overlap, each child by the way that is
// cheapest for it (merge_choice.h): by blocks, by a further segment, or as new tables.
#pragma once

#include <memory>

#include "engine/base/result.h"
#include "engine/compaction/job_environment.h"
#include "engine/compaction/merge_rules.h"
#include "engine/ring/task.h"
#include "engine/version/compaction_plan.h"

namespace varve {

// As RunTableMerge, which it is where no technique is on for the plan's level, or there are no children. One
// sub-task a child, at most three at once, on the calling executor. What of the inputs lies between two
// children goes to the second; a user key's versions go to one child. Memory: a sub-task holds the records of
// its child where they are few enough for a block merge, at most 8 MiB.
Task<Result<JobOutput>> RunMerge(JobEnvironment environment, CompactionPlan plan,
                                 std::shared_ptr<const Version> base, SnapshotList snapshots);

}  // namespace varve
