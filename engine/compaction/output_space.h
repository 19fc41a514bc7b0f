// How much space a job's tables can take at worst: what it reserves before it writes the first byte.
#pragma once

#include <cstdint>

#include "engine/table/segment_builder.h"

namespace varve {

struct OutputSpaceInput {
  // Of all records that go in: keys, values and what holds them together.
  uint64_t data_bytes = 0;
  uint64_t entries = 0;
  SegmentOptions options;
  // Index, filters and footers of the inputs: an index costs with new tables about what it cost with the old
  // ones.
  uint64_t meta_bytes = 0;
  // 0: one table.
  uint64_t table_bytes = 0;
  // Cuts at grandparents beyond those at table_bytes.
  uint64_t further_cuts = 0;
};

uint64_t OutputSpaceMax(const OutputSpaceInput& input);

}  // namespace varve
