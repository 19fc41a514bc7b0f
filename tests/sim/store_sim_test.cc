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

// Of the first seeds, as few as show it. What a seed draws depends on the compiler too: rare things need
// room.
bool SomeShow(bool (*shown)(const Figures&)) {
  Figures sum;
  for (uint64_t seed = 1; seed <= 1000 && !shown(sum); ++seed) {
    sum += BySeed(seed).figures;
  }
  return shown(sum);
}

TEST(StoreSimulation, SomeStoresSettleWithTablesInLogs) {
  EXPECT_TRUE(SomeShow([](const Figures& sum) { return sum.settled > 3; }));
}

TEST(StoreSimulation, SomeStoresHaveBuffersFromWhichTheyAnswer) {
  EXPECT_TRUE(SomeShow([](const Figures& sum) { return sum.buffered > 100 && sum.buffer_answers > 100; }));
}

TEST(StoreSimulation, SomeStoresHoldRangeTombstonesInTheirVersionsAndGiveThemUp) {
  EXPECT_TRUE(SomeShow([](const Figures& sum) { return sum.ranges > 100 && sum.ranges_retired > 100; }));
}

TEST(StoreSimulation, ASeedReplaysExactly) {
  for (const uint64_t seed : {11, 12, 13, 14, 15}) {
    RunTwice(BySeed, seed);
  }
}

}  // namespace
}  // namespace varve::sim
