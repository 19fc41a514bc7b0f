// BusySet: what running jobs hold. A table is in one job at most, and jobs that put tables into the same
// level's Tree have disjoint hulls: then their edits commute, and each can be installed on whatever version
// is newest. What goes into a Log needs no hull: moved from the Tree it is newer than all that lies there,
// and a table that is merged with itself is where it was.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/version/compaction_plan.h"

namespace varve {

// Not thread-safe: owned by the scheduler, which takes and gives back under its own lock.
class BusySet {
 public:
  // Precondition: CanRun(plan).
  void Add(const CompactionPlan& plan);
  // Precondition: was added.
  void Remove(const CompactionPlan& plan);

  bool empty() const { return tables_.empty(); }
  bool Holds(TableId table) const { return tables_.contains(table); }
  // Whether a running job may put tables into the Tree of `level` within `range`.
  bool Meets(uint32_t level, const KeyRangeView& range) const;
  bool CanRun(const CompactionPlan& plan) const;

 private:
  std::unordered_set<TableId> tables_;
  std::array<std::vector<KeyRange>, kLevels> hulls_;
};

}  // namespace varve
