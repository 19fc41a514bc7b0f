// Long because: what an edit may say is told here field by field, with what is refused.
#include "engine/version/version_edit.h"

#include <gtest/gtest.h>

#include "engine/base/prng.h"
#include "engine/version/version_edit_format.h"
#include "tests/support/table_views.h"

namespace varve {
namespace {

constexpr Place kLevel0{0, Part::kLevel0};
constexpr Place kTree1{1, Part::kTree};
constexpr Place kTree2{2, Part::kTree};
constexpr Place kLog1{1, Part::kLog};

// A segment of 1000 entries for each.
TableView HotView(uint64_t id, const std::vector<uint64_t>& hotness) {
  TableView view = MakeView({.id = id, .entries = 1000});
  view.segments.resize(hotness.size(), view.segments.front());
  view.used_bytes = view.data_bytes() + view.meta_bytes();
  view.extents.front().extent.units = static_cast<uint32_t>(CeilDiv(view.used_bytes, kExtentUnitBytes));
  for (size_t i = 0; i < hotness.size(); ++i) {
    view.segments[i].hotness = hotness[i];
  }
  return view;
}

// Table 9, and then what `hotness` holds as a field of its hotness.
std::string EditWithHotness(const std::vector<uint64_t>& hotness) {
  VersionEdit edit;
  edit.AddTable(kTree1, HotView(9, {0, 0}));
  std::string payload;
  for (const uint64_t number : hotness) {
    AppendVarint(payload, number);
  }
  std::string bytes = EncodeVersionEdit(edit);
  AppendVarint(bytes, 128);
  AppendLengthPrefixed(bytes, payload);
  return bytes;
}

VersionEdit EverythingEdit() {
  VersionEdit edit;
  edit.removed_tables.push_back({kTree1, {TableId(3), Generation(2), "k"}});
  edit.added_tables.push_back(
      {kLevel0, InstallStamp(9), MakeView({.id = 7, .smallest = "b", .largest = "c"})});
  edit.added_tables.push_back({kLog1, InstallStamp(11), HotView(9, {5, 0, 62'000})});
  edit.added_wal_segments.push_back({5, Extent{40, 2}, RecoveryEpoch(3), Lsn(77)});
  edit.released_wal_segments = {1, 4};
  edit.added_range_tombstones = {{"a", "c", SequenceNumber(900)},
                                 {"", std::string(300, 'z'), SequenceNumber(5)}};
  edit.removed_range_tombstones = {SequenceNumber(4), SequenceNumber(800)};
  edit.log_start = Lsn(70);
  edit.last_sequence = SequenceNumber(1000);
  edit.epoch = RecoveryEpoch(3);
  edit.next_table_id = TableId(100);
  edit.next_stamp = InstallStamp(12);
  edit.next_wal_segment = 6;
  edit.clean = true;
  edit.parameters = {{"block bytes", "4096"}, {"empty", ""}};
  return edit;
}

// Applies edits to a version that starts empty.
struct Fixture {
  std::shared_ptr<LiveTables> tables = std::make_shared<LiveTables>(nullptr);
  Version version;

  Status Apply(VersionEdit edit) {
    InstallStamp stamp = version.counters().next_stamp;
    for (VersionEdit::AddedTable& added : edit.added_tables) {
      added.stamp = stamp;
      stamp = stamp.Next();
    }
    for (VersionEdit::BufferElement& element : edit.buffer_elements) {
      element.stamp = stamp;
      stamp = stamp.Next();
    }
    edit.next_stamp = stamp;
    return ApplyAsItIs(edit);
  }
  Status ApplyAsItIs(const VersionEdit& edit) {
    Result<Version> next = ApplyVersionEdit(version, edit, *tables);
    if (next.ok()) {
      version = std::move(next).value();
    }
    return next.status();
  }
  Status Add(Place place, const FakeTable& table) {
    VersionEdit edit;
    edit.AddTable(place, MakeView(table));
    return Apply(edit);
  }
  // Into the buffer of a level, asked for all keys of its range.
  Status AddView(uint32_t level, const FakeTable& table) {
    VersionEdit edit;
    const KeyRange range{table.smallest, table.largest};
    edit.buffer_elements.push_back({level, {}, range, MakeView(table), KeySpans::Of(range)});
    return Apply(edit);
  }
};

TEST(VersionEdit, ReadsBackAsItWasWritten) {
  const VersionEdit edit = EverythingEdit();
  Result<VersionEdit> read = DecodeVersionEdit(EncodeVersionEdit(edit));
  ASSERT_TRUE(read.ok()) << read.ToString();
  EXPECT_EQ(*read, edit);
  EXPECT_EQ(*DecodeVersionEdit(""), VersionEdit());
}

TEST(VersionEdit, AFieldOfALaterVersionIsSkippedOnlyWhereItsTagAllows) {
  std::string bytes = EncodeVersionEdit(EverythingEdit());
  std::string skippable = bytes;
  AppendVarint(skippable, kLastKnownEditTag + 1);
  AppendLengthPrefixed(skippable, "whatever");
  Result<VersionEdit> read = DecodeVersionEdit(skippable);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, EverythingEdit());
  AppendVarint(bytes, 127);
  AppendLengthPrefixed(bytes, "");
  EXPECT_TRUE(DecodeVersionEdit(bytes).Is(ErrorCode::kUnsupported));
  std::string zero;
  AppendVarint(zero, 0);
  AppendLengthPrefixed(zero, "");
  EXPECT_TRUE(DecodeVersionEdit(zero).Is(ErrorCode::kUnsupported));
}

TEST(VersionEdit, AFieldWithBytesLeftOverIsMalformed) {
  std::string payload;
  AppendVarint(payload, 5);
  payload.push_back('x');
  std::string bytes;
  AppendVarint(bytes, 7);
  AppendLengthPrefixed(bytes, payload);
  EXPECT_TRUE(DecodeVersionEdit(bytes).Is(ErrorCode::kCorruption));
}

TEST(VersionEdit, TheHotnessOfATableIsAFieldOfItsOwn) {
  VersionEdit edit;
  edit.AddTable(kTree1, HotView(9, {0, 0}));
  const std::string cold = EncodeVersionEdit(edit);
  edit.added_tables.front().view.segments.back().hotness = 7;
  const std::string hot = EncodeVersionEdit(edit);
  // Behind what a reader understands that does not know it.
  EXPECT_TRUE(hot.starts_with(cold));
  EXPECT_GT(hot.size(), cold.size());
  EXPECT_EQ(DecodeVersionEdit(cold)->added_tables.front().view.hotness(), 0U);
  EXPECT_EQ(*DecodeVersionEdit(hot), edit);
}

TEST(VersionEdit, ATableThatIsAddedTwiceHasTheHotnessOfEachPlace) {
  VersionEdit edit;
  edit.AddTable(kTree1, HotView(9, {1}));
  edit.AddTable(kTree2, HotView(9, {2}));
  EXPECT_EQ(*DecodeVersionEdit(EncodeVersionEdit(edit)), edit);
}

TEST(VersionEdit, AHotnessThatDoesNotFitItsTableIsRefused) {
  struct Case {
    std::string claim;
    std::vector<uint64_t> field;  // table id, generation, number of segments, their hotness
    bool fits;
  };
  const std::vector<Case> cases = {
      {"the most of 1000 entries", {9, 1, 2, 62'000, 0}, true},
      {"more than that", {9, 1, 2, 62'001, 0}, false},
      {"far more, in the other segment", {9, 1, 2, 0, UINT64_MAX}, false},
      {"another table", {8, 1, 2, 1, 1}, false},
      {"another generation", {9, 2, 2, 1, 1}, false},
      {"too few segments", {9, 1, 1, 1}, false},
      {"too many segments", {9, 1, 3, 1, 1, 1}, false},
      {"fewer numbers than it says", {9, 1, 2, 1}, false},
      {"more numbers than it says", {9, 1, 2, 1, 1, 1}, false},
      {"no numbers at all", {}, false},
  };
  for (const Case& one : cases) {
    const Result<VersionEdit> read = DecodeVersionEdit(EditWithHotness(one.field));
    EXPECT_EQ(read.ok(), one.fits) << one.claim << ": " << read.ToString();
    EXPECT_EQ(read.Is(ErrorCode::kCorruption), !one.fits) << one.claim << ": " << read.ToString();
  }
  // Before its table.
  VersionEdit edit;
  edit.AddTable(kTree1, HotView(9, {0, 0}));
  const std::string table = EncodeVersionEdit(edit);
  const std::string hotness = EditWithHotness({9, 1, 2, 1, 1}).substr(table.size());
  EXPECT_TRUE(DecodeVersionEdit(table + hotness).ok());
  EXPECT_TRUE(DecodeVersionEdit(hotness + table).Is(ErrorCode::kCorruption));
}

TEST(VersionEdit, DamagedBytesAreAnErrorOrAnotherEditButNeverACrash) {
  const std::string good = EncodeVersionEdit(EverythingEdit());
  for (size_t bytes = 0; bytes < good.size(); ++bytes) {
    (void)DecodeVersionEdit(std::string_view(good).substr(0, bytes));
    std::string flipped = good;
    for (int bit = 0; bit < 8; ++bit) {
      flipped[bytes] = static_cast<char>(good[bytes] ^ (1 << bit));
      Result<VersionEdit> read = DecodeVersionEdit(flipped);
      if (read.ok()) {
        Fixture fixture;
        (void)fixture.ApplyAsItIs(*read);
      }
    }
  }
  Prng prng(1);
  for (int round = 0; round < 2000; ++round) {
    std::string noise(prng.Below(60), '\0');
    for (char& byte : noise) {
      byte = static_cast<char>(prng.Next());
    }
    (void)DecodeVersionEdit(noise);
  }
}

TEST(VersionEdit, TablesLandInTheirPlacesNewestLast) {
  Fixture fixture;
  ASSERT_TRUE(fixture.Add(kLevel0, {.id = 1}).ok());
  ASSERT_TRUE(fixture.Add(kLevel0, {.id = 2}).ok());
  ASSERT_TRUE(fixture.Add(kTree1, {.id = 3, .smallest = "m", .largest = "p"}).ok());
  ASSERT_TRUE(fixture.Add(kTree1, {.id = 4, .smallest = "a", .largest = "c"}).ok());
  ASSERT_TRUE(fixture.Add(kLog1, {.id = 5}).ok());
  ASSERT_TRUE(fixture.AddView(2, {.id = 6}).ok());
  const Version& version = fixture.version;
  ASSERT_EQ(version.level0().size(), 2u);
  EXPECT_EQ(version.level0()[1]->id(), TableId(2));
  EXPECT_EQ(version.tree(1).First()->id(), TableId(4));
  EXPECT_EQ(version.level(1).log.front()->id(), TableId(5));
  EXPECT_EQ(version.level(2).buffer.views().front().table->id(), TableId(6));
  EXPECT_EQ(version.totals(1).tables, 3u);
  EXPECT_EQ(version.totals(2).tables, 0u);  // the buffer does not count
  EXPECT_EQ(version.last_level(), 1u);
}

TEST(VersionEdit, ATableThatMovesStaysTheSameLiveTable) {
  Fixture fixture;
  ASSERT_TRUE(fixture.Add(kTree1, {.id = 3}).ok());
  const LiveTable* before = &*fixture.version.tree(1).First();
  VersionEdit move;
  move.RemoveTable(kTree1, *before);
  move.AddTable(kTree2, before->view());
  ASSERT_TRUE(fixture.Apply(move).ok());
  EXPECT_TRUE(fixture.version.tree(1).empty());
  EXPECT_EQ(&*fixture.version.tree(2).First(), before);
}

TEST(VersionEdit, ATableOfALogThatIsWrittenAnewAloneComesIntoItsPlace) {
  Fixture fixture;
  for (const uint64_t id : {1, 2, 3}) {
    ASSERT_TRUE(fixture.Add(kLog1, {.id = id}).ok());
  }
  const std::vector<StampedTable> before = fixture.version.level(1).log;
  VersionEdit edit;
  edit.RemoveTable(kLog1, *before[1].table);
  edit.added_tables.push_back({kLog1, before[1].stamp, MakeView({.id = 4})});
  const Result<VersionEdit> read_back = DecodeVersionEdit(EncodeVersionEdit(edit));
  ASSERT_TRUE(read_back.ok());
  ASSERT_TRUE(fixture.ApplyAsItIs(*read_back).ok());
  std::vector<uint64_t> ids;
  std::vector<InstallStamp> stamps;
  for (const StampedTable& placed : fixture.version.level(1).log) {
    ids.push_back(placed->id().value);
    stamps.push_back(placed.stamp);
  }
  EXPECT_EQ(ids, (std::vector<uint64_t>{1, 4, 3}));
  EXPECT_EQ(stamps, (std::vector<InstallStamp>{before[0].stamp, before[1].stamp, before[2].stamp}));
  EXPECT_EQ(fixture.version.level(1).log_totals.tables, 3u);
  EXPECT_EQ(fixture.version.level(1).log_index.depth(), 3u);
  // A stamp of a table that stays, and one that comes twice.
  for (const size_t taken : {0, 1}) {
    VersionEdit wrong;
    wrong.RemoveTable(kLog1, *fixture.version.level(1).log[1].table);
    wrong.added_tables.push_back({kLog1, before[1].stamp, MakeView({.id = 5})});
    wrong.added_tables.push_back({kLog1, before[taken].stamp, MakeView({.id = 6})});
    EXPECT_TRUE(fixture.ApplyAsItIs(wrong).Is(ErrorCode::kCorruption)) << taken;
  }
}

TEST(VersionEdit, WhatDoesNotFitTheVersionIsRefusedAndChangesNothing) {
  Fixture fixture;
  ASSERT_TRUE(fixture.Add(kTree1, {.id = 3, .smallest = "a", .largest = "m"}).ok());
  VersionEdit counters;
  counters.log_start = Lsn(10);
  counters.last_sequence = SequenceNumber(10);
  counters.epoch = RecoveryEpoch(2);
  counters.next_table_id = TableId(10);
  counters.next_wal_segment = 7;
  ASSERT_TRUE(fixture.Apply(counters).ok());
  const std::string before = fixture.version.ToString();

  EXPECT_TRUE(fixture.Add(kTree1, {.id = 4, .smallest = "m", .largest = "z"}).Is(ErrorCode::kCorruption));
  EXPECT_TRUE(fixture.Add({0, Part::kTree}, {.id = 4}).Is(ErrorCode::kCorruption));
  EXPECT_TRUE(fixture.Add({0, Part::kLog}, {.id = 4}).Is(ErrorCode::kCorruption));
  EXPECT_TRUE(fixture.Add({1, Part::kLevel0}, {.id = 4}).Is(ErrorCode::kCorruption));
  EXPECT_TRUE(fixture.Add({kLevels, Part::kTree}, {.id = 4}).Is(ErrorCode::kCorruption));
  EXPECT_TRUE(fixture.Add(kTree2, {.id = 3}).Is(ErrorCode::kCorruption));
  VersionEdit edit;
  edit.removed_tables.push_back({kTree1, {TableId(3), Generation(9), "a"}});
  EXPECT_TRUE(fixture.Apply(edit).Is(ErrorCode::kCorruption));
  edit = {};
  edit.removed_tables.push_back({kLevel0, {TableId(3), Generation(1), "a"}});
  EXPECT_TRUE(fixture.Apply(edit).Is(ErrorCode::kCorruption));
  edit = {};
  edit.RemoveTable(kTree1, *fixture.version.tree(1).First());
  edit.removed_tables.push_back(edit.removed_tables.front());
  EXPECT_TRUE(fixture.Apply(edit).Is(ErrorCode::kCorruption));
  edit = {};
  edit.buffer_elements.push_back({0, {}, {"a", "b"}});
  EXPECT_TRUE(fixture.Apply(edit).Is(ErrorCode::kCorruption));
  edit = {};
  edit.trimmed_views.push_back({kLevels, InstallStamp(1), {}});
  EXPECT_TRUE(fixture.Apply(edit).Is(ErrorCode::kCorruption));
  edit = {};
  edit.added_tables.push_back({kLevel0, fixture.version.counters().next_stamp, MakeView({.id = 4})});
  EXPECT_TRUE(fixture.ApplyAsItIs(edit).Is(ErrorCode::kCorruption));  // the next stamp was not raised
  edit = {};
  edit.log_start = Lsn(9);
  EXPECT_TRUE(fixture.Apply(edit).Is(ErrorCode::kCorruption));
  edit = {};
  edit.last_sequence = SequenceNumber(9);
  EXPECT_TRUE(fixture.Apply(edit).Is(ErrorCode::kCorruption));
  edit = {};
  edit.epoch = RecoveryEpoch(1);
  EXPECT_TRUE(fixture.Apply(edit).Is(ErrorCode::kCorruption));
  edit = {};
  edit.next_table_id = TableId(9);
  EXPECT_TRUE(fixture.Apply(edit).Is(ErrorCode::kCorruption));
  edit = {};
  edit.next_wal_segment = 6;
  EXPECT_TRUE(fixture.Apply(edit).Is(ErrorCode::kCorruption));
  edit = {};
  edit.released_wal_segments = {1};
  EXPECT_TRUE(fixture.Apply(edit).Is(ErrorCode::kCorruption));
  EXPECT_EQ(fixture.version.ToString(), before);
}

TEST(VersionEdit, LogSegmentsComeAndGoInOrder) {
  Fixture fixture;
  VersionEdit edit;
  edit.added_wal_segments = {{4, Extent{1, 1}, {}, {}}, {5, Extent{2, 1}, {}, {}}};
  ASSERT_TRUE(fixture.Apply(edit).ok());
  EXPECT_EQ(fixture.version.counters().next_wal_segment, 6u);
  edit = {};
  edit.released_wal_segments = {4};
  ASSERT_TRUE(fixture.Apply(edit).ok());
  ASSERT_EQ(fixture.version.wal_segments().size(), 1u);
  edit = {};
  edit.added_wal_segments = {{5, Extent{3, 1}, {}, {}}};
  EXPECT_TRUE(fixture.Apply(edit).Is(ErrorCode::kCorruption));
}

TEST(VersionEdit, RangeTombstonesComeAndGoByNumber) {
  Fixture f;
  VersionEdit add;
  add.last_sequence = SequenceNumber(20);
  add.added_range_tombstones = {{"a", "c", SequenceNumber(10)}, {"b", "d", SequenceNumber(20)}};
  ASSERT_TRUE(f.Apply(add).ok());
  ASSERT_NE(f.version.range_tombstones(), nullptr);
  EXPECT_EQ(f.version.range_tombstones()->NewestAt("b", kSequenceNumberMax).value, 20u);
  for (const RangeTombstone& wrong :
       {RangeTombstone{"e", "f", SequenceNumber(20)}, RangeTombstone{"e", "f", SequenceNumber(21)},
        RangeTombstone{"e", "e", SequenceNumber(15)}, RangeTombstone{"e", "f", SequenceNumber(0)}}) {
    VersionEdit edit;
    edit.added_range_tombstones = {wrong};
    EXPECT_TRUE(f.Apply(edit).Is(ErrorCode::kCorruption)) << wrong.end << wrong.sequence.value;
  }
  VersionEdit unknown;
  unknown.removed_range_tombstones = {SequenceNumber(11)};
  EXPECT_TRUE(f.Apply(unknown).Is(ErrorCode::kCorruption));
  VersionEdit remove;
  remove.removed_range_tombstones = {SequenceNumber(10), SequenceNumber(20)};
  ASSERT_TRUE(f.Apply(remove).ok());
  EXPECT_EQ(f.version.range_tombstones(), nullptr);
}

// A manifest that means harm: some megabytes that would take all memory.
TEST(VersionEdit, MoreRangeTombstonesThanFitIntoMemoryAreRefused) {
  Fixture f;
  VersionEdit add;
  add.last_sequence = SequenceNumber(100'000);
  for (uint64_t i = 1; i <= 100'000; ++i) {
    add.added_range_tombstones.push_back({"a" + std::to_string(100'000 + i), "b", SequenceNumber(i)});
  }
  EXPECT_TRUE(f.Apply(add).Is(ErrorCode::kUnsupported));
  EXPECT_EQ(f.version.range_tombstones(), nullptr);
}

// None of them is too many where lists hold what somebody needs.
TEST(VersionEdit, RangeTombstonesThatOneReaderSeesTakeNoMoreForLyingWithinEachOther) {
  Fixture f;
  VersionEdit add;
  add.last_sequence = SequenceNumber(100'000);
  add.readers = {SequenceNumber(100'000)};
  for (uint64_t i = 1; i <= 100'000; ++i) {
    add.added_range_tombstones.push_back({"a" + std::to_string(100'000 + i), "b", SequenceNumber(i)});
  }
  ASSERT_TRUE(f.Apply(add).ok());
  EXPECT_EQ(f.version.range_tombstones()->size(), 100'000u);
  EXPECT_LT(f.version.range_tombstones()->memory_bytes(), 40 * kMiB);
}

// With the longest keys, all of a full store's range tombstones are more than one record of a manifest takes.
TEST(VersionEdit, ASnapshotSpreadsRangeTombstonesOverRecords) {
  Fixture f;
  VersionEdit add;
  add.last_sequence = SequenceNumber(10'000);
  for (uint64_t i = 1; i <= 10'000; ++i) {
    add.added_range_tombstones.push_back({"a" + std::to_string(i), "b", SequenceNumber(i)});
  }
  ASSERT_TRUE(f.Apply(add).ok());
  Fixture again;
  for (const VersionEdit& part : SnapshotOf(f.version, 10)) {
    EXPECT_LE(part.added_range_tombstones.size(), 4096u);
    ASSERT_TRUE(again.ApplyAsItIs(part).ok());
  }
  EXPECT_EQ(again.version.ToString(), f.version.ToString());
}

TEST(VersionEdit, EveryEditTakesTheMarkOfACleanCloseAway) {
  Fixture fixture;
  VersionEdit edit;
  edit.clean = true;
  ASSERT_TRUE(fixture.Apply(edit).ok());
  EXPECT_TRUE(fixture.version.counters().clean);
  ASSERT_TRUE(fixture.Apply({}).ok());
  EXPECT_FALSE(fixture.version.counters().clean);
}

TEST(VersionEdit, ASnapshotRebuildsTheVersionInRecordsOfBoundedSize) {
  Fixture fixture;
  VersionEdit edit;
  edit.parameters = {{"a", "1"}};
  edit.log_start = Lsn(4);
  edit.epoch = RecoveryEpoch(2);
  edit.added_wal_segments = {{4, Extent{1, 1}, {}, {}}};
  ASSERT_TRUE(fixture.Apply(edit).ok());
  for (uint64_t id = 1; id <= 30; ++id) {
    const std::string key = "k" + std::to_string(id + 100);
    ASSERT_TRUE(fixture
                    .Add(id % 3 == 0 ? kTree2 : (id % 3 == 1 ? kLevel0 : kLog1),
                         {.id = id, .smallest = key, .largest = key + "x"})
                    .ok());
  }
  ASSERT_TRUE(fixture.AddView(2, {.id = 77}).ok());
  edit = {};
  edit.AddTable({3, Part::kTree}, HotView(78, {30, 4}));
  edit.clean = true;
  ASSERT_TRUE(fixture.Apply(edit).ok());
  Fixture copy;
  for (const VersionEdit& part : SnapshotOf(fixture.version, 4)) {
    EXPECT_LE(part.added_tables.size(), 4u);
    Result<VersionEdit> read = DecodeVersionEdit(EncodeVersionEdit(part));
    ASSERT_TRUE(read.ok());
    ASSERT_TRUE(copy.ApplyAsItIs(*read).ok());
  }
  EXPECT_EQ(copy.version.ToString(), fixture.version.ToString());
  EXPECT_EQ(copy.version.tree(3).First()->hotness(), 34U);
  EXPECT_EQ(copy.version.counters(), fixture.version.counters());
  EXPECT_EQ(copy.version.wal_segments(), fixture.version.wal_segments());
  EXPECT_EQ(copy.version.parameters(), fixture.version.parameters());
  // Caches begin empty, so do buffers.
  EXPECT_EQ(fixture.version.level(2).buffer.views().size(), 1U);
  EXPECT_TRUE(copy.version.level(2).buffer.empty());
}

TEST(VersionEdit, WhatChangesInBuffersIsNotRecorded) {
  VersionEdit edit;
  edit.buffer_elements.push_back({2, InstallStamp(3), {"a", "c"}});
  edit.trimmed_views.push_back({1, InstallStamp(2), {}});
  EXPECT_TRUE(edit.ChangesOnlyBuffers());
  EXPECT_EQ(EncodeVersionEdit(edit), "");
  edit.log_start = Lsn(5);
  EXPECT_FALSE(edit.ChangesOnlyBuffers());
  EXPECT_FALSE(VersionEdit().ChangesOnlyBuffers());
}

TEST(VersionEdit, TheTagsAndThePartThatWereKeptForBuffersAreRefused) {
  for (const uint64_t tag : {3, 4}) {
    std::string bytes;
    AppendVarint(bytes, tag);
    AppendLengthPrefixed(bytes, std::string("\2\5\1a\1b"));
    EXPECT_TRUE(DecodeVersionEdit(bytes).Is(ErrorCode::kUnsupported)) << tag;
  }
  std::string payload("\2\3\7\1\1a");  // level 2, part 3, table 7, generation 1, "a"
  std::string bytes;
  AppendVarint(bytes, 1);
  AppendLengthPrefixed(bytes, payload);
  EXPECT_TRUE(DecodeVersionEdit(bytes).Is(ErrorCode::kCorruption));
}

}  // namespace
}  // namespace varve
