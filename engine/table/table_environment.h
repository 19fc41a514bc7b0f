// What every reader and writer of tables is given: where the blocks lie, where they are cached, whose they
// are.
#pragma once

#include <array>
#include <cstdint>

#include "engine/base/result.h"
#include "engine/cache/block_cache.h"
#include "engine/device/block_device.h"
#include "engine/space/extent.h"

namespace varve {

using StoreUuid = std::array<uint8_t, 16>;

// All three must outlive whoever holds the environment.
struct TableEnvironment {
  BlockDevice& device;
  BlockCache& cache;
  StoreUuid store_uuid{};
};

// Where a table writer gets its space: in production a job's reservation.
class ExtentSource {
 public:
  virtual ~ExtentSource() = default;
  // A run of at least one sector, and at most `bytes_wanted` rounded up to the allocator's unit; a shorter
  // run where space is in pieces. The writer owns it until it ends up in a view or goes back.
  virtual Result<Extent> Take(uint64_t bytes_wanted) = 0;
  // The unused end of a run, or a whole one, never written to. `extent` is rounded to the allocator's unit.
  virtual void GiveBack(Extent extent) = 0;
  // A power of two.
  virtual uint64_t unit_bytes() const = 0;
};

}  // namespace varve
