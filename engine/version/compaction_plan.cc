#include "engine/version/compaction_plan.h"

#include <fmt/core.h>

#include <utility>

namespace varve {

std::string_view MergeKindName(MergeKind kind) {
  switch (kind) {
    case MergeKind::kTrivialMove:
      return "trivial-move";
    case MergeKind::kTableMerge:
      return "table-merge";
    case MergeKind::kBlockMerge:
      return "block-merge";
    case MergeKind::kAppendMerge:
      return "append-merge";
    case MergeKind::kPseudoCompaction:
      return "pseudo-compaction";
  }
  return "unknown";
}

std::string_view PlanReasonName(PlanReason reason) {
  switch (reason) {
    case PlanReason::kLevel0Tables:
      return "level0-tables";
    case PlanReason::kSize:
      return "size";
    case PlanReason::kDeletes:
      return "deletes";
    case PlanReason::kSpace:
      return "space";
    case PlanReason::kRequested:
      return "requested";
    case PlanReason::kReads:
      return "reads";
  }
  return "unknown";
}

void CompactionPlan::AddInput(Place place, std::shared_ptr<const LiveTable> table) {
  if (inputs.empty()) {
    hull = table->range().Owned();
  } else {
    ExtendToCover(hull, table->range());
  }
  inputs.push_back({place, std::move(table)});
}

uint64_t CompactionPlan::input_bytes() const {
  uint64_t bytes = 0;
  for (const PlanInput& input : inputs) {
    bytes += input.table->valid_bytes();
  }
  return bytes;
}

uint64_t CompactionPlan::child_bytes() const {
  uint64_t bytes = 0;
  for (const std::shared_ptr<const LiveTable>& child : children) {
    bytes += child->valid_bytes();
  }
  return bytes;
}

std::string ToString(const CompactionPlan& plan) {
  std::string text =
      fmt::format("{} {} {}->{}:", MergeKindName(plan.kind), PlanReasonName(plan.reason),
                  plan.inputs.empty() ? 0 : plan.inputs.front().place.level, plan.output_level);
  for (const PlanInput& input : plan.inputs) {
    text += fmt::format(" {}{}", input.table->id().value, input.place.part == Part::kLog ? "(log)" : "");
  }
  if (!plan.children.empty()) {
    text += " with";
  }
  for (const std::shared_ptr<const LiveTable>& child : plan.children) {
    text += fmt::format(" {}", child->id().value);
  }
  return text + fmt::format(", hull {}..{}", plan.hull.smallest, plan.hull.largest);
}

}  // namespace varve
