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

// Level 0: 1 (a–f, older), 2 (d–m, newer). Level 1: 3 (a–e), 4 (h–k), 5 (s–u). Level 2: 6 (a–k).
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
