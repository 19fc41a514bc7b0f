// CompactionPlan: what a picker decided and a job carries out, as a value. It holds the tables that it names,
// so they stay readable while the job runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/version/version.h"
#include "engine/version/version_edit.h"

namespace varve {

enum class MergeKind : uint8_t {
  kTrivialMove,  // one table that no child overlaps changes its level: an edit and nothing else
  kTableMerge,   // inputs and children are merged into new tables
  // Ways to merge into a child without rewriting it, and to move without merging.
  kBlockMerge,
  kAppendMerge,
  kPseudoCompaction,  // tables of a Tree go into the Log of their level: an edit and nothing else
};
std::string_view MergeKindName(MergeKind kind);
inline bool MovesTables(MergeKind kind) {
  return kind == MergeKind::kTrivialMove || kind == MergeKind::kPseudoCompaction;
}

enum class PlanReason : uint8_t {
  kLevel0Tables,  // level 0 has too many tables
  kSize,          // a level is over its capacity
  kDeletes,
  kSpace,
  kRequested,
  kReads,  // readers have paid for a table's segments what writing it as one costs
};
std::string_view PlanReasonName(PlanReason reason);

struct PlanInput {
  Place place;
  std::shared_ptr<const LiveTable> table;
};

struct CompactionPlan {
  MergeKind kind = MergeKind::kTableMerge;
  PlanReason reason = PlanReason::kSize;
  uint32_t output_level = 0;
  // kLog: what a pseudo compaction moves; else the input is one table of that Log, which is merged with
  // itself and keeps its place in the order of installs.
  Part output_part = Part::kTree;
  // What leaves its place, from above the output level. Closed under overlap: nothing older in the same part
  // that overlaps an input stays behind.
  std::vector<PlanInput> inputs;
  // All tables of the output level's Tree that overlap the hull, in key order.
  std::vector<std::shared_ptr<const LiveTable>> children;
  // Covers the inputs and the children: no other job of this output level may meet it.
  KeyRange hull;
  // Outputs end at this size; 0: there is one.
  uint64_t output_table_bytes = 0;
  // Tables of the next level's Tree under the hull, in key order: outputs also end where they would come to
  // overlap more than grandparent_bytes_max of them, so that the next merge stays small.
  std::vector<std::shared_ptr<const LiveTable>> grandparents;
  uint64_t grandparent_bytes_max = 0;

  // Adds an input, and makes the hull cover it.
  void AddInput(Place place, std::shared_ptr<const LiveTable> table);
  Place output_place() const { return {output_level, output_part}; }
  uint64_t input_bytes() const;
  uint64_t child_bytes() const;
};

// One line for golden scenarios and the log: "table-merge size 1->2: 4 7(log) with 9 10, hull a..m".
std::string ToString(const CompactionPlan& plan);

}  // namespace varve
