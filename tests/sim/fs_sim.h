// A filesystem on a store on a hostile device under simulation: several clients, each below a directory of
// its own, rounds that end in a crash, a kill or an unmount; TreeOracle judges what is seen.
#pragma once

#include <cstdint>

#include "tests/sim/drawn_techniques.h"
#include "tests/sim/world.h"

namespace varve::sim {

// Everything that happens follows from the seed.
Outcome SimulateFileSystem(uint64_t seed, Drawn techniques = Drawn::kBySeed);

}  // namespace varve::sim
