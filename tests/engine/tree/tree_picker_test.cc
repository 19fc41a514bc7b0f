#include "engine/tree/tree_picker.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "engine/base/prng.h"
#include "engine/version/invariants.h"
#include "engine/version/version_edit.h"
#include "tests/support/table_views.h"

namespace varve {
namespace {

TEST(TreePicker, CapacitiesGrowByTheRatioAndDoNotOverflow) {
  TreeConfig config;
  config.level1_bytes = 256 * kMiB;
  config.level_ratio = 10;
  EXPECT_EQ(LevelCapacityBytes(config, 1), 256 * kMiB);
  EXPECT_EQ(LevelCapacityBytes(config, 3), 25600 * kMiB);
  config.level_ratio = 100000;
  EXPECT_GT(LevelCapacityBytes(config, 7), LevelCapacityBytes(config, 3));
}

// A store in which plans are carried out on views alone.
struct Simulation {
  TreeConfig config;
  TreePickerState state;
  std::shared_ptr<LiveTables> tables = std::make_shared<LiveTables>(nullptr);
  Version version;
  uint64_t next_id = 1;
  uint64_t sequence = 0;

  Simulation() {
    config.table_bytes = 100 * kKiB;
    config.level1_bytes = 400 * kKiB;
    config.level_ratio = 4;
    config.level0_tables_trigger = 2;
  }

  void Apply(VersionEdit edit) {
    InstallStamp stamp = version.counters().next_stamp;
    for (VersionEdit::AddedTable& added : edit.added_tables) {
      added.stamp = stamp;
      stamp = stamp.Next();
    }
    edit.next_stamp = stamp;
    edit.next_table_id = TableId(next_id);
    edit.last_sequence = SequenceNumber(sequence);
    Result<Version> next = ApplyVersionEdit(version, edit, *tables);
    ASSERT_TRUE(next.ok()) << next.ToString();
    version = std::move(next).value();
    const std::vector<std::string> violations = CheckVersion(version);
    ASSERT_TRUE(violations.empty()) << violations.front();
  }
  // Behind all that the store holds in that level and the others, of which none overlap.
  void AddInARow(uint32_t level, int count) {
    VersionEdit edit;
    for (int i = 0; i < count; ++i) {
      const uint64_t at = version.totals().tables + static_cast<uint64_t>(i);
      edit.AddTable({level, Part::kTree},
                    MakeView(NewTable(fmt::format("{:03}", at), fmt::format("{:03}z", at))));
    }
    Apply(edit);
  }

  FakeTable NewTable(std::string smallest, std::string largest) {
    ++sequence;
    return {.id = next_id++,
            .smallest = std::move(smallest),
            .largest = std::move(largest),
            .bytes = config.table_bytes,
            .smallest_sequence = sequence,
            .largest_sequence = sequence};
  }
  void Flush(Prng& prng) {
    const uint64_t low = prng.Below(9000);
    VersionEdit edit;
    edit.AddTable({0, Part::kLevel0}, MakeView(NewTable(fmt::format("{:05}", low),
                                                        fmt::format("{:05}", low + prng.Below(1000)))));
    Apply(edit);
  }
  // Outputs share the hull evenly between as many tables as went in, at most.
  void Run(const CompactionPlan& plan) {
    VersionEdit edit;
    for (const PlanInput& input : plan.inputs) {
      edit.RemoveTable(input.place, *input.table);
    }
    for (const auto& child : plan.children) {
      edit.RemoveTable({plan.output_level, Part::kTree}, *child);
    }
    const Place output{plan.output_level, Part::kTree};
    if (plan.kind == MergeKind::kTrivialMove) {
      edit.AddTable(output, plan.inputs.front().table->view());
    } else {
      const uint64_t low = std::stoull(plan.hull.smallest);
      const uint64_t high = std::stoull(plan.hull.largest) + 1;
      const uint64_t count = std::min<uint64_t>(plan.inputs.size() + plan.children.size(), high - low);
      for (uint64_t i = 0; i < count; ++i) {
        edit.AddTable(output,
                      MakeView(NewTable(fmt::format("{:05}", low + (high - low) * i / count),
                                        fmt::format("{:05}", low + (high - low) * (i + 1) / count - 1))));
      }
    }
    Apply(edit);
  }
};

TEST(TreePicker, RandomLoadsWithSeveralJobsAtOnceSettleAndKeepEveryInvariant) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Simulation store;
    if (seed > 3) {
      // Levels of other sizes, and neighbours that go down together.
      store.config.deletes.share_max = 0.25;
      store.config.deletes.slack_max = 2;
      store.config.deletes.slack_min = 0.5;
      store.config.level0_tables_max = 4;
    }
    Prng prng(seed);
    std::vector<CompactionPlan> running;
    size_t most_at_once = 0;
    const auto end_one = [&] {
      const size_t which = prng.Below(running.size());
      store.Run(running[which]);
      store.state.Ended(running[which]);
      running.erase(running.begin() + static_cast<ptrdiff_t>(which));
    };
    for (int step = 0; step < 100; ++step) {
      store.Flush(prng);
      while (running.size() < 4) {
        std::optional<CompactionPlan> plan = PickTreeCompaction(store.version, store.config, store.state);
        if (!plan.has_value()) {
          break;
        }
        store.state.Started(*plan);
        running.push_back(std::move(*plan));
        most_at_once = std::max(most_at_once, running.size());
      }
      if (!running.empty() && !prng.OneIn(3)) {
        end_one();
      }
      if (testing::Test::HasFatalFailure()) {
        return;
      }
    }
    while (true) {
      std::optional<CompactionPlan> plan = PickTreeCompaction(store.version, store.config, store.state);
      if (plan.has_value()) {
        store.state.Started(*plan);
        running.push_back(std::move(*plan));
      } else if (!running.empty()) {
        end_one();
      } else {
        break;
      }
    }
    EXPECT_TRUE(store.state.busy.empty());
    EXPECT_GE(most_at_once, 2u);
    const LevelSlack slack = SlackOfLevels(store.version, store.config);
    for (uint32_t level = 0; level < kLevels; ++level) {
      EXPECT_LT(LevelScore(store.version, store.config, slack, level), 1) << level;
    }
    EXPECT_EQ(CompactionDebtBytes(store.version, store.config, slack), 0u);
  }
}

TEST(TreePicker, DebtGrowsWithWhatIsOverCapacity) {
  Simulation store;
  Prng prng(3);
  uint64_t last = 0;
  for (int i = 0; i < 10; ++i) {
    store.Flush(prng);
    const uint64_t debt =
        CompactionDebtBytes(store.version, store.config, SlackOfLevels(store.version, store.config));
    EXPECT_GE(debt, last);
    last = debt;
  }
  EXPECT_GE(last, 10 * store.config.table_bytes);
}

TEST(TreePicker, Level0WaitsForMoreAsLongAsUsersWrite) {
  Simulation store;
  store.config.level0_tables_trigger = 2;
  store.config.level0_tables_max = 6;
  const auto add = [&](int tables) {
    for (int i = 0; i < tables; ++i) {
      VersionEdit edit;
      edit.AddTable({0, Part::kLevel0}, MakeView(store.NewTable("a", "m")));
      store.Apply(edit);
    }
  };
  const auto is_due = [&] {
    return PickTreeCompaction(store.version, store.config, store.state).has_value();
  };
  const auto is_due_at_rest = [&] {
    return PickLevel0AtRest(store.version, store.config, store.state).has_value();
  };
  add(1);
  EXPECT_FALSE(is_due_at_rest());
  add(1);
  EXPECT_TRUE(is_due()) << "where nothing lets it wait the trigger says when";
  store.config.level0_always_waits = true;
  EXPECT_FALSE(is_due());
  EXPECT_TRUE(is_due_at_rest());
  add(3);
  EXPECT_FALSE(is_due());
  EXPECT_EQ(CompactionDebtBytes(store.version, store.config, SlackOfLevels(store.version, store.config)), 0U);
  add(1);
  EXPECT_TRUE(is_due());
}

TEST(TreePicker, TheLastLevelMayGrowBeforeAnotherOneBegins) {
  Simulation store;
  store.config.table_bytes = 1 * kMiB;
  store.config.level1_bytes = 1 * kMiB;
  store.config.level_ratio = 4;
  store.config.deletes.share_max = 0.25;
  store.config.deletes.last_level_slack = 3;
  const auto picked = [&] {
    const std::optional<CompactionPlan> plan = PickTreeCompaction(store.version, store.config, store.state);
    return plan ? ToString(*plan).substr(0, ToString(*plan).find(',')) : "nothing";
  };
  // Level 2 holds four by the options.
  store.AddInARow(2, 11);
  EXPECT_EQ(picked(), "nothing");
  store.AddInARow(2, 1);
  EXPECT_EQ(picked(), "trivial-move size 2->3: 1");
  store.config.deletes.last_level_slack = 4;
  EXPECT_EQ(picked(), "nothing");
  // What moves down is not allowed here any more, so that one by one all that is too much goes.
  store.config.deletes.last_level_slack = 3;
  for (int moved = 1; moved <= 9; ++moved) {
    std::optional<CompactionPlan> plan = PickTreeCompaction(store.version, store.config, store.state);
    ASSERT_TRUE(plan.has_value()) << moved;
    EXPECT_EQ(plan->kind, MergeKind::kTrivialMove);
    EXPECT_LE(CompactionDebtBytes(store.version, store.config, SlackOfLevels(store.version, store.config)),
              store.config.table_bytes);
    store.Run(*plan);
  }
  EXPECT_EQ(picked(), "nothing");
}

TEST(TreePicker, Level1MayBeLargerWhereTheLastLevelIsLargeBesideIt) {
  Simulation store;
  store.config.table_bytes = 1 * kMiB;
  store.config.level1_bytes = 1 * kMiB;
  store.config.level_ratio = 40;
  store.config.deletes.share_max = 0.25;
  store.config.deletes.level1_slack_max = 2;
  const auto slack_with = [&](int tables) {
    store.AddInARow(2, tables);
    return SlackOfLevels(store.version, store.config)[1];
  };
  EXPECT_EQ(slack_with(8), 1);
  EXPECT_EQ(slack_with(4), 1.5);
  EXPECT_EQ(slack_with(12), 2);
  store.config.deletes.level1_slack_max = 1;
  EXPECT_EQ(slack_with(0), 1);
}

TEST(TreePicker, WhereSpaceIsBoundedTheLevelAboveTheLastHoldsLessAsThatGrows) {
  Simulation store;
  store.config.table_bytes = 1 * kMiB;
  store.config.level1_bytes = 1 * kMiB;
  store.config.level_ratio = 8;
  store.config.beyond_level_of_most_max = 0.445;
  const auto slack_with = [&](int tables) {
    store.AddInARow(3, tables);
    return SlackOfLevels(store.version, store.config)[2];
  };
  EXPECT_EQ(slack_with(4), 0.75);
  EXPECT_EQ(slack_with(4), 0.5);
  store.AddInARow(2, 5);
  const std::optional<CompactionPlan> plan = PickTreeCompaction(store.version, store.config, store.state);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->kind, MergeKind::kTrivialMove) << "it may hold four, of the eight by its capacity";
  EXPECT_EQ(slack_with(8), 0.25);
  EXPECT_EQ(slack_with(16), 0.5) << "an eighth of 32";
  store.config.beyond_level_of_most_max = 0;
  EXPECT_EQ(slack_with(0), 1);
  store.config.beyond_level_of_most_max = 0.445;
  EXPECT_EQ(slack_with(40), 1) << "never more than its capacity";
}

TEST(TreePicker, ALargerLevel1DoesNotLeaveForALevel0AtRest) {
  Simulation store;
  store.config.table_bytes = 1 * kMiB;
  store.config.level1_bytes = 4 * kMiB;
  store.config.level_ratio = 40;
  store.config.level0_tables_trigger = 2;
  store.config.level0_tables_max = 6;
  store.config.level0_always_waits = true;
  store.config.log_share = 0.25;
  store.config.deletes.share_max = 0.25;
  store.config.deletes.level1_slack_max = 2;
  store.AddInARow(1, 5);
  store.AddInARow(2, 64);
  VersionEdit edit;
  edit.AddTable({0, Part::kLevel0}, MakeView(store.NewTable("a", "m")));
  edit.AddTable({0, Part::kLevel0}, MakeView(store.NewTable("c", "k")));
  store.Apply(edit);
  const auto is_due = [&] { return PickLevel0AtRest(store.version, store.config, store.state).has_value(); };
  EXPECT_TRUE(is_due()) << "level 1 may hold eight, and will hold seven";
  store.AddInARow(1, 1);
  EXPECT_FALSE(is_due()) << "eight: all of it would go into the Log";
  store.config.log_share = 0.01;
  EXPECT_TRUE(is_due()) << "there is none";
  store.config.log_share = 0.25;
  store.config.deletes.level1_slack_max = 1;
  EXPECT_TRUE(is_due());
}

TEST(TreePicker, Level0IsMergedOnceReadersHavePaidForIt) {
  Simulation store;
  store.config.table_bytes = 1 * kMiB;
  store.config.level0_tables_trigger = 8;
  VersionEdit edit;
  edit.AddTable({0, Part::kLevel0}, MakeView(store.NewTable("a", "m")));
  edit.AddTable({0, Part::kLevel0}, MakeView(store.NewTable("c", "k")));
  edit.AddTable({1, Part::kTree}, MakeView(store.NewTable("e", "g")));
  edit.AddTable({1, Part::kTree}, MakeView(store.NewTable("x", "z")));
  store.Apply(edit);
  bool others_wait = false;
  const auto pick = [&] { return PickForReaders(store.version, store.config, store.state, others_wait); };
  // Two tables and the one below them that they overlap.
  const uint64_t price = 3 * store.config.table_bytes;
  uint64_t paid = 0;
  while (!pick()) {
    ASSERT_LT(paid, price);
    for (const StampedTable& table : store.version.level0()) {
      table->CountSeek(true);
    }
    paid = store.version.level0()[0]->paid_bytes() + store.version.level0()[1]->paid_bytes();
  }
  EXPECT_GE(paid, price);
  const CompactionPlan plan = *pick();
  EXPECT_EQ(plan.reason, PlanReason::kReads);
  EXPECT_EQ(plan.inputs.size(), 2u);
  EXPECT_EQ(plan.children.size(), 1u);
  store.state.Started(plan);
  EXPECT_FALSE(pick().has_value());
}

TEST(TreePicker, ATableOfALogIsMergedWithItselfOnceReadersHavePaidForItsSegments) {
  Simulation store;
  FakeTable many = store.NewTable("a", "m");
  many.segments = 5;
  VersionEdit edit;
  edit.AddTable({1, Part::kLog}, MakeView(many));
  edit.AddTable({1, Part::kLog}, MakeView(store.NewTable("c", "k")));
  edit.AddTable({1, Part::kTree}, MakeView(store.NewTable("e", "g")));
  edit.AddTable({2, Part::kTree}, MakeView(store.NewTable("a", "z")));
  store.Apply(edit);
  bool others_wait = false;
  const auto pick = [&] { return PickForReaders(store.version, store.config, store.state, others_wait); };
  const LiveTable& table = *store.version.level(1).log.front().table;
  while (!table.ReadersHavePaid()) {
    ASSERT_FALSE(pick().has_value());
    table.CountGet(true);
  }
  const std::optional<CompactionPlan> plan = pick();
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(ToString(*plan), "table-merge reads 1->1: 1(log), hull a..m");
  EXPECT_EQ(plan->output_place(), (Place{1, Part::kLog}));
  // It neither stands in the way of merges into the Tree above, nor do they of it; and it does not leave.
  store.state.Started(*plan);
  EXPECT_FALSE(store.state.busy.Meets(1, {"a", "z"}));
  EXPECT_EQ(store.state.leaving_log_bytes[1], 0u);
  EXPECT_FALSE(others_wait);
  EXPECT_FALSE(pick().has_value());
  EXPECT_TRUE(others_wait);
  store.state.Ended(*plan);
  EXPECT_TRUE(pick().has_value());
}

TEST(TreePicker, ASmallLevel0IsNotMergedForAFewReads) {
  Simulation store;
  store.config.table_bytes = 4 * kKiB;
  VersionEdit edit;
  edit.AddTable({0, Part::kLevel0}, MakeView(store.NewTable("a", "m")));
  store.Apply(edit);
  bool others_wait = false;
  const LiveTable& table = *store.version.level0()[0].table;
  while (table.paid_bytes() < 1 * kMiB) {
    EXPECT_FALSE(PickForReaders(store.version, store.config, store.state, others_wait).has_value());
    table.CountSeek(true);
  }
  EXPECT_TRUE(PickForReaders(store.version, store.config, store.state, others_wait).has_value());
}

TEST(TreePicker, ARequestedCompactionTakesARangeDownStepByStepUntilNothingIsLeft) {
  Simulation store;
  Prng prng(5);
  for (int i = 0; i < 8; ++i) {
    store.Flush(prng);
  }
  int steps = 0;
  for (uint32_t level = 0; level < 3; ++level) {
    while (std::optional<CompactionPlan> plan =
               PlanRangeCompaction(store.version, store.config, store.state, level, {"", "~"})) {
      EXPECT_EQ(plan->reason, PlanReason::kRequested);
      store.Run(*plan);
      ASSERT_LT(++steps, 1000);
    }
    EXPECT_EQ(store.version.totals(level).tables, 0u);
  }
  EXPECT_FALSE(PlanRangeCompaction(store.version, store.config, store.state, 3, {"x", "z"}).has_value());
}

TEST(BusySetDeathTest, AJobInTheWayOfAnotherCannotStart) {
  TreePickerState state;
  CompactionPlan plan;
  plan.output_level = 2;
  plan.hull = {"a", "m"};
  plan.inputs.push_back({{1, Part::kTree}, MakeTable({.id = 1})});
  state.Started(plan);
  CompactionPlan other = plan;
  other.inputs = {{{1, Part::kTree}, MakeTable({.id = 2})}};
  EXPECT_FALSE(state.busy.CanRun(other));  // the same range of the same level
  EXPECT_DEATH(state.Started(other), "in the way");
  other.hull = {"n", "z"};
  EXPECT_TRUE(state.busy.CanRun(other));
  other.children = {MakeTable({.id = 1})};
  EXPECT_FALSE(state.busy.CanRun(other));  // the same table
  state.Ended(plan);
  EXPECT_TRUE(state.busy.CanRun(other));
}

}  // namespace
}  // namespace varve
