#include "engine/tree/hidden_purge.h"

#include <gtest/gtest.h>

#include "tests/support/table_views.h"

namespace varve {
namespace {

// Each table holds a mebibyte.
struct Stage {
  FakeVersion version;
  TreeConfig config;
  TreePickerState state;
  HiddenTables hidden;
  uint64_t space = kGiB;

  Stage& Add(Place place, uint64_t id, std::string smallest, std::string largest, uint64_t hidden_bytes) {
    if (hidden_bytes > 0) {
      hidden[{TableId(id), Generation(1)}] = {place.level, smallest, kMiB, hidden_bytes};
    }
    version.Add(place, MakeView({.id = id, .smallest = std::move(smallest), .largest = std::move(largest)}));
    return *this;
  }
  std::optional<CompactionPlan> PlanOn(const Version& tables, PurgeNeed need) const {
    return PlanHiddenPurge(tables, config, state, hidden, need, [&](const CompactionPlan& plan) {
      return plan.input_bytes() + plan.child_bytes() <= space;
    });
  }
  std::string Plan(PurgeNeed need = PurgeNeed::kPays) const {
    const std::optional<CompactionPlan> plan = PlanOn(version.Build(), need);
    return plan ? ToString(*plan) : "nothing";
  }
};

TEST(HiddenPurge, ATableOfATreeIsMergedWithItselfAtWhateverLevel) {
  Stage stage;
  stage.Add({1, Part::kTree}, 10, "a", "f", kMiB / 2).Add({2, Part::kTree}, 20, "a", "z", 0);
  EXPECT_EQ(stage.Plan(), "table-merge deletes 1->1: 10, hull a..f");
}

TEST(HiddenPurge, TheTableThatGivesBackTheMostGoesFirst) {
  Stage stage;
  stage.Add({1, Part::kTree}, 10, "a", "f", kMiB / 2).Add({2, Part::kTree}, 20, "a", "z", kMiB);
  EXPECT_EQ(stage.Plan(), "table-merge deletes 2->2: 20, hull a..z");
}

TEST(HiddenPurge, LessThanAQuarterOfWhatIsMergedIsNotWorthItUnlessItMustGo) {
  Stage stage;
  stage.Add({1, Part::kTree}, 10, "a", "f", kMiB / 5).Add({2, Part::kTree}, 20, "a", "z", 0);
  EXPECT_EQ(stage.Plan(), "nothing");
  EXPECT_EQ(stage.Plan(PurgeNeed::kSpace), "table-merge deletes 1->1: 10, hull a..f");
}

TEST(HiddenPurge, WhereNothingComesBackAMergeHelpsOnlyAgainstTheirNumber) {
  Stage stage;
  stage.Add({1, Part::kTree}, 10, "a", "f", 0);
  stage.hidden[{TableId(10), Generation(1)}] = {1, "a", kMiB, 0};
  EXPECT_EQ(stage.Plan(PurgeNeed::kSpace), "nothing");
  EXPECT_EQ(stage.Plan(PurgeNeed::kAll), "table-merge deletes 1->1: 10, hull a..f");
}

// A move would take what is hidden along.
TEST(HiddenPurge, OneOfLevel0IsMergedDownAlsoWhereItCouldMove) {
  Stage stage;
  stage.Add({0, Part::kLevel0}, 1, "a", "f", kMiB);
  EXPECT_EQ(stage.Plan(), "table-merge deletes 0->1: 1, hull a..f");
}

TEST(HiddenPurge, OneOfALogGoesDownBehindWhatIsOlderThere) {
  Stage stage;
  stage.Add({1, Part::kLog}, 11, "a", "d", 0).Add({1, Part::kLog}, 12, "c", "f", kMiB);
  EXPECT_EQ(stage.Plan(), "table-merge deletes 1->2: 11(log), hull a..d");
}

TEST(HiddenPurge, OneThatAJobHoldsWaitsAndAnotherGoes) {
  Stage stage;
  stage.Add({1, Part::kTree}, 10, "a", "f", kMiB).Add({1, Part::kTree}, 11, "g", "k", kMiB / 2);
  const Version version = stage.version.Build();
  const auto plan = [&] { return stage.PlanOn(version, PurgeNeed::kPays); };
  const std::optional<CompactionPlan> first = plan();
  ASSERT_TRUE(first.has_value());
  stage.state.Started(*first);
  const std::optional<CompactionPlan> second = plan();
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(ToString(*second), "table-merge deletes 1->1: 11, hull g..k");
}

TEST(HiddenPurge, OneThatDoesNotFitHoldsNobodyUp) {
  Stage stage;
  stage.Add({0, Part::kLevel0}, 1, "a", "f", kMiB).Add({1, Part::kTree}, 10, "a", "f", kMiB);
  stage.Add({2, Part::kTree}, 20, "a", "z", kMiB / 2);
  stage.space = kMiB;
  stage.hidden.erase({TableId(10), Generation(1)});
  EXPECT_EQ(stage.Plan(), "table-merge deletes 2->2: 20, hull a..z");
}

TEST(HiddenPurge, OfLevel0TheTableItselfGoesDownWithWhatOverlapsIt) {
  Stage stage;
  stage.Add({0, Part::kLevel0}, 1, "a", "c", 0).Add({0, Part::kLevel0}, 2, "w", "y", 0);
  stage.Add({0, Part::kLevel0}, 3, "x", "z", kMiB);
  EXPECT_EQ(stage.Plan(), "table-merge deletes 0->1: 2 3, hull w..z");
}

TEST(HiddenPurge, WhatIsHiddenInAllTablesOfAMergeCounts) {
  Stage stage;
  stage.Add({0, Part::kLevel0}, 1, "a", "f", kMiB / 3).Add({1, Part::kTree}, 10, "a", "f", kMiB / 4);
  EXPECT_EQ(stage.Plan(), "table-merge deletes 0->1: 1 with 10, hull a..f");
}

TEST(HiddenPurge, WhatWasLearntOfAnOlderGenerationIsForgotten) {
  Stage stage;
  stage.Add({1, Part::kTree}, 10, "a", "f", 0);
  stage.hidden[{TableId(10), Generation(0)}] = {1, "a", kMiB, kMiB};
  EXPECT_EQ(stage.Plan(PurgeNeed::kAll), "nothing");
}

}  // namespace
}  // namespace varve
