// A check that cannot fail is worthless: each kind of damage is planted and must be seen. (That a sound store
// passes is in store_test.cc.)
#include "engine/store/check_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/space/layout.h"
#include "engine/store/check_order.h"
#include "engine/store/dump.h"
#include "engine/store/store_at_rest.h"
#include "engine/version/version_edit.h"
#include "tests/engine/store/store_harness.h"

namespace varve::testing {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Problems final : public CheckObserver {
 public:
  void OnProblem(StoreProblem problem) override {
    if (problem.keys) {
      keys.push_back(*problem.keys);
    }
    found.push_back(std::move(problem.what));
  }
  void OnProgress(uint64_t /*done_bytes*/, uint64_t /*total_bytes*/) override { ++steps; }

  std::vector<std::string> found;
  std::vector<KeyRange> keys;
  int steps = 0;
};

// Two tables of level 0 that both hold "k", and keys of their own.
void FillAndClose(StoreHarness& h) {
  StoreOptions options = SmallStoreOptions();
  options.level0_tables_trigger = 100;
  ASSERT_TRUE(h.Open(options).ok());
  ASSERT_TRUE(h.Put("a", "1").ok());
  ASSERT_TRUE(h.Put("k", "old").ok());
  ASSERT_TRUE(h.Run(h.store().Settle()).ok());
  ASSERT_TRUE(h.Put("k", "new").ok());
  ASSERT_TRUE(h.Put("z", std::string(5000, 'z')).ok());
  ASSERT_TRUE(h.Run(h.store().Settle()).ok());
  ASSERT_TRUE(h.Close().ok());
}

StoreAtRest AtRest(StoreHarness& h) {
  Result<StoreAtRest> store = h.Run(ReadStoreAtRest(h.device(), nullptr));
  EXPECT_TRUE(store.ok()) << store.ToString();
  return std::move(store).value();
}

// Damages a block of the older of FillAndClose()'s tables, and names the table.
TableId DamageOlderTable(StoreHarness& h) {
  const StoreAtRest store = AtRest(h);
  EXPECT_THAT(store.manifest.version.level0(), SizeIs(2));
  const LiveTable& table = *store.manifest.version.level0()[0].table;
  h.device().Corrupt(table.view().extents[0].extent.offset().value + 3, 1);
  return table.id();
}

CheckSummary Check(StoreHarness& h, Problems& problems) {
  const Result<CheckSummary> checked = h.Run(CheckStore(h.device(), CheckDepth::kOrder, problems));
  EXPECT_TRUE(checked.ok()) << checked.ToString();
  return checked.value();
}

std::vector<std::string> Lines(StoreHarness& h, Task<Status> (*dump)(BlockDevice&, DumpLine)) {
  std::vector<std::string> lines;
  const DumpLine line = [&lines](std::string_view text) { lines.emplace_back(text); };
  const Status status = h.Run(dump(h.device(), line));
  EXPECT_TRUE(status.ok()) << status.ToString();
  return lines;
}

TEST(CheckStore, SeesADamagedBlockAndChecksTheOtherTables) {
  StoreHarness h;
  FillAndClose(h);
  const TableId damaged = DamageOlderTable(h);
  Problems problems;
  const CheckSummary summary = Check(h, problems);
  EXPECT_THAT(problems.found, Contains(HasSubstr("table " + std::to_string(damaged.value))));
  EXPECT_EQ(summary.problems, problems.found.size());
  EXPECT_TRUE(summary.complete);
  EXPECT_EQ(problems.steps, 2);
}

TEST(CheckStore, SaysWhichKeysADamagedBlockMayHaveHeld) {
  StoreHarness h;
  FillAndClose(h);
  DamageOlderTable(h);
  Problems problems;
  const CheckSummary summary = Check(h, problems);
  EXPECT_GE(summary.table_problems, 1U);
  ASSERT_FALSE(problems.keys.empty());
  EXPECT_EQ(problems.keys[0], (KeyRange{"a", "k"}));
}

TEST(CheckStore, OfTheStructureAloneDoesNotReadTables) {
  StoreHarness h;
  FillAndClose(h);
  DamageOlderTable(h);
  Problems problems;
  const Result<CheckSummary> checked = h.Run(CheckStore(h.device(), CheckDepth::kStructure, problems));
  ASSERT_TRUE(checked.ok());
  EXPECT_TRUE(checked->complete);
  EXPECT_THAT(problems.found, IsEmpty());
}

TEST(RepairSuperblock, WritesTheBadCopyAnewAndLeavesTheGoodOne) {
  for (const uint64_t bad : {kFirstSuperblockOffset + 100, uint64_t{0}}) {
    StoreHarness h;
    FillAndClose(h);
    const MemoryDevice::Contents before = h.device().Snapshot();
    const Result<Layout> layout = Layout::ForDevice(h.device().size_bytes());
    const uint64_t place = bad != 0 ? bad : layout->superblock_offsets()[1].value + 100;
    h.device().Corrupt(place, 1);
    ASSERT_TRUE(h.Run(RepairSuperblock(h.device())).ok());
    EXPECT_EQ(h.device().Snapshot(), before);
    Problems problems;
    Check(h, problems);
    EXPECT_THAT(problems.found, IsEmpty());
  }
}

TEST(RepairSuperblock, WritesNothingWhereBothAreGoodOrBothAreBad) {
  StoreHarness h;
  FillAndClose(h);
  h.device().DieAtWrite();
  EXPECT_TRUE(h.Run(RepairSuperblock(h.device())).ok());
  h.device().Heal();
  const Result<Layout> layout = Layout::ForDevice(h.device().size_bytes());
  h.device().Corrupt(layout->superblock_offsets()[0].value + 100, 1);
  h.device().Corrupt(layout->superblock_offsets()[1].value + 100, 1);
  const MemoryDevice::Contents before = h.device().Snapshot();
  EXPECT_TRUE(h.Run(RepairSuperblock(h.device())).Is(ErrorCode::kCorruption));
  EXPECT_EQ(h.device().Snapshot(), before);
}

TEST(CheckStore, SeesADamagedManifestAndSaysThatItCouldGoNoFurther) {
  StoreHarness h;
  FillAndClose(h);
  h.device().Corrupt(AtRest(h).superblock.manifest.extents[0].offset().value + 40, 1);
  Problems problems;
  const CheckSummary summary = Check(h, problems);
  EXPECT_THAT(problems.found, Contains(HasSubstr("manifest")));
  EXPECT_FALSE(summary.complete);
}

TEST(CheckStore, TellsABadSuperblockCopyFromOtherDamage) {
  StoreHarness h;
  FillAndClose(h);
  h.device().Corrupt(kFirstSuperblockOffset + 100, 1);
  Problems problems;
  const CheckSummary summary = Check(h, problems);
  EXPECT_THAT(problems.found, SizeIs(1));
  EXPECT_THAT(problems.found, Each(HasSubstr("superblock")));
  EXPECT_EQ(summary.superblock_problems, 1U);
  EXPECT_TRUE(summary.complete);
}

TEST(CheckStore, SeesAHoleInTheLogBelowADurableGroup) {
  StoreHarness h;
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  ASSERT_TRUE(h.Put("a", "1", Durability::kDurable).ok());
  ASSERT_TRUE(h.Put("b", "2", Durability::kDurable).ok());
  ASSERT_TRUE(h.Put("c", "3", Durability::kDurable).ok());
  h.Crash();
  const StoreAtRest store = AtRest(h);
  ASSERT_THAT(store.manifest.version.wal_segments(), Contains(::testing::_));
  Problems sound;
  EXPECT_EQ(Check(h, sound).wal_records, 3U);
  EXPECT_THAT(sound.found, IsEmpty());
  const uint64_t segment = store.manifest.version.wal_segments().front().extent.offset().value;
  h.device().Corrupt(segment + h.device().sector_bytes() + 20, 1);
  Problems problems;
  Check(h, problems);
  EXPECT_THAT(problems.found, Contains(HasSubstr("log")));
}

TEST(CheckStore, ALogThatIsCutEndsBeforeTheDamageAndTheStoreGoesOn) {
  StoreHarness h;
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  for (const char* key : {"a", "b", "c"}) {
    ASSERT_TRUE(h.Put(key, key, Durability::kDurable).ok());
  }
  h.Crash();
  const uint64_t segment = AtRest(h).manifest.version.wal_segments().front().extent.offset().value;
  h.device().Corrupt(segment + 2 * h.device().sector_bytes() + 20, 1);
  StoreOptions options = SmallStoreOptions();
  EXPECT_TRUE(h.Open(options).Is(ErrorCode::kCorruption));
  options.cut_damaged_log = true;
  ASSERT_TRUE(h.Open(options).ok());
  EXPECT_EQ(h.Get("a"), "a");
  EXPECT_EQ(h.Get("b"), std::nullopt);
  EXPECT_EQ(h.Get("c"), std::nullopt);
  ASSERT_TRUE(h.Put("d", "d", Durability::kDurable).ok());
  h.Crash();
  // What lay behind the damage stays lost.
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  EXPECT_EQ(h.Scan(), (State{{"a", "a"}, {"d", "d"}}));
  ASSERT_TRUE(h.Close().ok());
  Problems problems;
  Check(h, problems);
  EXPECT_THAT(problems.found, IsEmpty());
}

TEST(CheckStore, ADeviceWithoutAStoreIsNotFound) {
  StoreHarness h;
  MemoryDevice empty(64 * kMiB, 4096);
  Problems problems;
  EXPECT_TRUE(h.Run(CheckStore(empty, CheckDepth::kOrder, problems)).Is(ErrorCode::kNotFound));
}

TEST(CheckStore, WritesNothing) {
  StoreHarness h;
  FillAndClose(h);
  const MemoryDevice::Contents before = h.device().Snapshot();
  Problems problems;
  Check(h, problems);
  EXPECT_EQ(h.device().Snapshot(), before);
}

TEST(CheckReadOrder, SeesAKeyWhoseNewerVersionWouldBeReadLater) {
  StoreHarness h;
  FillAndClose(h);
  const StoreAtRest store = AtRest(h);
  const std::vector<StampedTable>& tables = store.manifest.version.level0();
  ASSERT_THAT(tables, SizeIs(2));
  BlockCache cache(kMiB);
  const TableEnvironment environment{h.device(), cache, store.superblock.uuid};
  std::vector<std::string> found;
  const std::function<void(std::string)> report = [&found](std::string problem) { found.push_back(problem); };

  h.Run(CheckReadOrder(environment, store.manifest.version, report));
  EXPECT_THAT(found, IsEmpty());

  // The same tables, in an order and at a place of their own.
  const auto check = [&](Place place, size_t older, size_t newer) {
    VersionEdit edit;
    edit.next_stamp = InstallStamp(3);
    edit.next_table_id = store.manifest.version.counters().next_table_id;
    edit.last_sequence = store.manifest.version.counters().last_sequence;
    edit.added_tables.push_back({place, InstallStamp(1), tables[older]->view()});
    edit.added_tables.push_back({place, InstallStamp(2), tables[newer]->view()});
    const auto live = std::make_shared<LiveTables>(nullptr);
    const Result<Version> version = ApplyVersionEdit(Version(), edit, *live);
    ASSERT_TRUE(version.ok()) << version.ToString();
    h.Run(CheckReadOrder(environment, version.value(), report));
  };
  for (const Place place : {Place{0, Part::kLevel0}, Place{1, Part::kLog}}) {
    found.clear();
    check(place, 0, 1);
    EXPECT_THAT(found, IsEmpty());
    check(place, 1, 0);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(found[0], HasSubstr("key k:"));
  }
}

TEST(CheckReadOrder, SeesWhatATableWasSaidToBePurgedOf) {
  StoreHarness h;
  FillAndClose(h);
  const StoreAtRest store = AtRest(h);
  const LiveTable& table = *store.manifest.version.level0()[0].table;
  BlockCache cache(kMiB);
  const TableEnvironment environment{h.device(), cache, store.superblock.uuid};
  std::vector<std::string> found;
  const std::function<void(std::string)> report = [&found](std::string problem) { found.push_back(problem); };
  for (const uint64_t purged_up_to : {99, 100}) {
    VersionEdit edit;
    edit.next_stamp = InstallStamp(3);
    edit.next_table_id = store.manifest.version.counters().next_table_id;
    edit.last_sequence = SequenceNumber(200);
    edit.added_range_tombstones = {{"b", "l", SequenceNumber(100)}};
    TableView view = table.view();
    view.purged_up_to = SequenceNumber(purged_up_to);
    edit.added_tables.push_back({{0, Part::kLevel0}, InstallStamp(1), view});
    const auto live = std::make_shared<LiveTables>(nullptr);
    const Result<Version> version = ApplyVersionEdit(Version(), edit, *live);
    ASSERT_TRUE(version.ok()) << version.ToString();
    h.Run(CheckReadOrder(environment, version.value(), report));
    EXPECT_THAT(found, SizeIs(purged_up_to == 100 ? 1 : 0));
  }
  EXPECT_THAT(found[0], HasSubstr("key k:"));
}

TEST(Dump, SuperblockTellsLabelAndIdentity) {
  StoreHarness h;
  const std::vector<std::string> lines = Lines(h, &DumpSuperblock);
  EXPECT_THAT(lines, Contains(HasSubstr(FormatUuid(MakeUuid(1, 2)))));
  EXPECT_THAT(lines, Contains(HasSubstr("test")));
}

TEST(Dump, ManifestListsEveryTable) {
  StoreHarness h;
  FillAndClose(h);
  const std::vector<std::string> lines = Lines(h, &DumpManifest);
  const StoreAtRest store = AtRest(h);
  for (const StampedTable& placed : store.manifest.version.level0()) {
    EXPECT_THAT(lines, Contains(HasSubstr("+ table " + std::to_string(placed->id().value))));
  }
}

TEST(Dump, LogShowsWhatARecoveryWouldReplay) {
  StoreHarness h;
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  ASSERT_TRUE(h.Put("apple", "red", Durability::kDurable).ok());
  ASSERT_TRUE(h.Delete("pear").ok());
  ASSERT_TRUE(h.Run(h.store().Sync()).ok());
  h.Crash();
  const std::vector<std::string> lines = Lines(h, &DumpWal);
  EXPECT_THAT(lines, Contains("  put apple (3 bytes)"));
  EXPECT_THAT(lines, Contains("  delete pear (0 bytes)"));
}

TEST(Dump, TableShowsItsRecordsAndAnUnknownTableIsNotFound) {
  StoreHarness h;
  FillAndClose(h);
  const TableId table = AtRest(h).manifest.version.level0()[0].table->id();
  std::vector<std::string> lines;
  const DumpLine line = [&lines](std::string_view text) { lines.emplace_back(text); };
  ASSERT_TRUE(h.Run(DumpTable(h.device(), table, line)).ok());
  EXPECT_THAT(lines, Contains(HasSubstr("put a at")));
  EXPECT_THAT(lines, Contains(HasSubstr("put k at")));
  EXPECT_TRUE(h.Run(DumpTable(h.device(), TableId(12345), line)).Is(ErrorCode::kNotFound));
}

}  // namespace
}  // namespace varve::testing
