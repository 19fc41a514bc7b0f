// WalSegment: one extent of the write-ahead log, as the manifest names it. Its allocation is durable there
// before anything is written to it.
#pragma once

#include <cstdint>

#include "engine/base/units.h"
#include "engine/space/extent.h"

namespace varve {

struct WalSegment {
  // Position in the chain of all segments there ever were; an extent that is recycled gets a new number.
  uint64_t number = 0;
  Extent extent;

  bool operator==(const WalSegment&) const = default;
};

}  // namespace varve
