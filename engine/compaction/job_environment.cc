#include "engine/compaction/job_environment.h"

#include <algorithm>

#include "engine/space/extent_allocator.h"

namespace varve {

void DiscardOutput(const JobEnvironment& environment, const JobOutput& output) {
  for (const VersionEdit::AddedTable& added : output.edit.added_tables) {
    const bool only_moves = std::any_of(
        output.edit.removed_tables.begin(), output.edit.removed_tables.end(),
        [&](const VersionEdit::RemovedTable& removed) { return removed.table.id == added.view.id; });
    if (only_moves) {
      continue;
    }
    for (const TableExtent& part : added.view.extents) {
      const std::vector<Extent> extents{part.extent};
      environment.allocator.Release(extents);
    }
  }
}

}  // namespace varve
