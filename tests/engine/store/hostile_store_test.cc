// Stores that an attacker made, with right checksums: opening one, checking it and working on it ends, with
// an error where there is something wrong, and never reads outside the device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "engine/base/checksum.h"
#include "engine/space/superblock_store.h"
#include "engine/store/check_store.h"
#include "engine/store/dump.h"
#include "engine/store/store_at_rest.h"
#include "engine/version/manifest_format.h"
#include "engine/version/version_edit.h"
#include "tests/engine/store/store_harness.h"
#include "tests/engine/table/hand_made_table.h"

namespace varve::testing {
namespace {

using ::testing::Not;
using ::testing::SizeIs;

class CountProblems final : public CheckObserver {
 public:
  void OnProblem(StoreProblem /*problem*/) override { ++problems; }
  void OnProgress(uint64_t /*done_bytes*/, uint64_t /*total_bytes*/) override {}

  uint64_t problems = 0;
};

class HostileStore : public ::testing::Test {
 protected:
  HostileStore() {
    EXPECT_TRUE(h_.Open(Options()).ok());
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(h_.Put("key" + std::to_string(i), std::string(200, 'v')).ok());
    }
    EXPECT_TRUE(h_.Run(h_.store().Settle()).ok());
    EXPECT_TRUE(h_.Close().ok());
  }

  static StoreOptions Options() {
    StoreOptions options = SmallStoreOptions();
    options.level0_tables_trigger = 100;
    return options;
  }
  StoreAtRest AtRest() {
    Result<StoreAtRest> store = h_.Run(ReadStoreAtRest(h_.device(), nullptr));
    EXPECT_TRUE(store.ok()) << store.ToString();
    return std::move(store).value();
  }

  // Writes the manifest anew, changed, in the place of the old one, and makes the superblock name it.
  void ChangeManifest(const std::function<void(VersionEdit&)>& change) {
    const StoreAtRest store = AtRest();
    VersionEdit edit = SnapshotOf(store.manifest.version, SIZE_MAX).front();
    change(edit);
    Superblock superblock = store.superblock;
    ManifestLocation& location = superblock.manifest;
    ++location.number;
    const size_t sector_bytes = h_.device().sector_bytes();
    const std::string sectors = manifest_format::EncodeRecord(
        manifest_format::Seed(superblock.uuid, location.number), 0, 0, manifest_format::RecordKind::kSnapshot,
        EncodeVersionEdit(edit), sector_bytes);
    std::string checksums;
    for (size_t at = 0; at < sectors.size(); at += sector_bytes) {
      checksums.append(sectors, at + manifest_format::kChecksumAt, sizeof(uint64_t));
    }
    location.bytes = sectors.size();
    location.checksum = Checksum64(checksums);
    const Extent& extent = location.extents.front();
    h_.device().Poke(extent.offset().value, std::string(extent.bytes(), '\0'));
    h_.device().Poke(extent.offset().value, sectors);
    UpdateSuperblock(superblock);
  }
  void UpdateSuperblock(const Superblock& superblock) {
    SuperblockStore superblocks(h_.device());
    ASSERT_TRUE(h_.Run(superblocks.Load()).ok());
    ASSERT_TRUE(h_.Run(superblocks.Update(superblock)).ok());
  }

  // What fsck and dump say must end, too.
  uint64_t CheckAndDump() {
    CountProblems observer;
    const Result<CheckSummary> checked = h_.Run(CheckStore(h_.device(), CheckDepth::kOrder, observer));
    const DumpLine line = [](std::string_view) {};
    (void)h_.Run(DumpManifest(h_.device(), line));
    (void)h_.Run(DumpWal(h_.device(), line));
    (void)h_.Run(DumpTable(h_.device(), TableId(1), line));
    return observer.problems + (checked.ok() ? 0 : 1);
  }
  void ExpectRefused() {
    EXPECT_GT(CheckAndDump(), 0U);
    const Status opened = h_.Open(Options());
    EXPECT_TRUE(opened.Is(ErrorCode::kCorruption)) << opened.ToString();
  }

  StoreHarness h_;
};

TEST_F(HostileStore, TheManifestMadeAnewIsTakenAsItWas) {
  ChangeManifest([](VersionEdit&) {});
  EXPECT_EQ(CheckAndDump(), 0U);
  ASSERT_TRUE(h_.Open(Options()).ok());
  EXPECT_THAT(h_.Scan(), SizeIs(50));
}

TEST_F(HostileStore, NumbersAtTheirEndAreRefused) {
  const std::function<void(VersionEdit&)> changes[] = {
      [](VersionEdit& edit) { edit.log_start = Lsn(UINT64_MAX); },
      [](VersionEdit& edit) { edit.last_sequence = kSequenceNumberMax; },
      [](VersionEdit& edit) { edit.epoch = RecoveryEpoch(UINT64_MAX); },
      [](VersionEdit& edit) { edit.next_table_id = TableId(UINT64_MAX); },
      [](VersionEdit& edit) { edit.next_stamp = InstallStamp(UINT64_MAX); },
      [](VersionEdit& edit) { edit.next_wal_segment = UINT64_MAX; },
      [](VersionEdit& edit) { edit.added_tables[0].view.id = TableId(UINT64_MAX); },
      [](VersionEdit& edit) { edit.added_wal_segments.back().number = UINT64_MAX; },
  };
  const MemoryDevice::Contents before = h_.device().Snapshot();
  for (const std::function<void(VersionEdit&)>& change : changes) {
    h_.device().Restore(before);
    ChangeManifest(change);
    ExpectRefused();
  }
}

TEST_F(HostileStore, ATableBeyondTheDeviceIsRefused) {
  ChangeManifest(
      [](VersionEdit& edit) { edit.added_tables[0].view.extents[0].extent.first_unit = 0xffff'0000; });
  ExpectRefused();
}

TEST_F(HostileStore, ATableInThePlaceOfTheManifestIsRefused) {
  const Extent manifest = AtRest().superblock.manifest.extents.front();
  ChangeManifest([&](VersionEdit& edit) {
    edit.added_tables[0].view.extents[0].extent.first_unit = manifest.first_unit;
  });
  ExpectRefused();
}

TEST_F(HostileStore, ATableInThePlaceOfTheLogIsRefused) {
  ChangeManifest([](VersionEdit& edit) {
    ASSERT_THAT(edit.added_wal_segments, Not(SizeIs(0)));
    edit.added_tables[0].view.extents[0].extent.first_unit = edit.added_wal_segments[0].extent.first_unit;
  });
  ExpectRefused();
}

TEST_F(HostileStore, ALogSegmentBeyondTheDeviceIsRefused) {
  ChangeManifest([](VersionEdit& edit) { edit.added_wal_segments[0].extent.first_unit = 0x7fff'0000; });
  ExpectRefused();
}

// Not hostile, but rare: what is free lies in pieces too small for a log, and the old log is full of records.
TEST_F(HostileStore, AStoreWhereOnlyTheOldLogHasRoomForALogOpens) {
  ASSERT_TRUE(h_.Open(Options()).ok());
  ASSERT_TRUE(h_.Put("in the log", "v", Durability::kDurable).ok());
  h_.Crash();
  const Layout layout = Layout::ForDevice(h_.device().size_bytes()).value();
  std::set<uint64_t> used;
  const auto use = [&used](const Extent& extent) {
    for (uint64_t unit = extent.first_unit; unit < extent.end_unit(); ++unit) {
      used.insert(unit);
    }
  };
  for (const Extent& extent : AtRest().superblock.manifest.extents) {
    use(extent);
  }
  ChangeManifest([&](VersionEdit& edit) {
    // The log has no segment beyond the one that holds the record.
    ASSERT_THAT(edit.added_wal_segments, Not(SizeIs(0)));
    edit.added_wal_segments.resize(1);
    use(edit.added_wal_segments.front().extent);
    std::vector<TableExtent>& extents = edit.added_tables[0].view.extents;
    for (const TableExtent& part : extents) {
      use(part.extent);
    }
    // Every sixteenth unit belongs to a table.
    for (uint32_t unit = 0; unit < h_.device().size_bytes() / kExtentUnitBytes; unit += 16) {
      if (layout.Holds({unit, 1}) && !used.contains(unit)) {
        extents.push_back({extents.back().table_offset + extents.back().extent.bytes(), {unit, 1}});
      }
    }
  });
  const Status opened = h_.Open(Options());
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  EXPECT_TRUE(h_.Put("another", "v", Durability::kDurable).ok());
  EXPECT_THAT(h_.Scan(), SizeIs(52));
}

TEST_F(HostileStore, ALogSegmentTooShortForAGroupIsNotWrittenTo) {
  ChangeManifest([](VersionEdit& edit) {
    for (WalSegment& segment : edit.added_wal_segments) {
      segment.extent.units = 1;
    }
  });
  ASSERT_TRUE(h_.Open(Options()).ok());
  EXPECT_TRUE(h_.Put("another", std::string(1 * kMiB, 'v'), Durability::kDurable).ok());
  EXPECT_TRUE(h_.Close().ok());
}

TEST_F(HostileStore, ATableThatNamesABlockOutsideItselfIsRefused) {
  ChangeManifest([](VersionEdit& edit) {
    edit.added_tables[0].view.segments[0].footer.table_offset = UINT64_MAX - 100;
  });
  ExpectRefused();
}

TEST_F(HostileStore, ManifestExtentsThatAreTheWholeDeviceAgainAndAgainAreRefused) {
  Superblock superblock = AtRest().superblock;
  superblock.manifest.extents.assign(superblock_format::kExtentsMax, {1, 1'000});
  UpdateSuperblock(superblock);
  const Status opened = h_.Open(Options());
  EXPECT_TRUE(opened.Is(ErrorCode::kCorruption)) << opened.ToString();
}

TEST_F(HostileStore, BlocksOfAnImpossibleSizeAreRefused) {
  for (const uint32_t block_bytes : {0U, 1U, 0xffff'ffffU}) {
    Superblock superblock = AtRest().superblock;
    superblock.parameters.data_block_bytes = block_bytes;
    const std::string copy = EncodeSuperblock(superblock, 0);
    EXPECT_TRUE(DecodeSuperblock(copy, 0).Is(ErrorCode::kCorruption)) << block_bytes;
  }
}

// A table whose records are in no order, where a merge will read it.
TEST_F(HostileStore, AMergeOfRecordsInNoOrderMakesTheStoreReadOnly) {
  const Uuid uuid = AtRest().superblock.uuid;
  const auto key = [](std::string_view user_key) {
    std::string internal;
    AppendInternalKey(internal, user_key, SequenceNumber(1), RecordKind::kValue);
    return internal;
  };
  ChangeManifest([&](VersionEdit& edit) {
    TableView& view = edit.added_tables[0].view;
    // Units that nothing holds.
    HandMadeTable made(h_.device(), uuid, view.id, Extent{600, 1});
    const BlockHandle block = made.AddData({{key("m"), "1"}, {key("c"), "2"}});
    const InstallStamp stamp = view.stamp;
    view = made.Finish({{"a", "z", block, 2}}, 1, "a", "z");
    view.stamp = stamp;
  });
  EXPECT_GT(CheckAndDump(), 0U);
  StoreOptions options = SmallStoreOptions();
  options.level0_tables_trigger = 1;
  ASSERT_TRUE(h_.Open(options).ok());
  for (int i = 0; i < 10; ++i) {
    (void)h_.Put("b" + std::to_string(i), std::string(20'000, 'v'));
  }
  (void)h_.Run(h_.store().Settle());
  EXPECT_THAT(h_.store().read_only_reason(), ::testing::HasSubstr("out of order"));
  // A walk sees keys in order, or an error.
  const std::unique_ptr<StoreIterator> it = h_.store().NewIterator({}, {}, {});
  std::string before;
  for (h_.Finish(*it, it->Seek({})); it->Valid(); h_.Finish(*it, it->Next())) {
    EXPECT_LT(before, it->key());
    before = it->key();
  }
  EXPECT_TRUE(it->status().Is(ErrorCode::kCorruption)) << it->status().ToString();
}

}  // namespace
}  // namespace varve::testing
