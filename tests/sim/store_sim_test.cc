// The store's promises against a hostile device: thousands of crashes, each from a seed.
#include "tests/sim/store_sim.h"

#include <gtest/gtest.h>

#include "tests/sim/seeds.h"

namespace varve::sim {
namespace {

TEST(StoreSimulation, KeptSeedsStayMended) {
  PrintTraceOnAbort();
  RunKeptSeeds(SimulateStore, "store");
}

TEST(StoreSimulation, NothingIsLostAndNothingIsWrong) {
  PrintTraceOnAbort();
  RunSeedRange(SimulateStore, 1, 200);
}

TEST(StoreSimulation, ASeedReplaysExactly) {
  for (const uint64_t seed : {11, 12, 13, 14, 15}) {
    RunTwice(SimulateStore, seed);
  }
}

}  // namespace
}  // namespace varve::sim
