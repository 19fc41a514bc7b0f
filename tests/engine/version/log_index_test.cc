#include "engine/version/log_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/base/prng.h"
#include "engine/version/version_edit.h"
#include "tests/support/table_views.h"

namespace varve {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Table i has id i + 1 and stamp i + 1.
std::vector<StampedTable> LogOf(const std::vector<KeyRange>& ranges) {
  std::vector<StampedTable> log;
  for (const KeyRange& range : ranges) {
    const uint64_t id = log.size() + 1;
    log.push_back(
        {InstallStamp(id), MakeTable({.id = id, .smallest = range.smallest, .largest = range.largest})});
  }
  return log;
}

std::vector<uint64_t> IdsAt(const LogIndex& index, std::string_view key) {
  std::vector<uint64_t> ids;
  for (const LiveTable* table : index.At(key)) {
    ids.push_back(table->id().value);
  }
  return ids;
}

std::vector<uint64_t> IdsByWalk(const std::vector<StampedTable>& log, std::string_view key) {
  std::vector<uint64_t> ids;
  for (auto placed = log.rbegin(); placed != log.rend(); ++placed) {
    if ((*placed)->range().Contains(key)) {
      ids.push_back((*placed)->id().value);
    }
  }
  return ids;
}

// Short, so that there are prefixes, equal ends and the empty key, over bytes at both ends of their order.
std::string RandomKey(Prng& prng, uint64_t length_max) {
  constexpr std::string_view kBytes("\0am\xff", 4);
  std::string key(prng.Below(length_max + 1), '\0');
  for (char& byte : key) {
    byte = kBytes[prng.Below(kBytes.size())];
  }
  return key;
}

std::vector<KeyRange> RandomRanges(Prng& prng) {
  const uint64_t length_max = 1 + prng.Below(4);
  std::vector<KeyRange> ranges(1 + prng.Below(60));
  for (KeyRange& range : ranges) {
    range.smallest = RandomKey(prng, length_max);
    range.largest = prng.OneIn(4) ? range.smallest : RandomKey(prng, length_max);
    if (range.largest < range.smallest) {
      std::swap(range.smallest, range.largest);
    }
  }
  return ranges;
}

// Every end of a range, and keys close before and behind it.
std::set<std::string> KeysToAsk(const std::vector<KeyRange>& ranges) {
  std::set<std::string> keys = {"", "\xff\xff\xff\xff\xff\xff"};
  for (const KeyRange& range : ranges) {
    for (const std::string& end : {range.smallest, range.largest}) {
      keys.insert(end);
      keys.insert(end + '\0');
      if (!end.empty()) {
        std::string before = end;
        before.pop_back();
        keys.insert(before);
        if (end.back() != '\0') {
          before.push_back(static_cast<char>(static_cast<uint8_t>(end.back()) - 1));
          keys.insert(before + '\xff');
        }
      }
    }
  }
  return keys;
}

TEST(LogIndex, OfAnEmptyLogHoldsNothing) {
  for (const LogIndex& index : {LogIndex(), LogIndex(std::vector<StampedTable>())}) {
    EXPECT_TRUE(index.At("").empty());
    EXPECT_TRUE(index.At("k").empty());
    EXPECT_TRUE(index.runs().empty());
    EXPECT_EQ(index.depth(), 0U);
  }
}

TEST(LogIndex, FindsTheTablesOverAKeyNewestFirst) {
  const LogIndex index(LogOf({{"b", "m"}, {"f", "f"}, {"m", "t"}, {"b", "f"}}));
  EXPECT_THAT(IdsAt(index, "a"), IsEmpty());
  EXPECT_THAT(IdsAt(index, "b"), ElementsAre(4, 1));
  EXPECT_THAT(IdsAt(index, "f"), ElementsAre(4, 2, 1));
  EXPECT_THAT(IdsAt(index, std::string_view("f\0", 2)), ElementsAre(1));
  EXPECT_THAT(IdsAt(index, "m"), ElementsAre(3, 1));
  EXPECT_THAT(IdsAt(index, "ma"), ElementsAre(3));
  EXPECT_THAT(IdsAt(index, "u"), IsEmpty());
}

TEST(LogIndex, DisjointTablesMakeOneRun) {
  const LogIndex index(LogOf({{"x", "z"}, {"a", "c"}, {"d", "d"}}));
  ASSERT_EQ(index.runs().size(), 1U);
  EXPECT_EQ(index.runs()[0].size(), 3U);
  EXPECT_EQ(index.depth(), 1U);
}

TEST(LogIndex, RandomLogsAgreeWithAWalkOverAllTables) {
  Prng prng(23);
  for (int round = 0; round < 400; ++round) {
    const std::vector<KeyRange> ranges = RandomRanges(prng);
    const std::vector<StampedTable> log = LogOf(ranges);
    const LogIndex index(log);
    size_t depth = 0;
    for (const std::string& key : KeysToAsk(ranges)) {
      const std::vector<uint64_t> expected = IdsByWalk(log, key);
      ASSERT_EQ(IdsAt(index, key), expected) << "round " << round << " key " << testing::PrintToString(key);
      depth = std::max(depth, expected.size());
    }
    EXPECT_EQ(index.depth(), depth);
  }
}

TEST(LogIndex, RunsAreSortedAndHoldEachTableOnce) {
  Prng prng(24);
  for (int round = 0; round < 400; ++round) {
    const std::vector<StampedTable> log = LogOf(RandomRanges(prng));
    const LogIndex index(log);
    EXPECT_EQ(index.runs().size(), index.depth());
    std::set<uint64_t> seen;
    for (const SortedTables& run : index.runs()) {
      const LiveTable* previous = nullptr;
      for (SortedTables::Cursor cursor = run.First(); cursor.Valid(); cursor.Next()) {
        EXPECT_TRUE(previous == nullptr || previous->largest_key() < cursor->smallest_key());
        EXPECT_TRUE(seen.insert(cursor->id().value).second);
        previous = &*cursor;
      }
      EXPECT_FALSE(run.empty());
    }
    EXPECT_EQ(seen.size(), log.size());
  }
}

TEST(LogIndex, HoldsItsTables) {
  auto log = std::make_unique<std::vector<StampedTable>>(LogOf({{"a", "k"}, {"b", "c"}}));
  const auto index = std::make_unique<LogIndex>(*log);
  const LogIndex copy = *index;
  log->clear();
  EXPECT_THAT(IdsAt(copy, "b"), ElementsAre(2, 1));
  EXPECT_EQ(copy.At("b").data(), index->At("b").data());
}

struct Levels {
  std::shared_ptr<LiveTables> tables = std::make_shared<LiveTables>(nullptr);
  Version version;

  void Apply(VersionEdit edit) {
    InstallStamp stamp = version.counters().next_stamp;
    for (VersionEdit::AddedTable& added : edit.added_tables) {
      added.stamp = stamp;
      stamp = stamp.Next();
    }
    edit.next_stamp = stamp;
    Result<Version> next = ApplyVersionEdit(version, edit, *tables);
    ASSERT_TRUE(next.ok()) << next.ToString();
    version = std::move(next).value();
  }
};

constexpr Place kTree1{1, Part::kTree};
constexpr Place kLog1{1, Part::kLog};

TEST(LogIndex, OfALevelFollowsItsLog) {
  Levels levels;
  VersionEdit come;
  come.AddTable(kLog1, MakeView({.id = 1, .smallest = "a", .largest = "f"}));
  come.AddTable(kLog1, MakeView({.id = 2, .smallest = "e", .largest = "k"}));
  levels.Apply(come);
  EXPECT_THAT(IdsAt(levels.version.level(1).log_index, "e"), ElementsAre(2, 1));
  const Version before = levels.version;

  VersionEdit go;
  go.RemoveTable(kLog1, *levels.version.level(1).log.front().table);
  levels.Apply(go);
  EXPECT_THAT(IdsAt(levels.version.level(1).log_index, "e"), ElementsAre(2));
  EXPECT_THAT(IdsAt(before.level(1).log_index, "e"), ElementsAre(2, 1));

  VersionEdit last;
  last.RemoveTable(kLog1, *levels.version.level(1).log.front().table);
  levels.Apply(last);
  EXPECT_EQ(levels.version.level(1).log_index.depth(), 0U);
}

TEST(LogIndex, IsSharedByVersionsThatLeaveTheLogAsItIs) {
  Levels levels;
  VersionEdit log;
  log.AddTable(kLog1, MakeView({.id = 1}));
  levels.Apply(log);
  const Version before = levels.version;
  VersionEdit tree;
  tree.AddTable(kTree1, MakeView({.id = 2}));
  levels.Apply(tree);
  EXPECT_EQ(levels.version.level(1).log_index.At("k").data(), before.level(1).log_index.At("k").data());
  EXPECT_EQ(levels.version.level(1).log_totals.tables, 1U);
}

}  // namespace
}  // namespace varve
