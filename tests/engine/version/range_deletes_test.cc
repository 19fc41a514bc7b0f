#include "engine/version/range_deletes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/version/edit_invariants.h"
#include "engine/version/version_edit.h"
#include "tests/support/table_views.h"

namespace varve {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// One table of each kind of place, over [c, g], with records 10 to 19.
class RangeDeletesTest : public testing::Test {
 protected:
  static TableView View(uint64_t purged_up_to) {
    TableView view =
        MakeView({.id = 1, .smallest = "c", .largest = "g", .smallest_sequence = 10, .largest_sequence = 19});
    view.purged_up_to = SequenceNumber(purged_up_to);
    return view;
  }
  static RangeTombstone Tombstone(std::string begin, std::string end, uint64_t sequence) {
    return {std::move(begin), std::move(end), SequenceNumber(sequence)};
  }
  Version VersionOf(Place place, const TableView& view, std::vector<RangeTombstone> tombstones) {
    VersionEdit edit;
    edit.added_tables.push_back({place, InstallStamp(1), view});
    edit.added_range_tombstones = std::move(tombstones);
    edit.next_stamp = InstallStamp(2);
    edit.last_sequence = SequenceNumber(1000);
    return ApplyVersionEdit(Version(), edit, *std::make_shared<LiveTables>(nullptr)).value();
  }
  static std::vector<SequenceNumber> Retired(const Version& version,
                                             const std::vector<SequenceNumber>& snapshots) {
    const std::vector<SequenceNumber> shadowed = version.range_tombstones()->Shadowed(snapshots);
    std::vector<SequenceNumber> retired;
    version.range_tombstones()->ForEach([&](const RangeTombstone& tombstone) {
      if (MayRetire(version, tombstone, shadowed)) {
        retired.push_back(tombstone.sequence);
      }
    });
    return retired;
  }
};

TEST_F(RangeDeletesTest, ATombstoneIsNeededForOlderRecordsOfAnyTableThatMeetsIt) {
  for (const Place place : {Place{0, Part::kLevel0}, Place{1, Part::kTree}, Place{2, Part::kLog}}) {
    const Version version = VersionOf(place, View(0), {});
    EXPECT_TRUE(MayHideAny(version, Tombstone("a", "d", 15)));
    EXPECT_TRUE(MayHideAny(version, Tombstone("g", "z", 15)));
    EXPECT_FALSE(MayHideAny(version, Tombstone("a", "c", 15)));  // ends before the table
    EXPECT_FALSE(MayHideAny(version, Tombstone("h", "z", 15)));
    EXPECT_FALSE(MayHideAny(version, Tombstone("a", "z", 10)));  // everything is newer
  }
}

TEST_F(RangeDeletesTest, ATableThatWasPurgedOfItNeedsItNoMore) {
  const Version version = VersionOf({3, Part::kTree}, View(30), {});
  EXPECT_FALSE(MayHideAny(version, Tombstone("a", "z", 30)));
  EXPECT_TRUE(MayHideAny(version, Tombstone("a", "z", 31)));
}

TEST_F(RangeDeletesTest, NothingOfATableIsSeenOnlyUnderOneThatIsNewerThanAllOfItAndOldEnoughForAll) {
  RangeTombstones tombstones;
  tombstones.Add(Tombstone("a", "h", 20));
  EXPECT_TRUE(AllHidden(tombstones, View(0), SequenceNumber(20)));
  EXPECT_FALSE(AllHidden(tombstones, View(0), SequenceNumber(19)));
  RangeTombstones older;
  older.Add(Tombstone("a", "h", 19));
  EXPECT_FALSE(AllHidden(older, View(0), SequenceNumber(100)));
  RangeTombstones shorter;
  shorter.Add(Tombstone("a", "g", 20));
  EXPECT_FALSE(AllHidden(shorter, View(0), SequenceNumber(100)));
  // Side by side, as a directory of files leaves them.
  RangeTombstones two;
  two.Add(Tombstone("a", "e", 20));
  two.Add(Tombstone("e", "h", 21));
  EXPECT_FALSE(AllHidden(two, View(0), SequenceNumber(20)));
  EXPECT_TRUE(AllHidden(two, View(0), SequenceNumber(21)));
}

TEST_F(RangeDeletesTest, WhatHidesNothingRetires) {
  const Version version =
      VersionOf({1, Part::kTree}, View(0), {Tombstone("a", "b", 50), Tombstone("c", "d", 60)});
  EXPECT_THAT(Retired(version, {SequenceNumber(1000)}), ElementsAre(SequenceNumber(50)));
}

TEST_F(RangeDeletesTest, OneUnderANewerOneRetiresUnlessASnapshotSeesItAlone) {
  const Version version =
      VersionOf({1, Part::kTree}, View(0), {Tombstone("c", "d", 50), Tombstone("c", "d", 60)});
  EXPECT_THAT(Retired(version, {SequenceNumber(1000)}), ElementsAre(SequenceNumber(50)));
  EXPECT_THAT(Retired(version, {SequenceNumber(49), SequenceNumber(60)}), ElementsAre(SequenceNumber(50)));
  EXPECT_THAT(Retired(version, {SequenceNumber(50), SequenceNumber(1000)}), IsEmpty());
  EXPECT_THAT(Retired(version, {SequenceNumber(59), SequenceNumber(1000)}), IsEmpty());
}

// None of them covers all of it.
TEST_F(RangeDeletesTest, OneUnderSeveralNewerOnesRetiresUnlessASnapshotSeesItAlone) {
  const Version version = VersionOf(
      {1, Part::kTree}, View(0), {Tombstone("c", "f", 50), Tombstone("a", "d", 60), Tombstone("d", "h", 70)});
  EXPECT_THAT(Retired(version, {SequenceNumber(1000)}), ElementsAre(SequenceNumber(50)));
  EXPECT_THAT(Retired(version, {SequenceNumber(49), SequenceNumber(70)}), ElementsAre(SequenceNumber(50)));
  EXPECT_THAT(Retired(version, {SequenceNumber(50), SequenceNumber(1000)}), IsEmpty());
  // It sees what hides one half, and nothing of what hides the other.
  EXPECT_THAT(Retired(version, {SequenceNumber(65), SequenceNumber(1000)}), IsEmpty());
  VersionEdit edit;
  edit.removed_range_tombstones = {SequenceNumber(50)};
  EXPECT_THAT(CheckEdit(version, edit), IsEmpty());
  const Version with_a_gap = VersionOf(
      {1, Part::kTree}, View(0), {Tombstone("c", "f", 50), Tombstone("a", "d", 60), Tombstone("e", "h", 70)});
  EXPECT_THAT(Retired(with_a_gap, {SequenceNumber(1000)}), IsEmpty());
  EXPECT_THAT(CheckEdit(with_a_gap, edit), Contains(HasSubstr("range tombstone 50 goes, and may hide")));
}

// What nobody sees is listed no longer, and still there to be removed by the edit that says so.
TEST_F(RangeDeletesTest, AnEditThatKnowsItsReadersListsWhatTheyNeed) {
  VersionEdit edit;
  for (uint64_t i = 0; i < 100; ++i) {
    edit.added_range_tombstones.push_back(Tombstone(std::to_string(100 + i), std::to_string(999 - i), i + 1));
  }
  edit.last_sequence = SequenceNumber(1000);
  const auto tables = std::make_shared<LiveTables>(nullptr);
  const Version of_all = ApplyVersionEdit(Version(), edit, *tables).value();
  edit.readers = {SequenceNumber(50), SequenceNumber(1000)};
  const Version of_readers = ApplyVersionEdit(Version(), edit, *tables).value();
  EXPECT_LT(of_readers.range_tombstones()->memory_bytes() + 5000 * sizeof(SequenceNumber),
            of_all.range_tombstones()->memory_bytes());
  EXPECT_EQ(of_readers.ToString(), of_all.ToString());
  for (const SequenceNumber reader : edit.readers) {
    for (uint64_t i = 100; i < 999; ++i) {
      const std::string key = std::to_string(i) + "5";
      EXPECT_EQ(of_readers.range_tombstones()->NewestAt(key, reader),
                of_all.range_tombstones()->NewestAt(key, reader));
    }
  }
  VersionEdit retire;
  for (uint64_t i = 0; i < 100; ++i) {
    retire.removed_range_tombstones.emplace_back(100 - i);
  }
  const Result<Version> without = ApplyVersionEdit(of_readers, retire, *tables);
  ASSERT_TRUE(without.ok()) << without.error().message();
  EXPECT_EQ(without->range_tombstones(), nullptr);
}

TEST_F(RangeDeletesTest, OneThatGoesTooEarlyIsSeen) {
  const Version version = VersionOf({1, Part::kTree}, View(0), {Tombstone("c", "d", 60)});
  VersionEdit edit;
  edit.removed_range_tombstones = {SequenceNumber(60)};
  EXPECT_THAT(CheckEdit(version, edit), Contains(HasSubstr("range tombstone 60 goes, and may hide")));
  const Version purged = VersionOf({1, Part::kTree}, View(60), {Tombstone("c", "d", 60)});
  EXPECT_THAT(CheckEdit(purged, edit), IsEmpty());
}

// A view may hold what the tombstone hid, though the tables below are purged of it.
TEST_F(RangeDeletesTest, WhereOneGoesBuffersAreNotBelievedAnyMore) {
  VersionEdit edit;
  const TableView view = View(0);
  edit.buffer_elements.push_back({2, InstallStamp(1), {"c", "g"}, view, KeySpans::Of({"c", "g"})});
  edit.added_range_tombstones = {Tombstone("e", "f", 60)};
  edit.next_stamp = InstallStamp(2);
  edit.last_sequence = SequenceNumber(1000);
  const auto tables = std::make_shared<LiveTables>(nullptr);
  const Version version = ApplyVersionEdit(Version(), edit, *tables).value();
  VersionEdit retire;
  retire.removed_range_tombstones = {SequenceNumber(60)};
  EXPECT_THAT(CheckEdit(version, retire), Contains(HasSubstr("buffer of level 2 may hold what it hides")));
  AddHolesFor(version, retire);
  EXPECT_THAT(CheckEdit(version, retire), IsEmpty());
  const Version after = ApplyVersionEdit(version, retire, *tables).value();
  EXPECT_THAT(after.level(2).buffer.At("e"), IsEmpty());
  EXPECT_FALSE(after.level(2).buffer.At("c").empty());
}

}  // namespace
}  // namespace varve
