#include "engine/tree/range_purge.h"

#include <gtest/gtest.h>

#include "tests/support/table_views.h"

namespace varve {
namespace {

struct Stage {
  FakeVersion version;
  TreeConfig config;
  TreePickerState state;

  Stage& Add(Place place, uint64_t id, std::string smallest, std::string largest, uint64_t tombstones) {
    version.Add(place, MakeView({.id = id,
                                 .smallest = std::move(smallest),
                                 .largest = std::move(largest),
                                 .tombstones = tombstones}));
    return *this;
  }
  std::string Plan(std::string low, std::string high) const {
    const RangePurge purge = PlanRangePurge(version.Build(), config, state, KeyRangeView(low, high));
    return purge.plan ? ToString(*purge.plan) : (purge.waits ? "waits" : "nothing");
  }
};

TEST(RangePurge, TombstonesGoDownFromTheTopUntilNoneIsLeftInTheRange) {
  Stage stage;
  stage.Add({1, Part::kTree}, 10, "a", "f", 500).Add({2, Part::kTree}, 20, "a", "z", 0);
  EXPECT_EQ(stage.Plan("b", "c"), "table-merge deletes 1->2: 10 with 20, hull a..z");
  stage.Add({0, Part::kLevel0}, 1, "b", "d", 500);
  EXPECT_EQ(stage.Plan("b", "c"), "table-merge deletes 0->1: 1 with 10, hull a..f");
  EXPECT_EQ(stage.Plan("g", "h"), "nothing");
}

TEST(RangePurge, AtTheLastLevelATableIsMergedWithItself) {
  Stage stage;
  stage.Add({2, Part::kTree}, 20, "a", "f", 300).Add({2, Part::kTree}, 21, "g", "z", 300);
  EXPECT_EQ(stage.Plan("h", "i"), "table-merge deletes 2->2: 21, hull g..z");
}

TEST(RangePurge, ATableWithHardlyAnyTombstoneIsNotInTheWay) {
  Stage stage;
  stage.Add({1, Part::kTree}, 10, "a", "f", 5).Add({2, Part::kTree}, 20, "a", "z", 0);
  EXPECT_EQ(stage.Plan("b", "c"), "nothing");
}

TEST(RangePurge, WhatASnapshotSeesStays) {
  Stage stage;
  stage.Add({1, Part::kTree}, 10, "a", "f", 500).Add({2, Part::kTree}, 20, "a", "z", 0);
  stage.state.deletes.oldest_snapshot = SequenceNumber(0);
  EXPECT_EQ(stage.Plan("b", "c"), "nothing");
}

TEST(RangePurge, ItWaitsForAJobThatHoldsWhatItWouldTake) {
  Stage stage;
  stage.Add({1, Part::kTree}, 10, "a", "f", 500).Add({2, Part::kTree}, 20, "a", "z", 0);
  const Version version = stage.version.Build();
  const RangePurge first = PlanRangePurge(version, stage.config, stage.state, KeyRangeView("b", "c"));
  ASSERT_TRUE(first.plan.has_value());
  stage.state.Started(*first.plan);
  const RangePurge second = PlanRangePurge(version, stage.config, stage.state, KeyRangeView("b", "c"));
  EXPECT_FALSE(second.plan.has_value());
  EXPECT_TRUE(second.waits);
}

TEST(RangePurge, ATableOfALogGoesDownWithWhatIsOlderThere) {
  Stage stage;
  stage.Add({1, Part::kLog}, 11, "a", "d", 0).Add({1, Part::kLog}, 12, "c", "f", 500);
  stage.Add({2, Part::kTree}, 20, "a", "z", 0);
  EXPECT_EQ(stage.Plan("e", "e"), "table-merge deletes 1->2: 11(log) 12(log) with 20, hull a..z");
}

}  // namespace
}  // namespace varve
