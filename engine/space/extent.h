// Extent: a run of bytes on the device, the unit in which space has an owner.
#pragma once

#include <cstdint>

#include "engine/base/units.h"

namespace varve {

struct Extent {
  DeviceOffset offset;
  uint64_t bytes = 0;

  DeviceOffset end() const { return offset + bytes; }
  bool operator==(const Extent&) const = default;
};

}  // namespace varve
