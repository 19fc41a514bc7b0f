#include "engine/compaction_buffer/buffered_merge.h"

#include <algorithm>
#include <string_view>

#include "engine/compaction_buffer/table_heat.h"

namespace varve {

namespace {

// Of the share that has to be cached of what stays, what has to be of what comes. A table of an upper level
// lives shortly and is read seldom, so much of it is not cached yet; and a hole costs more than a view that
// is trimmed later.
constexpr double kEnteringShare = 0.4;

// The plan's inputs as a get would meet them, the other way round: a Log is older than its Tree.
std::vector<const PlanInput*> OldestFirst(const Version& version, const CompactionPlan& plan) {
  std::vector<const PlanInput*> inputs;
  const auto add_of = [&](Part part, const std::vector<StampedTable>& oldest_first) {
    for (const StampedTable& placed : oldest_first) {
      for (const PlanInput& input : plan.inputs) {
        if (input.place.part == part && input.table == placed.table) {
          inputs.push_back(&input);
        }
      }
    }
  };
  add_of(Part::kLevel0, version.level0());
  const uint32_t level = plan.output_level - 1;
  if (level > 0) {
    add_of(Part::kLog, version.level(level).log);
  }
  for (const PlanInput& input : plan.inputs) {
    if (input.place.part == Part::kTree) {
      inputs.push_back(&input);
    }
  }
  return inputs;
}

}  // namespace

std::vector<VersionEdit::BufferElement> BufferElementsOf(const TableEnvironment& environment,
                                                         const Version& version, const CompactionPlan& plan,
                                                         double hot_share) {
  std::vector<VersionEdit::BufferElement> elements;
  const bool goes_down = std::all_of(plan.inputs.begin(), plan.inputs.end(), [&](const PlanInput& input) {
    return input.place.level + 1 == plan.output_level;
  });
  if (MovesTables(plan.kind) || !goes_down) {
    return elements;
  }
  for (const PlanInput* const input : OldestFirst(version, plan)) {
    const KeyRangeView range = input->table->range();
    VersionEdit::BufferElement element{plan.output_level, {}, range.Owned()};
    const Buffer& below = version.level(plan.output_level).buffer;
    const Buffer none;
    const Buffer& above = input->place.part == Part::kTree ? version.level(input->place.level).buffer : none;
    const IsServed served = [&](std::string_view user_key) {
      return !above.At(user_key).empty() || !below.At(user_key).empty();
    };
    KeptPart part =
        HotPartOf(environment, input->table->view(), KeySpans::Of(range), served, kEnteringShare * hot_share);
    if (!part.kept.empty()) {
      element.kept = std::move(part.kept);
      element.view = part.view.has_value() ? std::move(*part.view) : input->table->view();
    }
    elements.push_back(std::move(element));
  }
  return elements;
}

}  // namespace varve
