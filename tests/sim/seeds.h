// How tests run seeds: those kept in seeds.txt, and a range that the environment may change
// (VARVE_SIM_FIRST_SEED, VARVE_SIM_SEEDS).
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "tests/sim/world.h"

namespace varve::sim {

using Simulate = std::function<Outcome(uint64_t seed)>;

// Every outcome must be without failure; a failure prints the seed and the end of its trace. Stops at the
// first. Prints the sum of the figures.
void RunSeeds(const Simulate& simulate, uint64_t first, uint64_t count);
// The range of the environment, or the one given.
void RunSeedRange(const Simulate& simulate, uint64_t first, uint64_t count);
// The lines "KIND SEED ..." of seeds.txt.
void RunKeptSeeds(const Simulate& simulate, std::string_view kind);
// The same seed twice must leave the same trace.
void RunTwice(const Simulate& simulate, uint64_t seed);

}  // namespace varve::sim
