#include "engine/tree/space_bound.h"

#include <gtest/gtest.h>

#include "engine/tree/level_plans.h"
#include "tests/support/table_views.h"

namespace varve {
namespace {

// A store whose last level is 2; of a table's bytes, `wasted` are shadowed.
struct Stage {
  FakeVersion version;
  TreeConfig config;
  BusySet busy;

  // A table of the last level is more than a few full ones.
  Stage() {
    config.beyond_level_of_most_max = 0.3;
    config.table_bytes = 2 * kMiB;
  }

  Stage& Add(Place place, uint64_t id, std::string smallest, std::string largest, uint64_t bytes,
             uint64_t wasted = 0) {
    TableView view =
        MakeView({.id = id, .smallest = std::move(smallest), .largest = std::move(largest), .bytes = bytes});
    view.segments.front().live_bytes -= wasted;
    version.Add(place, std::move(view));
    return *this;
  }
  Stage& AddLast(uint64_t id, std::string smallest, std::string largest, uint64_t wasted) {
    return Add({2, Part::kTree}, id, std::move(smallest), std::move(largest), 10 * kMiB, wasted);
  }
  std::string Plan() const {
    const std::optional<CompactionPlan> plan = PickForSpaceBound(version.Build(), config, busy);
    return plan ? ToString(*plan) : "nothing";
  }
};

TEST(SpaceBound, TheTableThatWastesTheLargestShareGoesFirst) {
  Stage stage;
  stage.AddLast(10, "a", "c", 3 * kMiB).AddLast(11, "d", "f", 5 * kMiB).AddLast(12, "g", "i", 4 * kMiB);
  EXPECT_EQ(stage.Plan(), "table-merge space 2->2: 11, hull d..f");
}

TEST(SpaceBound, NeighboursThatWasteNearlyAsMuchGoWithIt) {
  Stage stage;
  stage.config.table_bytes = 8 * kMiB;
  stage.AddLast(9, "1", "9", 4 * kMiB).AddLast(10, "a", "c", 3 * kMiB).AddLast(11, "d", "f", 4 * kMiB);
  stage.AddLast(12, "g", "i", 9 * kMiB / 2).AddLast(13, "j", "l", 4 * kMiB).AddLast(14, "m", "o", 4 * kMiB);
  stage.AddLast(15, "p", "q", 4 * kMiB).AddLast(16, "r", "s", 4 * kMiB);
  // As far as four full tables; one that wastes little ends it.
  EXPECT_EQ(stage.Plan(), "table-merge space 2->2: 12 13 14 15 16, hull g..s");
  stage.busy.Add(
      PlanOfItself(stage.config, 2, stage.version.Build().tree(2).Seek("m").shared(), PlanReason::kSpace));
  EXPECT_EQ(stage.Plan(), "table-merge space 2->2: 12 13 11, hull d..l");
  stage.config.table_bytes = 3 * kMiB;
  EXPECT_EQ(stage.Plan(), "table-merge space 2->2: 12 13, hull g..l");
}

TEST(SpaceBound, WhatLiesAboveAndInLogsCountsToo) {
  Stage stage;
  stage.AddLast(10, "a", "m", 0).AddLast(11, "n", "z", 2 * kMiB).Add({1, Part::kLog}, 20, "a", "z", 2 * kMiB);
  EXPECT_EQ(stage.Plan(), "nothing");
  stage.Add({1, Part::kTree}, 21, "a", "z", 2 * kMiB);
  EXPECT_EQ(stage.Plan(), "table-merge space 2->2: 11, hull n..z");
}

TEST(SpaceBound, NoneIsMergedThatWastesLittle) {
  Stage stage;
  stage.config.beyond_level_of_most_max = 0.05;
  stage.AddLast(10, "a", "m", kMiB).AddLast(11, "n", "z", 3 * kMiB / 2);
  EXPECT_TRUE(TakesTooMuch(stage.version.Build(), stage.config));
  EXPECT_EQ(stage.Plan(), "nothing");
}

TEST(SpaceBound, AStoreOfWhichNoLevelHoldsMostIsLeftAlone) {
  Stage stage;
  stage.AddLast(10, "a", "m", 4 * kMiB).AddLast(11, "n", "z", 4 * kMiB);
  EXPECT_EQ(stage.Plan(), "table-merge space 2->2: 10, hull a..m");
  stage.Add({1, Part::kTree}, 20, "a", "z", 5 * kMiB);
  EXPECT_EQ(stage.Plan(), "nothing");
}

TEST(SpaceBound, ALastLevelThatHasJustBegunChangesNothing) {
  Stage stage;
  stage.AddLast(10, "a", "m", 4 * kMiB).AddLast(11, "n", "z", 3 * kMiB);
  stage.Add({3, Part::kTree}, 30, "a", "z", kMiB);
  EXPECT_EQ(LevelOfMost(stage.version.Build()), 2U);
  EXPECT_EQ(stage.Plan(), "table-merge space 2->2: 10, hull a..m");
}

TEST(SpaceBound, TablesOfRunningJobsAreLeftAlone) {
  Stage stage;
  stage.AddLast(10, "a", "m", 5 * kMiB).AddLast(11, "n", "z", 3 * kMiB);
  stage.busy.Add(*PickForSpaceBound(stage.version.Build(), stage.config, stage.busy));
  EXPECT_EQ(stage.Plan(), "table-merge space 2->2: 11, hull n..z");
}

TEST(SpaceBound, ThereIsNoneUnlessItIsAskedFor) {
  Stage stage;
  stage.config.beyond_level_of_most_max = 0;
  stage.AddLast(10, "a", "z", 5 * kMiB);
  EXPECT_FALSE(TakesTooMuch(stage.version.Build(), stage.config));
  EXPECT_EQ(stage.Plan(), "nothing");
  EXPECT_FALSE(TakesTooMuch(Version(), Stage().config));
}

}  // namespace
}  // namespace varve
