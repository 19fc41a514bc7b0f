// A table of the model: which keys it holds and how they lie in blocks, without their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/compaction/merge_choice.h"

namespace varve::write_model {

// Ascending.
using Keys = std::vector<uint32_t>;

// What all tables of a level share.
struct LevelShape {
  uint64_t record_bytes = 0;  // key and value
  uint64_t table_bytes = 0;
  uint32_t block_bytes = 0;
  double bits_per_key = 0;
  double filter_reserve = 0;
  double filter_share_max = 0;
};

struct ModelTable {
  Keys keys;
  // Records that each entry of the index means.
  std::vector<uint32_t> index;
  double wasted_bytes = 0;
  size_t segments = 1;
  FilterDescriptor filter;

  double LiveBytes(const LevelShape& shape) const {
    return static_cast<double>(keys.size() * shape.record_bytes);
  }
  double MetaBytes(const LevelShape& shape) const;
};

// As few tables as hold the keys, of one size, and what their writing costs is added to `written_bytes`.
std::vector<ModelTable> TablesOf(const Keys& keys, const LevelShape& shape, double& written_bytes);

// What a merge by blocks does to a table that `records` come to.
struct ModelMend {
  std::vector<uint32_t> index;
  DirtyFacts facts;
  double written_bytes = 0;
  double wasted_bytes = 0;
};
ModelMend Mend(const ModelTable& table, const Keys& records, const LevelShape& shape);

Keys MergedKeys(const Keys& a, const Keys& b);

}  // namespace varve::write_model
