// TreeConfig: the sizes and thresholds that the picker of the Trees goes by.
#pragma once

#include <cstdint>

#include "engine/base/units.h"
#include "engine/tree/delete_picker.h"

namespace varve {

struct TreeConfig {
  uint64_t table_bytes = 64 * kMiB;
  uint64_t level1_bytes = 256 * kMiB;
  uint32_t level_ratio = 10;
  // A deeper level 0 costs reads and saves writes: each merge rewrites level 1 for more tables.
  uint32_t level0_tables_trigger = 4;
  // As many may gather there while users write; less than the trigger: that many.
  uint32_t level0_tables_max = 0;
  // Whether that is what level 0 waits for, where its merge rewrites little of level 1; else it is less where
  // the sizes of the other levels say so (level_targets.h).
  bool level0_always_waits = false;
  // A table of level 0 counts as one from this size on, below it by its share. 0: each counts as one.
  uint64_t level0_full_table_bytes = 0;
  // How far a level may exceed its capacity before it is compacted.
  double slack = 1.0;
  // Outputs of a merge into level i overlap at most this many tables' worth of level i+1.
  uint32_t grandparent_tables_max = 25;
  // What SST-Logs may hold, of the bytes in Trees; 0: there are none.
  double log_share = 0;
  // What tables may take beyond what is live in the level that holds most of it, as a share of that, before
  // those of it that waste much are merged with themselves (engine/tree/space_bound.h); 0: no bound.
  double beyond_level_of_most_max = 0;
  DeleteConfig deletes;
};

}  // namespace varve
