#include "engine/table/extent_source.h"

#include <algorithm>

namespace varve {

Result<std::vector<Extent>> ReservedExtents::Take(uint64_t bytes_wanted) {
  if (reservation_.bytes_left() == 0) {
    return NoSpace("a job's reservation is used up");
  }
  return allocator_.Take(reservation_, std::min(bytes_wanted, reservation_.bytes_left()));
}

void ReservedExtents::GiveBack(Extent extent) {
  allocator_.PutBack(reservation_, {&extent, 1});
}

}  // namespace varve
