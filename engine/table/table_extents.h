// From table offsets to the device.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/units.h"
#include "engine/table/table_view.h"

namespace varve {

struct TableRun {
  DeviceOffset device_offset;
  // How far the run goes on without a jump on the device, at most what was asked; 0: the offset is in no
  // extent.
  uint64_t bytes = 0;
};

// The run of at most `bytes` that starts at `table_offset`.
TableRun RunAt(const std::vector<TableExtent>& extents, uint64_t table_offset, uint64_t bytes);

}  // namespace varve
