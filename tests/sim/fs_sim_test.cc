// The filesystem's promises against a hostile device: thousands of crashes, each from a seed.
#include "tests/sim/fs_sim.h"

#include <gtest/gtest.h>

#include "tests/sim/seeds.h"

namespace varve::sim {
namespace {

TEST(FileSystemSimulation, KeptSeedsStayMended) {
  PrintTraceOnAbort();
  RunKeptSeeds(SimulateFileSystem, "fs");
}

TEST(FileSystemSimulation, WhatIsFsyncedSurvivesAndWhatSurvivesIsAPrefix) {
  PrintTraceOnAbort();
  RunSeedRange(SimulateFileSystem, 1, 700);
}

TEST(FileSystemSimulation, ASeedReplaysExactly) {
  for (const uint64_t seed : {21, 22, 23, 24, 25}) {
    RunTwice(SimulateFileSystem, seed);
  }
}

}  // namespace
}  // namespace varve::sim
