// The store's promises against a hostile device: thousands of crashes, each from a seed.
#include "tests/sim/store_sim.h"

#include <gtest/gtest.h>

#include "tests/sim/seeds.h"

namespace varve::sim {
namespace {

Outcome BySeed(uint64_t seed) {
  return SimulateStore(seed);
}

TEST(StoreSimulation, KeptSeedsStayMended) {
  PrintTraceOnAbort();
  // Those from before there were techniques replay without them.
  for (const Drawn techniques : {Drawn::kNone, Drawn::kBySeed}) {
    RunKeptSeeds([=](uint64_t seed) { return SimulateStore(seed, techniques); }, "store");
  }
}

TEST(StoreSimulation, NothingIsLostAndNothingIsWrong) {
  PrintTraceOnAbort();
  RunSeedRange(BySeed, 1, 200);
}

TEST(StoreSimulation, SomeStoresSettleWithTablesInLogs) {
  Figures sum;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    sum += BySeed(seed).figures;
  }
  EXPECT_GT(sum.settled, 0U);
}

TEST(StoreSimulation, SomeStoresHaveBuffersFromWhichTheyAnswer) {
  Figures sum;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    sum += BySeed(seed).figures;
  }
  EXPECT_GT(sum.buffered, 100U);
  EXPECT_GT(sum.buffer_answers, 100U);
}

TEST(StoreSimulation, ASeedReplaysExactly) {
  for (const uint64_t seed : {11, 12, 13, 14, 15}) {
    RunTwice(BySeed, seed);
  }
}

}  // namespace
}  // namespace varve::sim
