#include "engine/base/range_tombstones.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/prng.h"

namespace varve {
namespace {

RangeTombstone Of(std::string begin, std::string end, uint64_t sequence) {
  return {std::move(begin), std::move(end), SequenceNumber(sequence)};
}

TEST(RangeTombstones, TheNewestOverAKeyIsTheNewestThatTheReaderSees) {
  RangeTombstones set;
  set.Add(Of("b", "m", 10));
  set.Add(Of("d", "f", 20));
  EXPECT_EQ(set.NewestAt("a", kSequenceNumberMax).value, 0u);
  EXPECT_EQ(set.NewestAt("b", kSequenceNumberMax).value, 10u);
  EXPECT_EQ(set.NewestAt("d", kSequenceNumberMax).value, 20u);
  EXPECT_EQ(set.NewestAt("d", SequenceNumber(19)).value, 10u);
  EXPECT_EQ(set.NewestAt("d", SequenceNumber(9)).value, 0u);
  EXPECT_EQ(set.NewestAt("f", kSequenceNumberMax).value, 10u);
  EXPECT_EQ(set.NewestAt("m", kSequenceNumberMax).value, 0u);
}

TEST(RangeTombstones, ACoverHoldsUpToWhereTheNextOneBeginsOrEnds) {
  RangeTombstones set;
  set.Add(Of("b", "m", 10));
  set.Add(Of("d", "f", 20));
  const RangeCover before = set.CoverAt("a", kSequenceNumberMax);
  EXPECT_EQ(before.newest.value, 0u);
  EXPECT_EQ(before.end, "b");
  const RangeCover inside = set.CoverAt("e", kSequenceNumberMax);
  EXPECT_EQ(inside.newest.value, 20u);
  EXPECT_EQ(inside.begin, "d");
  EXPECT_EQ(inside.end, "f");
  const RangeCover behind = set.CoverAt("z", kSequenceNumberMax);
  EXPECT_EQ(behind.newest.value, 0u);
  EXPECT_TRUE(behind.HoldsFor("zzz"));
  EXPECT_FALSE(behind.HoldsFor("l"));
}

TEST(RangeTombstones, CoversOfTwoSetsNarrowEachOther) {
  RangeTombstones older;
  older.Add(Of("b", "m", 10));
  RangeTombstones newer;
  newer.Add(Of("k", "z", 20));
  RangeCover cover = older.CoverAt("c", kSequenceNumberMax);
  cover.Add(newer.CoverAt("c", kSequenceNumberMax));
  EXPECT_EQ(cover.newest.value, 10u);
  EXPECT_EQ(cover.begin, "b");
  EXPECT_EQ(cover.end, "k");
}

// Each part names all that cover it: what that takes grows with their square, and has to be seen.
TEST(RangeTombstones, MemoryIsThatOfAllPartsWhereRangesOverlap) {
  RangeTombstones apart;
  RangeTombstones nested;
  for (uint64_t i = 1; i <= 1000; ++i) {
    const std::string key = std::to_string(10'000 + i);
    apart.Add(Of(key, key + "a", i));
    nested.Add(Of(key, "z", i));
  }
  EXPECT_LT(apart.memory_bytes(), 1000 * kKiB);
  EXPECT_GT(nested.memory_bytes(), 1000 * 1000 / 2 * sizeof(uint64_t));
}

// Everything that the set says, against a list that is searched from end to end.
TEST(RangeTombstones, AnswersAreThoseOfAPlainList) {
  Prng random(7);
  const auto key = [&] { return std::string(1, static_cast<char>('a' + random.Below(12))); };
  for (int run = 0; run < 200; ++run) {
    RangeTombstones set;
    std::vector<RangeTombstone> list;
    uint64_t sequence = 0;
    for (int i = 0; i < 30; ++i) {
      if (!list.empty() && random.OneIn(3)) {
        const size_t at = random.Below(list.size());
        EXPECT_TRUE(set.Remove(list[at].sequence));
        EXPECT_FALSE(set.Remove(list[at].sequence));
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        std::string begin = key();
        std::string end = key();
        if (end < begin) {
          std::swap(begin, end);
        }
        if (begin != end) {
          list.push_back(Of(begin, end, ++sequence));
          set.Add(list.back());
        }
      }
      ASSERT_EQ(set.size(), list.size());
      const std::string asked = key();
      const SequenceNumber at(random.Below(sequence + 2));
      std::string last = key();
      last = std::max(last, asked);
      SequenceNumber newest, oldest, over;
      for (const RangeTombstone& t : list) {
        const bool covers = t.begin <= asked && asked < t.end;
        if (covers && t.sequence <= at) {
          newest = std::max(newest, t.sequence);
        }
        if (covers && t.sequence > at && (oldest == SequenceNumber(0) || t.sequence < oldest)) {
          oldest = t.sequence;
        }
        // A key of the range that is a letter or lies between two.
        if (t.begin <= last && asked < t.end && t.sequence <= at) {
          over = std::max(over, t.sequence);
        }
      }
      EXPECT_EQ(set.NewestAt(asked, at), newest);
      EXPECT_EQ(set.OldestAfter(asked, at), oldest);
      EXPECT_EQ(set.NewestOver({asked, last}, at), over);
      // Ranges begin and end at letters: what lies between two is under what the first is under.
      SequenceNumber least = kSequenceNumberMax;
      for (char c = asked[0]; c <= last[0]; ++c) {
        least = std::min(least, set.NewestAt(std::string(1, c), at));
      }
      EXPECT_EQ(set.LeastOver({asked, last}, at), least);
      const RangeCover cover = set.CoverAt(asked, at);
      EXPECT_EQ(cover.newest, newest);
      EXPECT_TRUE(cover.HoldsFor(asked));
      for (char c = 'a'; c < 'm'; ++c) {
        const std::string other(1, c);
        EXPECT_TRUE(!cover.HoldsFor(other) || set.NewestAt(other, at) == newest);
      }
      for (const RangeTombstone& t : list) {
        SequenceNumber shadow;
        for (const RangeTombstone& u : list) {
          if (u.sequence > t.sequence && u.begin <= t.begin && t.end <= u.end &&
              (shadow == SequenceNumber(0) || u.sequence < shadow)) {
            shadow = u.sequence;
          }
        }
        EXPECT_EQ(set.OldestOverAll(t), shadow);
      }
    }
    for (const RangeTombstone& t : list) {
      EXPECT_EQ(set.Find(t.sequence), t);
      set.Remove(t.sequence);
    }
    EXPECT_TRUE(set.empty());
    EXPECT_EQ(set.memory_bytes(), 0u);
    EXPECT_EQ(set.CoverAt("c", kSequenceNumberMax).end, "") << "boundaries are left behind";
  }
}

}  // namespace
}  // namespace varve
