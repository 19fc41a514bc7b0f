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

std::string DrawKey(Prng& random) {
  return std::string(1, static_cast<char>('a' + random.Below(12)));
}

// Adds a range between two keys with the next sequence number; false: they were the same.
bool DrawRange(Prng& random, uint64_t& sequence, std::vector<RangeTombstone>& list) {
  std::string begin = DrawKey(random);
  std::string end = DrawKey(random);
  if (end < begin) {
    std::swap(begin, end);
  }
  if (begin != end) {
    list.push_back(Of(begin, end, ++sequence));
  }
  return begin != end;
}

// Everything that the set says, against a list that is searched from end to end.
TEST(RangeTombstones, AnswersAreThoseOfAPlainList) {
  Prng random(7);
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
      } else if (DrawRange(random, sequence, list)) {
        set.Add(list.back());
      }
      ASSERT_EQ(set.size(), list.size());
      const std::string asked = DrawKey(random);
      const SequenceNumber at(random.Below(sequence + 2));
      std::string last = DrawKey(random);
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
        bool is_under_newer = true;
        for (char c = t.begin[0]; c < t.end[0]; ++c) {
          is_under_newer = is_under_newer && set.NewestAt(std::string(1, c), kSequenceNumberMax) > t.sequence;
        }
        EXPECT_EQ(set.IsUnderNewer(t), is_under_newer);
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

// Nested, so that everything is over everything further inside.
TEST(RangeTombstones, ListsKeepTheNewestForEachReader) {
  const std::vector<SequenceNumber> readers{SequenceNumber(10), SequenceNumber(500), SequenceNumber(5000)};
  RangeTombstones all;
  RangeTombstones pruned;
  for (uint64_t i = 1; i <= 1000; ++i) {
    all.Add(Of(std::to_string(10'000 + i), std::to_string(99'999 - i), i));
    pruned.Add(Of(std::to_string(10'000 + i), std::to_string(99'999 - i), i), readers);
  }
  EXPECT_EQ(pruned.size(), 1000u);
  EXPECT_LE(pruned.memory_bytes() - pruned.unlisted_bytes(), 2000 * 3 * sizeof(SequenceNumber));
  EXPECT_EQ(pruned.unlisted_bytes(), all.unlisted_bytes());
  for (const SequenceNumber reader : readers) {
    EXPECT_EQ(pruned.NewestAt("5", reader), all.NewestAt("5", reader));
    EXPECT_EQ(pruned.NewestAt("10300", reader), all.NewestAt("10300", reader));
  }
  all.Prune(readers);
  EXPECT_EQ(all.memory_bytes(), pruned.memory_bytes());
}

TEST(RangeTombstones, TheSameAgainAndAgainIsListedOnce) {
  const std::vector<SequenceNumber> readers{SequenceNumber(10'000)};
  RangeTombstones set;
  for (uint64_t i = 1; i <= 5000; ++i) {
    set.Add(Of("b", "m", i), readers);
  }
  EXPECT_EQ(set.memory_bytes() - set.unlisted_bytes(), sizeof(SequenceNumber));
  std::vector<SequenceNumber> shadowed = set.Shadowed(readers);
  EXPECT_EQ(shadowed.size(), 4999u);
  EXPECT_EQ(set.Shadowed({}).size(), 4999u) << "what is listed no longer is needed by nobody";
}

// Each reaches further than the one before: what lies under the last is one part.
TEST(RangeTombstones, PartsThatListTheSameAreOne) {
  const std::vector<SequenceNumber> readers{SequenceNumber(10'000)};
  RangeTombstones set;
  for (uint64_t i = 1; i <= 1000; ++i) {
    set.Add(Of(std::to_string(50'000 - i), std::to_string(50'000 + i), i), readers);
  }
  EXPECT_EQ(set.memory_bytes() - set.unlisted_bytes(), sizeof(SequenceNumber));
  EXPECT_EQ(set.CoverAt("50000", kSequenceNumberMax).begin, "49000");
  EXPECT_EQ(set.CoverAt("50000", kSequenceNumberMax).end, "51000");
}

// What comes later than the last reader that is known of may be seen without what follows it.
TEST(RangeTombstones, WhatIsNewerThanAllReadersStaysListed) {
  const std::vector<SequenceNumber> readers{SequenceNumber(15)};
  RangeTombstones set;
  set.Add(Of("b", "m", 10), readers);
  set.Add(Of("b", "m", 12), readers);
  set.Add(Of("b", "m", 20), readers);
  set.Add(Of("b", "m", 30), readers);
  EXPECT_EQ(set.NewestAt("c", SequenceNumber(11)).value, 0u);
  EXPECT_EQ(set.NewestAt("c", SequenceNumber(15)).value, 12u);
  EXPECT_EQ(set.NewestAt("c", SequenceNumber(25)).value, 20u);
  EXPECT_EQ(set.NewestAt("c", SequenceNumber(35)).value, 30u);
}

// Readers come and go; a set that prunes for those that there are answers each of them as a plain list does,
// says the same of what is needed, and forgets nothing that is removed later.
TEST(RangeTombstones, ForItsReadersAPrunedSetAnswersAsAPlainList) {
  Prng random(11);
  for (int run = 0; run < 300; ++run) {
    RangeTombstones set;
    std::vector<RangeTombstone> list;
    std::vector<SequenceNumber> held;
    uint64_t sequence = 0;
    for (int i = 0; i < 40; ++i) {
      if (random.OneIn(3)) {
        held.emplace_back(sequence);
      } else if (!held.empty() && random.OneIn(3)) {
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(random.Below(held.size())));
      }
      std::vector<SequenceNumber> readers = held;
      readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
      if (DrawRange(random, sequence, list)) {
        readers.emplace_back(sequence);
        set.Add(list.back(), readers);
      } else {
        readers.emplace_back(sequence);
        readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
        set.Prune(readers);
      }
      const auto newest_at = [&](const std::string& asked, SequenceNumber at) {
        SequenceNumber newest;
        for (const RangeTombstone& t : list) {
          if (t.begin <= asked && asked < t.end && t.sequence <= at) {
            newest = std::max(newest, t.sequence);
          }
        }
        return newest;
      };
      std::vector<SequenceNumber> needed;
      for (char c = 'a'; c < 'm'; ++c) {
        const std::string asked(1, c);
        for (const SequenceNumber reader : readers) {
          ASSERT_EQ(set.NewestAt(asked, reader), newest_at(asked, reader));
          needed.push_back(newest_at(asked, reader));
        }
      }
      for (const SequenceNumber shadowed : set.Shadowed(readers)) {
        EXPECT_EQ(std::count(needed.begin(), needed.end(), shadowed), 0);
        if (random.OneIn(2)) {
          EXPECT_TRUE(set.Remove(shadowed));
          std::erase_if(list, [&](const RangeTombstone& t) { return t.sequence == shadowed; });
        }
      }
      ASSERT_EQ(set.size(), list.size());
    }
    // Those that stay are needed by somebody.
    const std::vector<SequenceNumber> last{SequenceNumber(sequence)};
    for (const SequenceNumber shadowed : set.Shadowed(last)) {
      EXPECT_TRUE(set.Remove(shadowed));
    }
    set.Prune(last);
    set.ForEach([&](const RangeTombstone& t) {
      bool is_needed = false;
      for (char c = t.begin[0]; c < t.end[0]; ++c) {
        is_needed = is_needed || set.NewestAt(std::string(1, c), last.back()) == t.sequence;
      }
      EXPECT_TRUE(is_needed);
    });
    for (const RangeTombstone& t : list) {
      set.Remove(t.sequence);
    }
    EXPECT_TRUE(set.empty());
    EXPECT_EQ(set.memory_bytes(), 0u);
    EXPECT_EQ(set.CoverAt("c", kSequenceNumberMax).end, "") << "boundaries are left behind";
  }
}

}  // namespace
}  // namespace varve
