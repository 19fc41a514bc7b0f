// Tiny everything: some thousand operations, or a few hundred files, make several levels.
#pragma once

#include "engine/base/units.h"
#include "engine/store/store.h"

namespace varve {

inline StoreOptions SmallStoreOptions() {
  StoreOptions options;
  options.memtable_bytes = 32 * kKiB;
  options.block_cache_bytes = 256 * kKiB;
  options.table_bytes = 16 * kKiB;
  options.level1_bytes = 64 * kKiB;
  options.level_ratio = 4;
  options.level0_tables_trigger = 2;
  return options;
}

}  // namespace varve
