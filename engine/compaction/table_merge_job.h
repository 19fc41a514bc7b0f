// The table merge job: inputs and the child tables that they overlap become new tables of the child level.
#pragma once

#include <memory>

#include "engine/base/result.h"
#include "engine/compaction/job_environment.h"
#include "engine/compaction/merge_rules.h"
#include "engine/ring/task.h"
#include "engine/version/compaction_plan.h"

namespace varve {

// What RunTableMerge(plan) reserves before it writes a byte: enough for inputs and outputs to be on the
// device at once. 0 for a trivial move. With `ranges`, tables of which readers at `oldest_snapshot` and later
// ones see nothing do not count.
uint64_t SpaceNeededBy(const CompactionPlan& plan, const TableShape& shape,
                       const RangeTombstones* ranges = nullptr, SequenceNumber oldest_snapshot = {});

// `base` is the Version that `plan` was picked on, or a later one; `snapshots` were taken from the store
// after it was. The outputs are durable when the Task ends; the edit takes the inputs and children away and
// adds the outputs. Runs in slices on the calling executor. Precondition: plan.kind is kTableMerge. Errors:
// kNoSpace (nothing was written), kCorruption, kDeviceError, kCancelled; space taken has been given back.
Task<Result<JobOutput>> RunTableMerge(JobEnvironment environment, CompactionPlan plan,
                                      std::shared_ptr<const Version> base, SnapshotList snapshots);

// The edit of a plan that moves tables as they are: a trivial move into the Tree of the next level, or a
// pseudo compaction into the Log of theirs. Precondition: MovesTables(plan.kind).
VersionEdit MoveEdit(const CompactionPlan& plan);

}  // namespace varve
