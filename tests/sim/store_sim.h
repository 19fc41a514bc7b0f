// A store under simulation: several clients at once, rounds that end in a crash, a kill or a close, faults of
// the device; StoreOracle judges what is seen.
#pragma once

#include <cstdint>

#include "tests/sim/drawn_techniques.h"
#include "tests/sim/world.h"

namespace varve::sim {

// Everything that happens follows from the seed.
Outcome SimulateStore(uint64_t seed, Drawn techniques = Drawn::kBySeed);

}  // namespace varve::sim
