// A model of the write path: what merges write into each level while records are put whose keys are drawn
// uniformly. There is no device and there are no bytes, only keys and counts; but the choice of how a child
// is merged is the engine's own (merge_choice.h), and so are the sizes (store_shape.h). Beside a measurement
// it says whether the cost model holds (docs/design/merging.md).
#pragma once

#include <array>
#include <cstdint>

#include "engine/compaction/merge_choice.h"
#include "engine/store/store.h"
#include "engine/version/version.h"

namespace varve::write_model {

struct ModelOptions {
  // Puts, and the keys that they draw from, with repetition.
  uint64_t records = 2'500'000;
  uint64_t record_bytes = 1032;  // key and value
  uint64_t device_bytes = 8 * kGiB;
  uint32_t sector_bytes = 512;
  uint32_t block_bytes = 4 * kKiB;
  // Memtable, tables, levels, techniques.
  StoreOptions store;
  uint64_t seed = 1;
};

struct ModelLevel {
  double written_bytes = 0;
  double bytes = 0;
  // Of them: neither live nor index or filter.
  double wasted_bytes = 0;
  std::array<uint64_t, kChildMerges> children_by{};
};

struct ModelResult {
  double user_bytes = 0;
  std::array<ModelLevel, kLevels> levels;

  // With the log, which takes every byte once.
  double written_bytes() const;
  double bytes() const;
};

// Errors: kInvalidArgument (a device that is too small).
Result<ModelResult> RunWriteModel(const ModelOptions& options);

}  // namespace varve::write_model
