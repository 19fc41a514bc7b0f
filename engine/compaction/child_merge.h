// What a merge makes of one child table, whichever way it goes.
#pragma once

#include <optional>
#include <vector>

#include "engine/compaction/job_environment.h"
#include "engine/compaction/merge_rules.h"
#include "engine/space/extent_allocator.h"
#include "engine/table/table_view.h"

namespace varve {

// In place of the child: its next generation, or new tables; none where no record is left.
struct ChildOutput {
  std::vector<TableView> tables;
  // Space that the tables have and the child had not.
  std::vector<Extent> taken;
  // Blocks of the child that its next generation names no more.
  std::vector<BlockKey> dead_blocks;
  JobStatistics statistics;
};

}  // namespace varve
