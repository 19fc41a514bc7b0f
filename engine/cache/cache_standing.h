// How a block stands in the block cache.
#pragma once

#include <cstdint>

namespace varve {

// In order: a block becomes proven by hits while it is on trial.
enum class CacheStanding : uint8_t { kAbsent, kOnTrial, kProven };

}  // namespace varve
