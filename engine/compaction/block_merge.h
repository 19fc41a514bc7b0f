// Block merge (BlockDB, section 4.2): a child table of one segment gets its next generation. The blocks that
// the parent's records touch are merged with them and written anew; the others stay where they are, cached as
// they are; index, changed pages of the filter, and footer are new.
#pragma once

#include "engine/base/result.h"
#include "engine/compaction/child_merge.h"
#include "engine/compaction/mend_plan.h"
#include "engine/compaction/record_run.h"
#include "engine/ring/task.h"
#include "engine/table/segment_layout.h"

namespace varve {

struct BlockMergeInput {
  const TableView* child = nullptr;
  uint32_t level = 0;
  // Of the child's one segment. The keys of what stays are moved out of it.
  SegmentLayout* layout = nullptr;
  const MendPlan* plan = nullptr;
  const RecordRun* records = nullptr;
  // Whether what the child no longer uses may be written again: no older generation of it lives.
  bool reuse_holes = false;
  // Of the child as it is: TableView::purged_up_to, or more where more is known.
  SequenceNumber child_purged_up_to = {};
};

// Memory: a window of dirty blocks, at most 1 MiB or one block. Preconditions: one segment; its filter has
// room for all records. All must outlive the Task. Errors: kNoSpace, kCorruption, kUnsupported, kDeviceError,
// kCancelled; space taken has been given back.
Task<Result<ChildOutput>> RunBlockMerge(const JobEnvironment& environment, BlockMergeInput input,
                                        MergeRules& rules, SpaceReservation& reservation);

}  // namespace varve
