// Where a table writer gets its space.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/result.h"
#include "engine/space/extent.h"
#include "engine/space/extent_allocator.h"

namespace varve {

class ExtentSource {
 public:
  virtual ~ExtentSource() = default;
  // At least one unit, and at most what `bytes_wanted` rounds up to, in as few extents as possible; less than
  // wanted where less is left. Error: kNoSpace. The writer owns them until they end up in a view or go back.
  virtual Result<std::vector<Extent>> Take(uint64_t bytes_wanted) = 0;
  // What the writer took and does not use. Nothing in it belongs to a table; failed writes may have touched
  // it.
  virtual void GiveBack(Extent extent) = 0;
};

// A job's reservation. Both must outlive it; used on the job's executor.
class ReservedExtents final : public ExtentSource {
 public:
  ReservedExtents(ExtentAllocator& allocator, SpaceReservation& reservation)
      : allocator_(allocator), reservation_(reservation) {}

  Result<std::vector<Extent>> Take(uint64_t bytes_wanted) override;
  void GiveBack(Extent extent) override;

 private:
  ExtentAllocator& allocator_;
  SpaceReservation& reservation_;
};

}  // namespace varve
