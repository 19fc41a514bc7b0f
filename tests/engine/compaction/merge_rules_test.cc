#include "engine/compaction/merge_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "engine/base/prng.h"
#include "tests/support/table_views.h"

namespace varve {
namespace {

std::string Key(std::string_view user_key, uint64_t sequence, RecordKind kind = RecordKind::kValue) {
  std::string key;
  AppendInternalKey(key, user_key, SequenceNumber(sequence), kind);
  return key;
}

SnapshotList At(std::initializer_list<uint64_t> sequences) {
  SnapshotList list;
  for (const uint64_t sequence : sequences) {
    list.push_back(SequenceNumber(sequence));
  }
  return list;
}

// A version with one table in each place.
std::shared_ptr<const Version> VersionOf(const std::vector<std::pair<Place, FakeTable>>& tables) {
  FakeVersion version;
  for (const auto& [place, table] : tables) {
    version.Add(place, MakeView(table));
  }
  return std::make_shared<const Version>(version.Build());
}

TEST(MergeRules, WithoutSnapshotsOnlyTheNewestVersionStays) {
  MergeRules rules({}, nullptr);
  EXPECT_TRUE(rules.Keep(Key("a", 9)));
  EXPECT_FALSE(rules.Keep(Key("a", 5)));
  EXPECT_TRUE(rules.Keep(Key("b", 3)));
  EXPECT_TRUE(rules.Keep(Key("ba", 2)));
}

TEST(MergeRules, TheNewestVersionThatEachSnapshotSeesStays) {
  MergeRules rules(At({4, 7}), nullptr);
  EXPECT_TRUE(rules.Keep(Key("a", 9)));
  EXPECT_FALSE(rules.Keep(Key("a", 8)));
  EXPECT_TRUE(rules.Keep(Key("a", 7)));  // a snapshot sees its own sequence number
  EXPECT_FALSE(rules.Keep(Key("a", 5)));
  EXPECT_TRUE(rules.Keep(Key("a", 4)));
  EXPECT_FALSE(rules.Keep(Key("a", 2)));
}

TEST(MergeRules, ATombstoneStaysWhereOlderDataMayBeAnywhere) {
  MergeRules rules({}, nullptr);
  EXPECT_TRUE(rules.Keep(Key("a", 9, RecordKind::kTombstone)));
  EXPECT_FALSE(rules.Keep(Key("a", 5)));
}

TEST(MergeRules, ATombstoneGoesWithAllThatItHidesWhenNothingOlderIsBelow) {
  OlderData nothing(VersionOf({}), 1, {});
  MergeRules rules({}, &nothing);
  EXPECT_FALSE(rules.Keep(Key("a", 9, RecordKind::kTombstone)));
  EXPECT_FALSE(rules.Keep(Key("a", 5)));
  EXPECT_TRUE(rules.Keep(Key("b", 4)));
}

TEST(MergeRules, ATombstoneThatIsNewerThanTheOldestSnapshotStays) {
  OlderData nothing(VersionOf({}), 1, {});
  MergeRules rules(At({6}), &nothing);
  EXPECT_TRUE(rules.Keep(Key("a", 9, RecordKind::kTombstone)));
  EXPECT_TRUE(rules.Keep(Key("a", 5)));
  EXPECT_FALSE(rules.Keep(Key("b", 6, RecordKind::kTombstone)));  // the snapshot sees it: nothing is the same
  EXPECT_FALSE(rules.Keep(Key("b", 3)));
}

RangeTombstones Ranges(std::initializer_list<RangeTombstone> tombstones) {
  RangeTombstones ranges;
  for (const RangeTombstone& tombstone : tombstones) {
    ranges.Add(tombstone);
  }
  return ranges;
}

TEST(MergeRules, WhatARangeTombstoneHidesFromAllReadersGoes) {
  const RangeTombstones ranges = Ranges({{"b", "d", SequenceNumber(20)}});
  MergeRules rules(At({30}), nullptr, &ranges);
  EXPECT_TRUE(rules.Keep(Key("a", 5)));
  EXPECT_FALSE(rules.Keep(Key("b", 19)));
  EXPECT_TRUE(rules.hidden());
  EXPECT_FALSE(rules.Keep(Key("b", 3)));
  EXPECT_TRUE(rules.Keep(Key("c", 21)));  // written after the deletion
  EXPECT_FALSE(rules.hidden());
  EXPECT_TRUE(rules.Keep(Key("d", 5)));  // the end is not part of the range
  EXPECT_EQ(rules.purged_up_to().value, 20u);
}

TEST(MergeRules, TombstonesOfKeysGoUnderARangeTombstoneToo) {
  const RangeTombstones ranges = Ranges({{"b", "d", SequenceNumber(20)}});
  MergeRules rules(At({30}), nullptr, &ranges);
  EXPECT_FALSE(rules.Keep(Key("b", 19, RecordKind::kTombstone)));
  EXPECT_FALSE(rules.Keep(Key("b", 18)));
}

TEST(MergeRules, WhatASnapshotSeesFromBeforeARangeTombstoneStaysAndTheMergeSaysSo) {
  const RangeTombstones ranges = Ranges(
      {{"b", "d", SequenceNumber(10)}, {"b", "d", SequenceNumber(20)}, {"x", "z", SequenceNumber(25)}});
  MergeRules rules(At({15, 30}), nullptr, &ranges);
  EXPECT_FALSE(rules.Keep(Key("b", 5)));  // hidden by 10 already at 15
  EXPECT_TRUE(rules.Keep(Key("c", 12)));
  EXPECT_FALSE(rules.Keep(Key("c", 9)));
  EXPECT_EQ(rules.purged_up_to().value, 19u);
}

TEST(MergeRules, WhatIsNewerThanAllSnapshotsStaysWhateverCoversIt) {
  const RangeTombstones ranges = Ranges({{"b", "d", SequenceNumber(20)}});
  MergeRules rules(At({15}), nullptr, &ranges);
  EXPECT_TRUE(rules.Keep(Key("b", 17)));
  EXPECT_EQ(rules.purged_up_to().value, 19u);
}

TEST(OlderData, IsInDeeperTreesAndInLogsFromTheLevelOn) {
  const auto version = VersionOf({{{1, Part::kTree}, {.id = 1, .smallest = "a", .largest = "b"}},
                                  {{1, Part::kLog}, {.id = 2, .smallest = "c", .largest = "d"}},
                                  {{2, Part::kTree}, {.id = 3, .smallest = "e", .largest = "f"}},
                                  {{2, Part::kTree}, {.id = 4, .smallest = "h", .largest = "i"}},
                                  {{3, Part::kLog}, {.id = 5, .smallest = "k", .largest = "l"}}});
  OlderData older(version, 1, {});
  EXPECT_FALSE(older.MayHold("a"));  // the level's own Tree is newer or an input
  EXPECT_TRUE(older.MayHold("c"));
  EXPECT_TRUE(older.MayHold("e"));
  EXPECT_FALSE(older.MayHold("g"));
  EXPECT_TRUE(older.MayHold("i"));
  EXPECT_TRUE(older.MayHold("k"));
}

TEST(OlderData, TheMergesOwnInputsDoNotCount) {
  const auto version = VersionOf({{{1, Part::kLog}, {.id = 2, .smallest = "c", .largest = "d"}},
                                  {{2, Part::kTree}, {.id = 3, .smallest = "e", .largest = "f"}}});
  OlderData older(version, 1, {TableId(2), TableId(3)});
  EXPECT_FALSE(older.MayHold("c"));
  EXPECT_FALSE(older.MayHold("e"));
}

TEST(MergeRules, RandomHistoriesReadTheSameAtEverySnapshotAfterTheMerge) {
  Prng prng(11);
  for (int round = 0; round < 500; ++round) {
    // Versions of three keys, newest first by key; some older data lies below the merge, under some keys.
    std::map<std::string, std::map<uint64_t, RecordKind, std::greater<>>> history;
    std::map<std::string, bool> below;
    std::vector<std::pair<Place, FakeTable>> deeper;
    for (const std::string key : {"a", "b", "c"}) {
      below[key] = prng.OneIn(2);
      if (below[key]) {
        deeper.push_back({{3, Part::kTree}, {.id = deeper.size() + 1, .smallest = key, .largest = key}});
      }
      for (uint64_t sequence = 10; sequence < 30; ++sequence) {
        if (prng.OneIn(4)) {
          history[key][sequence] = prng.OneIn(2) ? RecordKind::kValue : RecordKind::kTombstone;
        }
      }
    }
    SnapshotList snapshots;
    for (uint64_t sequence = 5; sequence < 35; ++sequence) {
      if (prng.OneIn(8)) {
        snapshots.push_back(SequenceNumber(sequence));
      }
    }
    OlderData older(VersionOf(deeper), 1, {});
    MergeRules rules(snapshots, &older);
    std::map<std::string, std::map<uint64_t, RecordKind, std::greater<>>> kept;
    for (const auto& [key, versions] : history) {
      for (const auto& [sequence, kind] : versions) {
        if (rules.Keep(Key(key, sequence, kind))) {
          kept[key][sequence] = kind;
        }
      }
    }
    // What a reader finds: the sequence of a value, 1 for the one below, 0 for nothing.
    const auto read = [&](auto& versions, const std::string& key, uint64_t at) -> uint64_t {
      for (const auto& [sequence, kind] : versions[key]) {
        if (sequence <= at) {
          return kind == RecordKind::kValue ? sequence : 0;
        }
      }
      return below[key] ? 1 : 0;
    };
    snapshots.push_back(SequenceNumber(1000));
    for (const SequenceNumber at : snapshots) {
      for (const std::string key : {"a", "b", "c"}) {
        ASSERT_EQ(read(kept, key, at.value), read(history, key, at.value)) << key << " at " << at.value;
      }
    }
  }
}

}  // namespace
}  // namespace varve
