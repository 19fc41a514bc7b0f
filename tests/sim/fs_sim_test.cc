// The filesystem's promises against a hostile device: thousands of crashes, each from a seed.
#include "tests/sim/fs_sim.h"

#include <gtest/gtest.h>

#include "tests/sim/seeds.h"

namespace varve::sim {
namespace {

Outcome BySeed(uint64_t seed) {
  return SimulateFileSystem(seed);
}

TEST(FileSystemSimulation, KeptSeedsStayMended) {
  PrintTraceOnAbort();
  // Those from before there were techniques replay without them.
  for (const Drawn techniques : {Drawn::kNone, Drawn::kBySeed}) {
    RunKeptSeeds([=](uint64_t seed) { return SimulateFileSystem(seed, techniques); }, "fs");
  }
}

TEST(FileSystemSimulation, WhatIsFsyncedSurvivesAndWhatSurvivesIsAPrefix) {
  PrintTraceOnAbort();
  RunSeedRange(BySeed, 1, 700);
}

TEST(FileSystemSimulation, SomeFilesAreLargeEnoughToGoAsRanges) {
  Figures sum;
  for (uint64_t seed = 1; seed <= 1000 && sum.ranges <= 20; ++seed) {
    sum += BySeed(seed).figures;
  }
  EXPECT_GT(sum.ranges, 20u);
}

TEST(FileSystemSimulation, ASeedReplaysExactly) {
  for (const uint64_t seed : {21, 22, 23, 24, 25}) {
    RunTwice(BySeed, seed);
  }
}

}  // namespace
}  // namespace varve::sim
