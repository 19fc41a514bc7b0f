// The space of a job's tables: what it reserves before it writes the first byte, and how it takes it.
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "engine/space/extent_allocator.h"
#include "engine/table/extent_source.h"
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

// Enough for all but tables of records that are little more than very long keys, whose index is as large as
// their data; more so where an index holds more of these than those of the inputs did, since neighbours that
// come from different inputs share more than neighbours within one.
uint64_t OutputSpaceMax(const OutputSpaceInput& input);

// Takes from the job's reservation, and where that was too small for what the records turned out to be, asks
// the internal share for more: then only can a job run out of space half-way. The references must outlive it;
// used on the job's executor.
class JobExtents final : public ExtentSource {
 public:
  JobExtents(ExtentAllocator& allocator, SpaceReservation& reservation)
      : allocator_(allocator), reservation_(reservation), reserved_(allocator, reservation) {}

  Result<std::vector<Extent>> Take(uint64_t bytes_wanted) override;
  void GiveBack(Extent extent) override { reserved_.GiveBack(extent); }

 private:
  ExtentAllocator& allocator_;
  SpaceReservation& reservation_;
  ReservedExtents reserved_;
};

}  // namespace varve
