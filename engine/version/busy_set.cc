#include "engine/version/busy_set.h"

#include <algorithm>

#include "engine/base/check.h"

namespace varve {

void BusySet::Add(const CompactionPlan& plan) {
  Check(CanRun(plan), "a compaction was started in the way of a running one");
  for (const PlanInput& input : plan.inputs) {
    tables_.insert(input.table->id());
  }
  for (const std::shared_ptr<const LiveTable>& child : plan.children) {
    tables_.insert(child->id());
  }
  if (plan.output_part == Part::kTree) {
    hulls_[plan.output_level].push_back(plan.hull);
  }
}

void BusySet::Remove(const CompactionPlan& plan) {
  for (const PlanInput& input : plan.inputs) {
    tables_.erase(input.table->id());
  }
  for (const std::shared_ptr<const LiveTable>& child : plan.children) {
    tables_.erase(child->id());
  }
  if (plan.output_part != Part::kTree) {
    return;
  }
  std::vector<KeyRange>& hulls = hulls_[plan.output_level];
  const auto hull = std::find(hulls.begin(), hulls.end(), plan.hull);
  Check(hull != hulls.end(), "a compaction ended that never started");
  hulls.erase(hull);
}

bool BusySet::Meets(uint32_t level, const KeyRangeView& range) const {
  return std::any_of(hulls_[level].begin(), hulls_[level].end(),
                     [&](const KeyRange& hull) { return range.Overlaps(hull); });
}

bool BusySet::CanRun(const CompactionPlan& plan) const {
  const auto holds = [&](const std::shared_ptr<const LiveTable>& table) { return Holds(table->id()); };
  return !(plan.output_part == Part::kTree && Meets(plan.output_level, plan.hull)) &&
         std::none_of(plan.inputs.begin(), plan.inputs.end(),
                      [&](const PlanInput& input) { return holds(input.table); }) &&
         std::none_of(plan.children.begin(), plan.children.end(), holds);
}

}  // namespace varve
