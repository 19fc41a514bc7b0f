// Buffers of a Version: what edits put into them, what they hide, and what gets find.
#include "engine/version/buffer.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "engine/base/prng.h"
#include "engine/version/edit_invariants.h"
#include "engine/version/invariants.h"
#include "engine/version/version_edit.h"
#include "tests/support/table_views.h"

namespace varve {
namespace {

constexpr Place kTree1{1, Part::kTree};
constexpr Place kTree2{2, Part::kTree};
constexpr Place kLog1{1, Part::kLog};

class BufferTest : public ::testing::Test {
 protected:
  Status Apply(VersionEdit edit) {
    InstallStamp stamp = version_.counters().next_stamp;
    for (VersionEdit::AddedTable& added : edit.added_tables) {
      added.stamp = stamp;
      stamp = stamp.Next();
    }
    for (VersionEdit::BufferElement& element : edit.buffer_elements) {
      element.stamp = stamp;
      stamp = stamp.Next();
    }
    edit.next_stamp = stamp;
    edit.next_table_id = TableId(1000);
    edit.last_sequence = SequenceNumber(1000);
    Result<Version> next = ApplyVersionEdit(version_, edit, *tables_);
    if (next.ok()) {
      version_ = std::move(next).value();
      EXPECT_EQ(CheckVersion(version_), std::vector<std::string>());
    }
    return next.status();
  }
  void AddTable(Place place, const FakeTable& table) {
    VersionEdit edit;
    edit.AddTable(place, MakeView(table));
    ASSERT_TRUE(Apply(edit).ok());
  }
  // Into the buffer of level 2: asked for `kept` of its range.
  void AddView(const FakeTable& table, const KeySpans& kept) {
    VersionEdit edit;
    edit.buffer_elements.push_back({2, {}, {table.smallest, table.largest}, MakeView(table), kept});
    ASSERT_TRUE(Apply(edit).ok());
  }
  void AddView(const FakeTable& table) {
    AddView(table, KeySpans::Of(KeyRange{table.smallest, table.largest}));
  }
  void AddHole(const KeyRange& range) {
    VersionEdit edit;
    edit.buffer_elements.push_back({2, {}, range});
    ASSERT_TRUE(Apply(edit).ok());
  }
  // The ids of the tables to ask, newest first.
  std::vector<uint64_t> Asked(std::string_view key) const {
    std::vector<uint64_t> ids;
    for (const LiveTable* table : version_.level(2).buffer.At(key)) {
      ids.push_back(table->id().value);
    }
    return ids;
  }
  using Ids = std::vector<uint64_t>;

  std::shared_ptr<LiveTables> tables_ = std::make_shared<LiveTables>(nullptr);
  Version version_;
};

TEST_F(BufferTest, TheNewestViewOfAKeyIsAskedFirst) {
  AddView({.id = 1, .smallest = "a", .largest = "m"});
  AddView({.id = 2, .smallest = "f", .largest = "z"});
  EXPECT_EQ(Asked("g"), (Ids{2, 1}));
  EXPECT_EQ(Asked("b"), (Ids{1}));
  EXPECT_EQ(Asked("z"), (Ids{2}));
  EXPECT_EQ(Asked("zz"), Ids());
}

TEST_F(BufferTest, AHoleHidesWhatIsOlderAndNothingThatIsNewer) {
  AddView({.id = 1, .smallest = "a", .largest = "m"});
  AddHole({"c", "f"});
  AddView({.id = 2, .smallest = "b", .largest = "d"});
  EXPECT_EQ(Asked("b"), (Ids{2, 1}));
  EXPECT_EQ(Asked("c"), (Ids{2}));
  EXPECT_EQ(Asked("f"), Ids());
  EXPECT_EQ(Asked("g"), (Ids{1}));
}

TEST_F(BufferTest, WhatAViewDoesNotKeepIsAHoleForOlderOnes) {
  AddView({.id = 1, .smallest = "a", .largest = "z"});
  AddView({.id = 2, .smallest = "d", .largest = "p"}, KeySpans::Of(KeyRange{"f", "h"}));
  EXPECT_EQ(Asked("g"), (Ids{2, 1}));
  EXPECT_EQ(Asked("e"), Ids());
  EXPECT_EQ(Asked("i"), Ids());
  EXPECT_EQ(Asked("q"), (Ids{1}));
}

TEST_F(BufferTest, ATrimmedViewLeavesAHoleInOlderOnesThatOutlivesIt) {
  AddView({.id = 1, .smallest = "a", .largest = "z"});
  AddView({.id = 2, .smallest = "d", .largest = "p"});
  AddView({.id = 3, .smallest = "e", .largest = "e"});
  VersionEdit edit;
  edit.trimmed_views.push_back({2, version_.level(2).buffer.views()[1].stamp, {}});
  ASSERT_TRUE(Apply(edit).ok());
  EXPECT_EQ(Asked("d"), Ids());
  EXPECT_EQ(Asked("e"), (Ids{3}));
  EXPECT_EQ(Asked("q"), (Ids{1}));
}

TEST_F(BufferTest, ATrimTakesOnlyWhatIsStillThere) {
  AddView({.id = 1, .smallest = "a", .largest = "z"});
  const InstallStamp stamp = version_.level(2).buffer.views()[0].stamp;
  AddHole({"a", "f"});
  VersionEdit edit;
  edit.trimmed_views.push_back({2, stamp, KeySpans::Of(KeyRange{"c", "k"})});
  edit.trimmed_views.push_back({2, InstallStamp(77), {}});  // went meanwhile
  ASSERT_TRUE(Apply(edit).ok());
  EXPECT_EQ(Asked("d"), Ids()) << "what is hidden stays so";
  EXPECT_EQ(Asked("k"), (Ids{1}));
  EXPECT_EQ(Asked("l"), Ids());
}

TEST_F(BufferTest, AViewThatNobodyCanReachGoesAndItsTableWithIt) {
  AddView({.id = 1, .smallest = "c", .largest = "f"});
  AddHole({"a", "d"});
  EXPECT_EQ(version_.level(2).buffer.views().size(), 1U);
  EXPECT_GT(version_.buffer_bytes(), 0U);
  AddHole({"d", "z"});
  EXPECT_TRUE(version_.level(2).buffer.empty());
  EXPECT_EQ(version_.buffer_bytes(), 0U);
  EXPECT_FALSE(tables_->HasOneGeneration(TableId(1)));
}

TEST_F(BufferTest, ATableComesIntoABufferAsTheLiveTableThatItWas) {
  AddTable(kTree1, {.id = 1, .smallest = "a", .largest = "m"});
  const LiveTable* const before = &*version_.tree(1).First();
  VersionEdit edit;
  edit.RemoveTable(kTree1, *before);
  edit.AddTable(kTree2, MakeView({.id = 9, .smallest = "a", .largest = "m"}));
  edit.buffer_elements.push_back({2, {}, {"a", "m"}, before->view(), KeySpans::Of(KeyRange{"a", "m"})});
  EXPECT_EQ(CheckEdit(version_, edit), std::vector<std::string>());
  ASSERT_TRUE(Apply(edit).ok());
  EXPECT_EQ(version_.level(2).buffer.At("c").front(), before);
  EXPECT_EQ(version_.totals(2).tables, 1U) << "buffers do not count";
}

struct HolesFixture : BufferTest {
  void SetUp() override {
    AddView({.id = 50, .smallest = "f", .largest = "h"});
    AddTable(kTree1, {.id = 51, .smallest = "a", .largest = "g"});
    AddTable(kTree1, {.id = 52, .smallest = "m", .largest = "p"});
    AddTable(kLog1, {.id = 53, .smallest = "g", .largest = "n"});
  }
  VersionEdit MergeDown(std::string_view key) const {
    VersionEdit edit;
    edit.RemoveTable(kTree1, *version_.tree(1).Find(key));
    edit.AddTable(kTree2, MakeView({.id = 90, .smallest = "a", .largest = "z"}));
    return edit;
  }
};
using AddHolesForTest = HolesFixture;

TEST_F(AddHolesForTest, AnInstallOverABufferedRangeMakesAHoleOfTheParentsRange) {
  VersionEdit edit = MergeDown("a");
  AddHolesFor(version_, edit);
  ASSERT_EQ(edit.buffer_elements.size(), 1U);
  EXPECT_EQ(edit.buffer_elements[0].level, 2U);
  EXPECT_EQ(edit.buffer_elements[0].range, (KeyRange{"a", "g"}));
  EXPECT_FALSE(edit.buffer_elements[0].view.has_value());
}

TEST_F(AddHolesForTest, ATrivialMoveOverABufferedRangeMakesOneToo) {
  VersionEdit move;
  move.RemoveTable(kTree1, *version_.tree(1).Find("a"));
  move.AddTable(kTree2, version_.tree(1).Find("a")->view());
  AddHolesFor(version_, move);
  EXPECT_EQ(move.buffer_elements.size(), 1U);
}

TEST_F(AddHolesForTest, ATableOfALogMakesOneToo) {
  VersionEdit edit;
  edit.RemoveTable(kLog1, *version_.level(1).log.front().table);
  edit.AddTable(kTree2, MakeView({.id = 90, .smallest = "g", .largest = "n"}));
  AddHolesFor(version_, edit);
  ASSERT_EQ(edit.buffer_elements.size(), 1U);
  EXPECT_EQ(edit.buffer_elements[0].range, (KeyRange{"g", "n"}));
}

// All that it merged may have been dropped, with tombstones.
TEST_F(AddHolesForTest, AMergeOfWhichNothingIsLeftMakesOneToo) {
  VersionEdit edit;
  edit.RemoveTable(kTree1, *version_.tree(1).Find("a"));
  AddHolesFor(version_, edit);
  EXPECT_EQ(edit.buffer_elements.size(), 1U);
}

TEST_F(AddHolesForTest, WhereNothingIsBufferedOrTheParentItselfIsThereIsNoHole) {
  VersionEdit elsewhere = MergeDown("m");
  AddHolesFor(version_, elsewhere);
  EXPECT_TRUE(elsewhere.buffer_elements.empty());
  VersionEdit buffered = MergeDown("a");
  buffered.buffer_elements.push_back(
      {2, {}, {"a", "g"}, version_.tree(1).Find("a")->view(), KeySpans::Of(KeyRange{"a", "g"})});
  AddHolesFor(version_, buffered);
  EXPECT_EQ(buffered.buffer_elements.size(), 1U);
}

TEST_F(AddHolesForTest, WhatAPseudoCompactionSetsAsideLeavesBuffersAsTheyAre) {
  VersionEdit edit;
  edit.RemoveTable(kTree1, *version_.tree(1).Find("a"));
  edit.AddTable(kLog1, version_.tree(1).Find("a")->view());
  AddHolesFor(version_, edit);
  EXPECT_TRUE(edit.buffer_elements.empty());
}

TEST_F(AddHolesForTest, AMergeWithinALevelLeavesItsBufferAsItIs) {
  AddTable(kTree2, {.id = 60, .smallest = "f", .largest = "j"});
  VersionEdit edit;
  edit.RemoveTable(kTree2, *version_.tree(2).Find("f"));
  edit.AddTable(kTree2, MakeView({.id = 61, .smallest = "f", .largest = "j"}));
  AddHolesFor(version_, edit);
  EXPECT_TRUE(edit.buffer_elements.empty());
}

// The gear: a level's buffer goes as its tables do.
TEST_F(AddHolesForTest, WhatLeavesATreeLeavesItsBufferToo) {
  AddTable(kTree2, {.id = 60, .smallest = "a", .largest = "g"});
  VersionEdit edit;
  edit.RemoveTable(kTree2, *version_.tree(2).Find("f"));
  edit.AddTable({3, Part::kTree}, MakeView({.id = 61, .smallest = "a", .largest = "g"}));
  AddHolesFor(version_, edit);
  ASSERT_EQ(edit.buffer_elements.size(), 1U);
  EXPECT_EQ(edit.buffer_elements[0].level, 2U);
  ASSERT_TRUE(Apply(edit).ok());
  EXPECT_EQ(Asked("g"), Ids());
  EXPECT_EQ(Asked("h"), (Ids{50}));
}

TEST_F(AddHolesForTest, WithoutThemTheCheckOfEditsFails) {
  const VersionEdit edit = MergeDown("a");
  EXPECT_THAT(CheckEdit(version_, edit), testing::Contains(testing::HasSubstr("knows nothing of it")));
}

TEST_F(AddHolesForTest, WhatComesIntoABufferAndWasNotMergedIsSeen) {
  VersionEdit edit = MergeDown("a");
  edit.buffer_elements.push_back({2,
                                  {},
                                  {"a", "g"},
                                  MakeView({.id = 70, .smallest = "a", .largest = "g"}),
                                  KeySpans::Of(KeyRange{"a", "g"})});
  EXPECT_THAT(CheckEdit(version_, edit), testing::Contains(testing::HasSubstr("is not what is merged")));
}

TEST_F(AddHolesForTest, AViewThatIsTrimmedToSomethingElseIsSeen) {
  VersionEdit edit;
  edit.trimmed_views.push_back(
      {2, version_.level(2).buffer.views()[0].stamp, KeySpans::Of(KeyRange{"f", "h"}),
       MakeView({.id = 50, .smallest = "f", .largest = "h", .generation = 2, .first_unit = 9})});
  EXPECT_THAT(CheckEdit(version_, edit), testing::Contains(testing::HasSubstr("trimmed to something else")));
}

// A model of one level: what its tables say of each key, and what the buffer would answer. Versions of a key
// are numbers that grow. Whatever comes and goes, the buffer answers with the newest one, or not at all.
TEST(Buffer, AnswersWithTheNewestVersionOrNotAtAllOnRandomHistories) {
  constexpr int kKeys = 40;
  const auto key = [](int i) { return fmt::format("{:02}", i); };
  uint64_t answers = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Prng prng(seed);
    std::map<int, uint64_t> level;                             // key: its newest version in the level
    std::map<const LiveTable*, std::map<int, uint64_t>> held;  // what each buffered table holds
    std::vector<std::shared_ptr<const LiveTable>> alive;
    std::vector<BufferedView> views;
    uint64_t next_version = 1;
    uint64_t next_stamp = 1;
    for (int step = 0; step < 60; ++step) {
      const int low = static_cast<int>(prng.Below(kKeys));
      const int high = std::min<int>(kKeys - 1, low + static_cast<int>(prng.Below(12)));
      const KeyRange range{key(low), key(high)};
      if (prng.OneIn(5) && !views.empty()) {
        // A trim.
        const size_t at = prng.Below(views.size());
        const KeySpans kept = views[at].kept.And(KeySpans::Of(range));
        HideKeys(views, at, views[at].kept.Minus(kept));
        views[at].kept = kept;
      } else {
        // An install, of which the buffer keeps a part.
        std::map<int, uint64_t> records;
        for (int i = low; i <= high; ++i) {
          if (i == low || i == high || prng.OneIn(3)) {
            records[i] = next_version++;
          }
        }
        for (const auto& [i, version] : records) {
          level[i] = version;
        }
        KeySpans kept = KeySpans::Of(range);
        for (uint64_t cuts = prng.Below(4); cuts > 0; --cuts) {
          const int from = low + static_cast<int>(prng.Below(static_cast<uint64_t>(high - low) + 1));
          const int to = std::min(high, from + static_cast<int>(prng.Below(4)));
          kept = kept.Minus(KeySpans::Of(KeyRange{key(from), key(to)}));
        }
        HideKeys(views, views.size(), KeySpans::Of(range).Minus(kept));
        alive.push_back(MakeTable({.id = next_stamp, .smallest = range.smallest, .largest = range.largest}));
        held[alive.back().get()] = std::move(records);
        views.push_back({InstallStamp(next_stamp++), alive.back(), kept});
      }
      std::erase_if(views, [](const BufferedView& view) { return view.kept.empty(); });
      const Buffer buffer(views);
      for (int i = 0; i < kKeys; ++i) {
        for (const LiveTable* table : buffer.At(key(i))) {
          const auto found = held[table].find(i);
          if (found != held[table].end()) {
            ASSERT_EQ(found->second, level[i]) << "seed " << seed << " step " << step << " key " << i;
            ++answers;
            break;
          }
        }
      }
    }
  }
  EXPECT_GT(answers, 10'000U);
}

}  // namespace
}  // namespace varve
