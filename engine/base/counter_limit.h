// How far the numbers go that a store counts up.
#pragma once

#include <cstdint>

namespace varve {

// No store ever counts this far, in whatever kind of number: one above it, read from a device, is damage.
// Below it sums do not overflow, and as many writes again can follow before sequence numbers end.
inline constexpr uint64_t kCounterMax = uint64_t{1} << 55;

}  // namespace varve
