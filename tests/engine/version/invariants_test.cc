#include "engine/version/invariants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "engine/version/version_edit.h"
#include "tests/support/table_views.h"

namespace varve {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Place kLevel0{0, Part::kLevel0};
constexpr Place kTree1{1, Part::kTree};

struct Planted {
  VersionEdit edit;

  void Add(Place place, TableView view) {
    edit.added_tables.push_back({place, InstallStamp(edit.added_tables.size() + 1), std::move(view)});
  }
  Planted() {
    edit.next_stamp = InstallStamp(100);
    edit.next_table_id = TableId(100);
    edit.last_sequence = SequenceNumber(1000);
    Add(kLevel0, MakeView({.id = 1, .smallest_sequence = 10, .largest_sequence = 19}));
    Add(kLevel0, MakeView({.id = 2, .smallest_sequence = 20, .largest_sequence = 29}));
    Add(kTree1, MakeView({.id = 3, .smallest = "a", .largest = "f"}));
    Add(kTree1, MakeView({.id = 4, .smallest = "g", .largest = "k"}));
  }
  std::vector<std::string> Check() const {
    const auto tables = std::make_shared<LiveTables>(nullptr);
    const Version nothing;
    Result<Version> version = ApplyVersionEdit(nothing, edit, *tables);
    EXPECT_TRUE(version.ok()) << version.ToString();
    return CheckVersion(*version);
  }
};

TEST(CheckVersion, ASoundVersionHasNoViolation) {
  EXPECT_THAT(Planted().Check(), IsEmpty());
  EXPECT_THAT(CheckVersion(Version()), IsEmpty());
}

TEST(CheckVersion, ATableInTwoPlacesIsSeen) {
  Planted planted;
  const auto tables = std::make_shared<LiveTables>(nullptr);
  const Version nothing;
  const Version sound = ApplyVersionEdit(nothing, planted.edit, *tables).value();
  VersionEdit edit;
  const LiveTable& table = *sound.tree(1).First();
  edit.RemoveTable(kTree1, table);
  edit.AddTable({2, Part::kTree}, table.view());
  edit.AddTable({3, Part::kTree}, table.view());
  const Version version = ApplyVersionEdit(sound, edit, *tables).value();
  EXPECT_THAT(CheckVersion(version), Contains(HasSubstr("table 3 is in two places")));
}

TEST(CheckVersion, SpaceWithTwoOwnersIsSeen) {
  Planted planted;
  planted.Add({2, Part::kTree}, MakeView({.id = 5, .first_unit = 100 + 3 * 2048}));
  EXPECT_THAT(planted.Check(), Contains(HasSubstr("own the same space")));
  Planted log;
  log.edit.added_wal_segments = {{1, Extent{100 + 3 * 2048, 1}, {}, {}}};
  EXPECT_THAT(log.Check(), Contains(HasSubstr("own the same space")));
}

TEST(CheckVersion, ANewerTableOfLevel0WithOlderRecordsIsSeen) {
  Planted planted;
  planted.Add(kLevel0, MakeView({.id = 5, .smallest_sequence = 29, .largest_sequence = 40}));
  EXPECT_THAT(planted.Check(), Contains(HasSubstr("table 5 of level 0 holds records that are not newer")));
}

TEST(CheckVersion, RecordsAboveTheLastSequenceAreSeen) {
  Planted planted;
  planted.Add(kLevel0, MakeView({.id = 5, .smallest_sequence = 1000, .largest_sequence = 1001}));
  EXPECT_THAT(planted.Check(), Contains(HasSubstr("above the last sequence")));
}

TEST(CheckVersion, AnIdThatWasNotGivenYetIsSeen) {
  Planted planted;
  planted.Add({2, Part::kTree}, MakeView({.id = 100}));
  EXPECT_THAT(planted.Check(), Contains(HasSubstr("was not given yet")));
}

TEST(CheckVersion, ALogOfTheLastLevelIsSeen) {
  Planted planted;
  planted.Add({kLevels - 1, Part::kLog}, MakeView({.id = 5}));
  EXPECT_THAT(planted.Check(), Contains(HasSubstr("the last level has a log")));
}

VersionEdit::BufferElement ViewOf(uint32_t level, uint64_t stamp, const FakeTable& table, KeyRange kept) {
  return {level, InstallStamp(stamp), {table.smallest, table.largest}, MakeView(table), KeySpans::Of(kept)};
}

TEST(CheckVersion, AViewThatIsAskedForKeysBeyondItsTableIsSeen) {
  Planted planted;
  planted.edit.buffer_elements = {ViewOf(2, 50, {.id = 40, .smallest = "b", .largest = "m"}, {"b", "n"})};
  EXPECT_THAT(planted.Check(), Contains(HasSubstr("for keys beyond its range")));
}

TEST(CheckVersion, ABufferedTableThatIsElsewhereTooIsSeen) {
  Planted planted;
  planted.edit.buffer_elements = {
      ViewOf(2, 50, {.id = 40, .smallest = "b", .largest = "m"}, {"b", "m"}),
      ViewOf(3, 51, {.id = 40, .smallest = "b", .largest = "m", .generation = 2}, {"b", "m"})};
  EXPECT_THAT(planted.Check(), Contains(HasSubstr("is in two places")));
}

TEST(CheckVersion, FaultsOfATableAreSeen) {
  const std::vector<std::pair<std::function<void(TableView&)>, std::string>> faults = {
      {[](TableView& view) { view.segments.clear(); }, "has 0 segments"},
      {[](TableView& view) { view.segments.resize(kSegmentsMax + 1, view.segments[0]); }, "has 13 segments"},
      {[](TableView& view) { view.largest = "zz"; }, "another range than its segments"},
      {[](TableView& view) { view.segments[0].tombstones = 2000; }, "more tombstones than entries"},
      {[](TableView& view) { view.segments[0].live_bytes = 2 * kMiB; }, "more live bytes than data bytes"},
      {[](TableView& view) { view.used_bytes = 100; }, "bytes that it does not have"},
      {[](TableView& view) { view.used_bytes = 100 * kMiB; }, "bytes that it does not have"},
  };
  for (const auto& [plant, violation] : faults) {
    Planted planted;
    TableView view = MakeView({.id = 5});
    plant(view);
    planted.Add({2, Part::kTree}, std::move(view));
    EXPECT_THAT(planted.Check(), Contains(HasSubstr(violation)));
  }
}

// What ApplyVersionEdit refuses cannot be planted through it: the order of stamps and the disjointness of
// Trees have their tests in version_edit_test.cc and sorted_tables_test.cc.

}  // namespace
}  // namespace varve
