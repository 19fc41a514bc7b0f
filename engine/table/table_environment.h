// What every reader and writer of tables is given: where the blocks lie, where they are cached, whose they
// are.
#pragma once

#include <array>
#include <cstdint>

#include "engine/cache/block_cache.h"
#include "engine/device/block_device.h"

namespace varve {

using StoreUuid = std::array<uint8_t, 16>;

// All three must outlive whoever holds the environment.
struct TableEnvironment {
  BlockDevice& device;
  BlockCache& cache;
  StoreUuid store_uuid{};
};

}  // namespace varve
