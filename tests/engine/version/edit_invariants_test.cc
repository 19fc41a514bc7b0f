// Each rule for edits is broken once, and seen.
#include "engine/version/edit_invariants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/table_views.h"

namespace varve {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Place kLevel0{0, Part::kLevel0};
constexpr Place kTree1{1, Part::kTree};
constexpr Place kTree2{2, Part::kTree};
constexpr Place kLog1{1, Part::kLog};

// Level 0: 1 (a–f, older), 2 (d–m, newer). Level 1: 3 (a–e), 4 (h–k), 5 (s–u), 7 (w–z), and in its log 8
// (v–x, older), 9 (x–y, newer). Level 2: 6 (a–k).
class CheckEditTest : public testing::Test {
 protected:
  CheckEditTest() {
    VersionEdit edit;
    Add(edit, kLevel0,
        {.id = 1, .smallest = "a", .largest = "f", .smallest_sequence = 40, .largest_sequence = 49});
    Add(edit, kLevel0,
        {.id = 2, .smallest = "d", .largest = "m", .smallest_sequence = 50, .largest_sequence = 59});
    Add(edit, kTree1,
        {.id = 3, .smallest = "a", .largest = "e", .smallest_sequence = 20, .largest_sequence = 39});
    Add(edit, kTree1,
        {.id = 4, .smallest = "h", .largest = "k", .smallest_sequence = 20, .largest_sequence = 39});
    Add(edit, kTree1,
        {.id = 5, .smallest = "s", .largest = "u", .smallest_sequence = 20, .largest_sequence = 39});
    Add(edit, kTree1, Table7());
    Add(edit, kLog1, Table8());
    Add(edit, kLog1, Table9());
    Add(edit, kTree2,
        {.id = 6, .smallest = "a", .largest = "k", .smallest_sequence = 1, .largest_sequence = 19});
    edit.next_stamp = InstallStamp(100);
    edit.next_table_id = TableId(100);
    edit.last_sequence = SequenceNumber(1000);
    const Version nothing;
    version_ = ApplyVersionEdit(nothing, edit, *tables_).value();
  }

  static void Add(VersionEdit& edit, Place place, const FakeTable& table) {
    edit.added_tables.push_back({place, InstallStamp(edit.added_tables.size() + 1), MakeView(table)});
  }
  static void Remove(VersionEdit& edit, Place place, uint64_t id) {
    edit.removed_tables.push_back({place, {TableId(id), Generation(1), {}}});
  }
  // Both tables of level 0 with what they overlap.
  static VersionEdit SoundMerge() {
    VersionEdit edit;
    Remove(edit, kLevel0, 1);
    Remove(edit, kLevel0, 2);
    Remove(edit, kTree1, 3);
    Remove(edit, kTree1, 4);
    return edit;
  }
  static FakeTable Output() {
    return {.id = 50,
            .smallest = "a",
            .largest = "m",
            .entries = 3000,
            .smallest_sequence = 20,
            .largest_sequence = 59};
  }
  static FakeTable Table7() {
    return {.id = 7, .smallest = "w", .largest = "z", .smallest_sequence = 20, .largest_sequence = 39};
  }
  static FakeTable Table8() {
    return {.id = 8, .smallest = "v", .largest = "x", .smallest_sequence = 5, .largest_sequence = 11};
  }
  static FakeTable Table9() {
    return {.id = 9, .smallest = "x", .largest = "y", .smallest_sequence = 12, .largest_sequence = 19};
  }
  // Of table 7 and the log.
  static FakeTable OutputOfLog() {
    return {.id = 50,
            .smallest = "v",
            .largest = "z",
            .entries = 2000,
            .smallest_sequence = 5,
            .largest_sequence = 39};
  }
  // Of a table in the log of level 1.
  InstallStamp StampOf(uint64_t id) const {
    for (const StampedTable& placed : version_.level(1).log) {
      if (placed->id() == TableId(id)) {
        return placed.stamp;
      }
    }
    ADD_FAILURE() << "table " << id << " is not there";
    return {};
  }
  std::vector<std::string> Check(const VersionEdit& edit) const { return CheckEdit(version_, edit); }

  const std::shared_ptr<LiveTables> tables_ = std::make_shared<LiveTables>(nullptr);
  Version version_;
};

TEST_F(CheckEditTest, SoundEditsHaveNoViolation) {
  VersionEdit merge = SoundMerge();
  Add(merge, kTree1, Output());
  EXPECT_THAT(Check(merge), IsEmpty());
  VersionEdit flush;
  Add(flush, kLevel0, {.id = 50, .smallest_sequence = 60, .largest_sequence = 70});
  EXPECT_THAT(Check(flush), IsEmpty());
  VersionEdit move;
  Remove(move, kTree1, 5);
  Add(move, kTree2,
      {.id = 5, .smallest = "s", .largest = "u", .smallest_sequence = 20, .largest_sequence = 39});
  EXPECT_THAT(Check(move), IsEmpty());
  EXPECT_THAT(Check(VersionEdit()), IsEmpty());
}

TEST_F(CheckEditTest, SoundEditsOfALogHaveNoViolation) {
  VersionEdit into_log;
  Remove(into_log, kTree1, 7);
  Add(into_log, kLog1, Table7());
  EXPECT_THAT(Check(into_log), IsEmpty());
  VersionEdit oldest;
  Remove(oldest, kLog1, 8);
  Add(oldest, kTree2, Table8());
  EXPECT_THAT(Check(oldest), IsEmpty());
  VersionEdit all;
  Remove(all, kTree1, 7);
  Remove(all, kLog1, 8);
  Remove(all, kLog1, 9);
  Add(all, kTree2, OutputOfLog());
  EXPECT_THAT(Check(all), IsEmpty());
  // What is merged with itself stays where it is, before the log.
  VersionEdit itself;
  Remove(itself, kTree1, 7);
  FakeTable again = Table7();
  again.id = 50;
  Add(itself, kTree1, again);
  EXPECT_THAT(Check(itself), IsEmpty());
  // So is a table of the log, between what is older and what is newer; or nothing is left of it.
  VersionEdit in_log;
  Remove(in_log, kLog1, 9);
  EXPECT_THAT(Check(in_log), IsEmpty());
  again = Table9();
  again.id = 50;
  Add(in_log, kLog1, again);
  in_log.added_tables.back().stamp = StampOf(9);
  EXPECT_THAT(Check(in_log), IsEmpty());
}

TEST_F(CheckEditTest, ATableThatIsMergedWithinALogAndTakesAnothersPlaceIsSeen) {
  FakeTable again = Table9();
  again.id = 50;
  const auto violations_of = [&](InstallStamp stamp, const std::vector<uint64_t>& removed) {
    VersionEdit edit;
    for (const uint64_t id : removed) {
      Remove(edit, kLog1, id);
    }
    Add(edit, kLog1, again);
    edit.added_tables.back().stamp = stamp;
    return Check(edit);
  };
  const auto comes_otherwise = Contains(HasSubstr("nor in the place of what it was made of"));
  const auto leaves = Contains(HasSubstr("table 9 leaves the log of level 1 before the older table 8"));
  EXPECT_THAT(violations_of(StampOf(9), {9}), IsEmpty());
  // In the order of installs it would be newer, or older, than what it was made of.
  EXPECT_THAT(violations_of(version_.counters().next_stamp, {9}), testing::AllOf(comes_otherwise, leaves));
  EXPECT_THAT(violations_of(StampOf(8), {9}), testing::AllOf(comes_otherwise, leaves));
  // Two tables become one: the other's records would change their place.
  EXPECT_THAT(violations_of(StampOf(9), {8, 9}), comes_otherwise);
  // More than the table held.
  again.largest_sequence += 1;
  EXPECT_THAT(violations_of(StampOf(9), {9}), Contains(HasSubstr("other sequence numbers")));
}

TEST_F(CheckEditTest, ATableThatReturnsFromALogIsSeen) {
  VersionEdit back;
  Remove(back, kLog1, 8);
  Add(back, kTree1, Table8());
  EXPECT_THAT(Check(back), ElementsAre(HasSubstr("table 8 goes from the log of level 1 back into its tree")));
  VersionEdit merged;
  Remove(merged, kTree1, 7);
  Remove(merged, kLog1, 8);
  Add(merged, kTree1, OutputOfLog());
  EXPECT_THAT(Check(merged), Contains(HasSubstr("table 8 goes from the log of level 1 back into its tree")));
}

TEST_F(CheckEditTest, ANewerTableThatLeavesALogBeforeAnOlderOneIsSeen) {
  VersionEdit edit;
  Remove(edit, kLog1, 9);
  Add(edit, kTree2, Table9());
  EXPECT_THAT(Check(edit),
              ElementsAre(HasSubstr("table 9 leaves the log of level 1 before the older table 8")));
}

TEST_F(CheckEditTest, ATableThatLeavesATreeAndNotItsLogIsSeen) {
  VersionEdit edit;
  Remove(edit, kTree1, 7);
  Remove(edit, kLog1, 8);
  Add(edit, kTree2, OutputOfLog());
  EXPECT_THAT(Check(edit),
              ElementsAre(HasSubstr("table 7 leaves the tree of level 1, whose log keeps table 9")));
  VersionEdit nothing_left;
  Remove(nothing_left, kTree1, 7);
  Remove(nothing_left, kTree2, 6);
  EXPECT_THAT(Check(nothing_left),
              ElementsAre(HasSubstr("whose log keeps table 8"), HasSubstr("whose log keeps table 9")));
}

TEST_F(CheckEditTest, WhatComesIntoALogOtherwiseThanFromItsTreeIsSeen) {
  const auto violations_of = [&](std::vector<std::pair<Place, uint64_t>> removed, const FakeTable& added) {
    VersionEdit edit;
    for (const auto& [place, id] : removed) {
      Remove(edit, place, id);
    }
    Add(edit, kLog1, added);
    return Check(edit);
  };
  FakeTable merged = Table7();
  merged.id = 50;
  FakeTable next = Table7();
  next.generation = 2;
  FakeTable from_below = {
      .id = 6, .smallest = "a", .largest = "k", .smallest_sequence = 1, .largest_sequence = 19};
  const auto comes_otherwise = Contains(HasSubstr("comes into the log of level 1, and not from its tree"));
  EXPECT_THAT(violations_of({}, merged), comes_otherwise);
  EXPECT_THAT(violations_of({{kTree1, 7}}, merged), comes_otherwise);
  EXPECT_THAT(violations_of({{kTree1, 7}}, next), comes_otherwise);
  EXPECT_THAT(violations_of({{kTree2, 6}}, from_below), comes_otherwise);
  EXPECT_THAT(violations_of({{kLog1, 8}}, Table8()), comes_otherwise);
}

TEST_F(CheckEditTest, AMergeIntoLevel0IsSeen) {
  VersionEdit edit = SoundMerge();
  Add(edit, kLevel0, Output());
  EXPECT_THAT(Check(edit), Contains(HasSubstr("table 50 comes into level 0 in place of others")));
}

TEST_F(CheckEditTest, ATableOfATreeThatReplacesNothingIsSeen) {
  VersionEdit edit;
  Add(edit, kTree1, {.id = 50, .smallest = "x", .largest = "y"});
  EXPECT_THAT(Check(edit), ElementsAre(HasSubstr("comes into the tree of level 1 out of nothing")));
}

TEST_F(CheckEditTest, ALevelThatIsBypassedIsSeen) {
  VersionEdit edit;
  Remove(edit, kLevel0, 1);
  Remove(edit, kTree2, 6);
  Add(edit, kTree2,
      {.id = 50, .smallest = "a", .largest = "k", .smallest_sequence = 1, .largest_sequence = 49});
  EXPECT_THAT(Check(edit), Contains(HasSubstr("table 1 goes from level 0 into level 2")));
}

TEST_F(CheckEditTest, AChildThatIsLeftOutIsSeen) {
  VersionEdit edit = SoundMerge();
  edit.removed_tables.pop_back();
  Add(edit, kTree1,
      {.id = 50, .smallest = "a", .largest = "g", .smallest_sequence = 20, .largest_sequence = 59});
  EXPECT_THAT(Check(edit), Contains(HasSubstr("table 2 goes into level 1, where table 4 overlaps it")));
}

TEST_F(CheckEditTest, ANewerTableThatLeavesLevel0BeforeAnOlderOneIsSeen) {
  VersionEdit edit;
  Remove(edit, kLevel0, 2);
  Remove(edit, kTree1, 3);
  Remove(edit, kTree1, 4);
  Add(edit, kTree1, Output());
  EXPECT_THAT(Check(edit), Contains(HasSubstr("table 2 leaves level 0 before the older table 1")));
}

TEST_F(CheckEditTest, AnOutputThatIsMoreThanItsInputsIsSeen) {
  FakeTable wide = Output();
  wide.largest = "n";
  VersionEdit edit = SoundMerge();
  Add(edit, kTree1, wide);
  EXPECT_THAT(Check(edit), ElementsAre(HasSubstr("beyond the range")));

  FakeTable newer = Output();
  newer.largest_sequence = 60;
  edit = SoundMerge();
  Add(edit, kTree1, newer);
  EXPECT_THAT(Check(edit), ElementsAre(HasSubstr("other sequence numbers")));

  FakeTable more = Output();
  more.entries = 4001;
  edit = SoundMerge();
  Add(edit, kTree1, more);
  EXPECT_THAT(Check(edit), ElementsAre(HasSubstr("more records")));
}

TEST_F(CheckEditTest, AGenerationThatDoesNotFollowFromTheOneBeforeIsSeen) {
  const TableView before =
      MakeView({.id = 3, .smallest = "a", .largest = "e", .smallest_sequence = 20, .largest_sequence = 39});
  const auto violations_of = [&](const TableView& next) {
    VersionEdit edit;
    Remove(edit, kTree1, 3);
    Remove(edit, kLevel0, 1);
    edit.added_tables.push_back({kTree1, InstallStamp(50), next});
    return CheckEdit(version_, edit);
  };
  TableView mended = before;
  mended.generation = before.generation.Next();
  EXPECT_THAT(violations_of(mended), Not(Contains(HasSubstr("does not follow"))));
  TableView appended = mended;
  appended.segments.push_back(before.segments.front());
  EXPECT_THAT(violations_of(appended), Not(Contains(HasSubstr("does not follow"))));
  TableView skipped = mended;
  skipped.generation = mended.generation.Next();
  EXPECT_THAT(violations_of(skipped), Contains(HasSubstr("does not follow")));
  TableView two_more = appended;
  two_more.segments.push_back(before.segments.front());
  EXPECT_THAT(violations_of(two_more), Contains(HasSubstr("does not follow")));
  TableView other = appended;
  other.segments.front().footer.table_offset += 512;
  EXPECT_THAT(violations_of(other), Contains(HasSubstr("does not follow")));
}

}  // namespace
}  // namespace varve
