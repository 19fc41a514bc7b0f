#include "engine/sst_log/log_picker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "engine/base/prng.h"
#include "tests/support/table_views.h"

namespace varve {
namespace {

constexpr uint64_t kTable = 10 * kKiB;

// A store drawn by the test: tables of one size, by place and range.
class LogPicker : public testing::Test {
 protected:
  void Add(Place place, uint64_t id, std::string smallest, std::string largest, uint64_t hotness = 0,
           uint64_t bytes = kTable) {
    FakeTable table;
    table.id = id;
    table.smallest = std::move(smallest);
    table.largest = std::move(largest);
    table.bytes = bytes;
    table.hotness = hotness * table.entries;
    tables_.Add(place, MakeView(table));
  }
  void Tree(uint32_t level, uint64_t id, std::string smallest, std::string largest, uint64_t hotness = 0) {
    Add({level, Part::kTree}, id, std::move(smallest), std::move(largest), hotness);
  }
  void Log(uint32_t level, uint64_t id, std::string smallest, std::string largest) {
    Add({level, Part::kLog}, id, std::move(smallest), std::move(largest));
  }
  // Ten tables of level 2 over a0-a9, b0-b9 and so on, from id 101.
  void TenBelow() {
    for (char c = 'a'; c <= 'j'; ++c) {
      Tree(2, 101 + static_cast<uint64_t>(c - 'a'), {c, '0'}, {c, '9'});
    }
  }
  const Version& Build() {
    version_ = tables_.Build();
    return version_;
  }
  // A job holds these.
  void Hold(const std::vector<uint64_t>& ids) {
    CompactionPlan job;
    job.output_level = kLevels - 1;
    job.hull = {"~", "~"};
    version_.ForEachSharedTable([&](const std::shared_ptr<const LiveTable>& table) {
      if (std::find(ids.begin(), ids.end(), table->id().value) != ids.end()) {
        job.children.push_back(table);
      }
    });
    busy_.Add(job);
  }
  static std::vector<uint64_t> Ids(const LogTables& tables) {
    std::vector<uint64_t> ids;
    for (const std::shared_ptr<const LiveTable>& table : tables) {
      ids.push_back(table->id().value);
    }
    return ids;
  }
  std::vector<uint64_t> BestGroup() {
    const std::vector<LogTables> groups = GroupsToMerge(version_, config_, busy_, 1);
    return groups.empty() ? std::vector<uint64_t>() : Ids(groups.front());
  }

  using List = std::vector<uint64_t>;
  LogConfig config_{.share = 0.2, .table_bytes = kTable};
  FakeVersion tables_;
  Version version_;
  BusySet busy_;
};

TEST_F(LogPicker, EachLevelOverOneThatIsNoSmallerHasAnEqualPartOfTheShare) {
  Tree(1, 1, "x0", "x9");
  Tree(2, 2, "x0", "x9");
  for (char c = 'a'; c <= 'r'; ++c) {
    Tree(3, 101 + static_cast<uint64_t>(c - 'a'), {c, '0'}, {c, '9'});
  }
  const Version& version = Build();
  EXPECT_EQ(LogCapacityBytes(version, config_, 0), 0u);
  EXPECT_EQ(LogCapacityBytes(version, config_, 1), 2 * kTable);
  EXPECT_EQ(LogCapacityBytes(version, config_, 2), 2 * kTable);
  EXPECT_EQ(LogCapacityBytes(version, config_, 3), 0u);
  EXPECT_EQ(LogCapacityBytes(version, config_, 4), 0u);
  EXPECT_EQ(LogCapacityBytes(version, {.share = 0.19, .table_bytes = kTable}, 1), 0u)
      << "less than two tables";
  EXPECT_EQ(LogCapacityBytes(version, {.share = 0, .table_bytes = kTable}, 1), 0u);
}

TEST_F(LogPicker, ALevelOverASmallerOneHasNoLog) {
  TenBelow();
  Tree(3, 201, "a0", "a9");
  Build();
  EXPECT_EQ(LogCapacityBytes(version_, config_, 1), 22 * kKiB) << "the whole share: it is the only Log";
  EXPECT_EQ(LogCapacityBytes(version_, config_, 2), 0u);
  for (uint64_t id = 1; id <= 10; ++id) {
    Log(1, id, "a0", "a9");
  }
  EXPECT_GT(LogCapacityBytes(Build(), config_, 1), 0u);
  Log(1, 11, "a0", "a9");
  EXPECT_EQ(LogCapacityBytes(Build(), config_, 1), 0u) << "what its Log holds counts";
  EXPECT_GE(LogScore(version_, config_, 1, 0), 1);
  EXPECT_LT(LogScore(version_, config_, 1, 0), 2.1) << "due, but not before everything else";
}

TEST_F(LogPicker, ALogScoresItsBytesAndItsDepth) {
  TenBelow();
  Log(1, 1, "a0", "a9");
  Log(1, 2, "b0", "b9");
  Log(1, 3, "c0", "c9");
  const Version& version = Build();
  EXPECT_DOUBLE_EQ(LogScore(version, config_, 1, 0), 1.5);
  EXPECT_DOUBLE_EQ(LogScore(version, config_, 1, kTable), 1.0);
  EXPECT_EQ(LogScore(version, config_, 1, 3 * kTable), 0);
  EXPECT_EQ(LogScore(version, config_, 2, 0), 0) << "nothing is in that log";
  EXPECT_GE(LogScore(version, {.share = 0, .table_bytes = kTable}, 1, 0), 1) << "it is to be emptied";
}

TEST_F(LogPicker, ALogThatIsTooDeepIsDueHoweverSmall) {
  TenBelow();
  for (uint64_t id = 1; id <= kLogDepthMax; ++id) {
    Add({1, Part::kLog}, id, "a0", "a9", 0, kKiB);
  }
  Build();
  EXPECT_LT(LogScore(version_, config_, 1, 0), 1);
  Add({1, Part::kLog}, 99, "a5", "b0", 0, kKiB);
  Build();
  EXPECT_EQ(LogScore(version_, config_, 1, 0), 1);
  EXPECT_LT(LogScore(version_, config_, 1, kKiB), 1) << "a job makes it less deep";
}

TEST_F(LogPicker, WhatItsOwnMergeWouldRewriteMostForComesIntoTheLogFirst) {
  Tree(1, 1, "a", "c");
  Tree(1, 2, "d", "f");
  Tree(1, 3, "g", "i");
  Tree(1, 4, "j", "l");  // sparser than 1 and 2: its ends differ in a higher bit
  uint64_t id = 100;
  for (const char* key : {"a", "b", "c", "d", "e", "j", "k", "l"}) {
    Tree(2, ++id, key, key);
  }
  Tree(2, ++id, "g", "i");
  const Version& version = Build();
  EXPECT_EQ(Ids(TablesForLog(version, busy_, 1, 10 * kTable)), (List{4, 1, 2, 3}));
  EXPECT_EQ(Ids(TablesForLog(version, busy_, 1, 3 * kTable - 1)), (List{4, 1}));
  EXPECT_EQ(Ids(TablesForLog(version, busy_, 1, 1)), (List{4})) << "or none would ever come";
  EXPECT_TRUE(TablesForLog(version, busy_, 1, 0).empty());
  Hold({4, 2});
  EXPECT_EQ(Ids(TablesForLog(version, busy_, 1, 10 * kTable)), (List{1, 3}));
}

TEST_F(LogPicker, AmongTablesOfOneCostTheHottestComesFirst) {
  TenBelow();
  Tree(1, 1, "a0", "a9");
  Tree(1, 2, "b0", "b9", 3);
  Tree(1, 3, "c0", "c9");
  Tree(1, 4, "d0", "d9", 9);
  EXPECT_EQ(Ids(TablesForLog(Build(), busy_, 1, 10 * kTable)), (List{4, 2, 1, 3}));
}

TEST_F(LogPicker, TheGroupThatRewritesLeastGoesFirst) {
  TenBelow();
  Log(1, 1, "a0", "c9");
  Log(1, 2, "d0", "d9");
  Log(1, 3, "f0", "g9");
  Build();
  EXPECT_EQ(BestGroup(), (List{2}));
}

TEST_F(LogPicker, TablesOverTheSameTablesBelowGoTogether) {
  TenBelow();
  Log(1, 1, "a0", "b9");
  Log(1, 2, "a5", "b5");
  Log(1, 3, "d0", "e9");
  Build();
  EXPECT_EQ(BestGroup(), (List{1, 2}));
  Hold({2});
  EXPECT_EQ(BestGroup(), (List{1})) << "what is newer may stay";
}

TEST_F(LogPicker, WhatIsOlderGoesAlongTransitively) {
  Tree(2, 101, "a0", "d9");
  Tree(2, 102, "e0", "e9");
  Log(1, 1, "a0", "b5");
  Log(1, 2, "b0", "c5");
  Log(1, 3, "c0", "d5");
  Build();
  EXPECT_EQ(BestGroup(), (List{1, 2, 3}));
  Hold({1});
  EXPECT_EQ(BestGroup(), (List{})) << "each other one lies over what may not stay";
}

// The paper's example, with more below the table that stays than its figure has room for.
TEST_F(LogPicker, Figure6ANewerTableThatWouldCostTooMuchStays) {
  Log(1, 6, "10", "15");
  Log(1, 7, "40", "50");
  Log(1, 8, "10", "20");
  Log(1, 9, "60", "70");
  Log(1, 14, "12", "18");
  Log(1, 29, "19", "90");
  uint64_t id = 100;
  for (const auto& [smallest, largest] : std::vector<std::pair<const char*, const char*>>{{"00", "12"},
                                                                                          {"13", "20"},
                                                                                          {"21", "30"},
                                                                                          {"31", "39"},
                                                                                          {"40", "45"},
                                                                                          {"46", "50"},
                                                                                          {"51", "59"},
                                                                                          {"60", "65"},
                                                                                          {"66", "70"},
                                                                                          {"71", "80"},
                                                                                          {"81", "90"}}) {
    Tree(2, ++id, smallest, largest);
  }
  Build();
  EXPECT_EQ(BestGroup(), (List{6, 8, 14}));
}

TEST_F(LogPicker, OnlyWhatReadersHavePaidForIsNamed) {
  TenBelow();
  Log(1, 1, "a0", "a9");
  Log(1, 2, "a5", "b5");
  Build();
  EXPECT_TRUE(GroupsPaidFor(version_, busy_, 1).empty());
  const LiveTable& first = *version_.level(1).log.front().table;
  // The table and the one below it.
  while (first.paid_bytes() < 2 * kTable) {
    first.CountGet(true);
  }
  const std::vector<LogTables> groups = GroupsPaidFor(version_, busy_, 1);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(Ids(groups.front()), (List{1}));
}

TEST_F(LogPicker, StepsOfARangeAreClosedAndTheOldestComesFirst) {
  TenBelow();
  Log(1, 1, "a0", "b9");
  Log(1, 2, "b5", "c5");
  Log(1, 3, "e0", "e9");
  const Version& version = Build();
  const std::vector<LogTables> groups = GroupsIn(version, busy_, 1, {"b6", "c9"});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(Ids(groups[0]), (List{1}));
  EXPECT_EQ(Ids(groups[1]), (List{1, 2}));
  EXPECT_TRUE(GroupsIn(version, busy_, 1, {"x", "y"}).empty());
}

std::string RandomKey(Prng& prng) {
  return {static_cast<char>('a' + prng.Below(10)), static_cast<char>('0' + prng.Below(10))};
}

TEST_F(LogPicker, NoGroupEverLeavesSomethingOlderBehind) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    tables_ = {};
    busy_ = {};
    TenBelow();
    const uint64_t count = 1 + prng.Below(12);
    for (uint64_t id = 1; id <= count; ++id) {
      const auto [smallest, largest] = std::minmax({RandomKey(prng), RandomKey(prng)});
      Log(1, id, smallest, largest);
    }
    Build();
    std::vector<uint64_t> held;
    for (uint64_t id = 1; id <= count; ++id) {
      if (prng.Below(6) == 0) {
        held.push_back(id);
      }
    }
    Hold(held);
    std::vector<LogTables> groups = GroupsToMerge(version_, config_, busy_, 1);
    for (const LogTables& group : groups) {
      for (const std::shared_ptr<const LiveTable>& table : group) {
        EXPECT_FALSE(busy_.Holds(table->id()));
      }
    }
    for (LogTables& group : GroupsIn(version_, busy_, 1, {"a0", "j9"})) {
      groups.push_back(std::move(group));
    }
    for (const LogTables& group : groups) {
      for (const StampedTable& stays : version_.level(1).log) {
        if (std::find(group.begin(), group.end(), stays.table) != group.end()) {
          continue;
        }
        for (const std::shared_ptr<const LiveTable>& goes : group) {
          EXPECT_FALSE(stays->id() < goes->id() && stays->range().Overlaps(goes->range()))
              << stays->id().value << " stays under " << goes->id().value;
        }
      }
    }
  }
}

TEST_F(LogPicker, TheCheckOfASettledStoreSeesLogsThatHoldTooMuch) {
  TenBelow();
  Log(1, 1, "a0", "a9");
  EXPECT_TRUE(CheckSettledLogs(Build(), 0.1).empty());
  Log(1, 2, "b0", "b9");
  const std::vector<std::string> violations = CheckSettledLogs(Build(), 0.1);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_NE(violations[0].find("more than a share of 0.1"), std::string::npos) << violations[0];
}

TEST_F(LogPicker, TheCheckOfASettledStoreSeesLogsThatAreTooDeep) {
  TenBelow();
  for (uint64_t id = 1; id <= kLogDepthMax; ++id) {
    Log(1, id, "c0", "c9");
  }
  EXPECT_TRUE(CheckSettledLogs(Build(), 1).empty());
  Log(1, 50, "c3", "c4");
  const std::vector<std::string> violations = CheckSettledLogs(Build(), 1);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_NE(violations[0].find("9 tables of the log of level 1 hold one key"), std::string::npos);
}

TEST_F(LogPicker, TheCheckOfASettledStoreSeesALogThatMayNotBe) {
  TenBelow();
  Log(2, 1, "a0", "a9");
  const std::vector<std::string> violations = CheckSettledLogs(Build(), 1);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_NE(violations[0].find("level 2 has a log over a smaller level"), std::string::npos);
}

}  // namespace
}  // namespace varve
