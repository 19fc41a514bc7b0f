// Append merge (LSMA, "Append-based compaction"): the records become one more segment at the end of a child
// table, which gets its next generation; nothing that the table holds is read or written.
#pragma once

#include "engine/base/result.h"
#include "engine/compaction/child_merge.h"
#include "engine/ring/task.h"
#include "engine/table/internal_iterator.h"

namespace varve {

struct AppendMergeInput {
  const TableView* child = nullptr;
  uint32_t level = 0;
  // In key order, from its first on.
  InternalIterator* records = nullptr;
  uint64_t expected_bytes = 0;
  // Of the child as it is: TableView::purged_up_to, or more where more is known.
  SequenceNumber child_purged_up_to = {};
};

// `rules` must know of the child as of older data: a tombstone stays for what lies in the segments before.
// Where no record is left the child stays as it is. What the new segment shadows is no longer counted as live
// in the others (an estimate). Precondition: fewer than kSegmentsMax segments, and a record at least. All
// must outlive the Task. Errors: kNoSpace, kCorruption, kUnsupported, kDeviceError, kCancelled; space taken
// has been given back.
Task<Result<ChildOutput>> RunAppendMerge(const JobEnvironment& environment, AppendMergeInput input,
                                         MergeRules& rules, SpaceReservation& reservation);

}  // namespace varve
