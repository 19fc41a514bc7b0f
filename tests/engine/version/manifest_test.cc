#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>

#include "engine/base/prng.h"
#include "engine/device/aligned_buffer.h"
#include "engine/ring/local_executor.h"
#include "engine/ring/when_all.h"
#include "engine/space/extent_allocator.h"
#include "engine/space/superblock_store.h"
#include "engine/version/manifest_format.h"
#include "engine/version/manifest_reader.h"
#include "engine/version/manifest_writer.h"
#include "engine/version/version_set.h"
#include "tests/support/memory_device.h"
#include "tests/support/table_views.h"

namespace varve {
namespace {

constexpr Place kTree1{1, Part::kTree};
constexpr uint64_t kDeviceBytes = 256 * kMiB;

// A store that consists of a superblock and a manifest.
struct Machine : InstallObserver, TableObserver {
  SystemClock clock;
  LocalExecutor executor{clock};
  NullLogger logger;
  std::unique_ptr<MemoryDevice> device;
  std::optional<ExtentAllocator> allocator;
  std::optional<SuperblockStore> superblocks;
  std::unique_ptr<VersionSet> versions;
  std::vector<InstallStamp> installs;
  uint64_t released_units = 0;

  explicit Machine(std::unique_ptr<MemoryDevice> on) : device(std::move(on)) {}
  explicit Machine(uint32_t sector_bytes) {
    device = std::make_unique<MemoryDevice>(MemoryDeviceOptions{
        .size_bytes = kDeviceBytes, .sector_bytes = sector_bytes, .volatile_cache = true});
    MakeAllocator();
    Superblock superblock;
    superblock.device_bytes = kDeviceBytes;
    superblock.sector_bytes = sector_bytes;
    superblock.uuid[3] = 7;
    VersionEdit first;
    first.parameters = {{"made by", "test"}};
    superblock.manifest = executor.Run(CreateManifest(*device, *allocator, superblock.uuid, first)).value();
    superblocks.emplace(*device);
    EXPECT_TRUE(executor.Run(superblocks->Format(superblock)).ok());
  }

  void MakeAllocator() {
    const Layout layout = Layout::ForDevice(kDeviceBytes).value();
    allocator.emplace(layout, InternalShareBytes(layout, 0));
  }
  Status Open() {
    versions.reset();
    MakeAllocator();
    superblocks.emplace(*device);
    Result<Superblock> superblock = executor.Run(superblocks->Load());
    if (!superblock.ok()) {
      return superblock.error();
    }
    VersionSetEnvironment environment{*device, *allocator, *superblocks, logger, this, this};
    Result<std::unique_ptr<VersionSet>> opened = executor.Run(VersionSet::Open(environment));
    if (!opened.ok()) {
      return opened.error();
    }
    versions = std::move(opened).value();
    return {};
  }
  Result<std::shared_ptr<const Version>> Install(VersionEdit edit) {
    return executor.Run(versions->Install(std::move(edit)));
  }
  void OnInstalled(const std::shared_ptr<const Version>& version, const VersionEdit&) override {
    installs.push_back(version->counters().next_stamp);
  }
  void OnReadersHavePaid() override {}
  void OnTableReleased(const TableView&, std::vector<Extent> unreferenced, bool) override {
    released_units += TotalBytes(unreferenced) / kExtentUnitBytes;
  }
};

class Manifest : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(SectorBytes, Manifest, testing::Values(512, 4096));

// A view as the table room makes them, so that it decodes.
VersionEdit RealEdit(ExtentAllocator& allocator, uint64_t id, const std::string& key) {
  SpaceReservation reservation = allocator.Reserve(kExtentUnitBytes * 2, SpaceClass::kInternal).value();
  TableView view = MakeView({.id = id, .smallest = key, .largest = key + "x", .bytes = 4096});
  view.extents.clear();
  for (const Extent& extent : allocator.Take(reservation, kExtentUnitBytes)) {
    view.extents.push_back({0, extent});
  }
  VersionEdit edit;
  edit.AddTable(kTree1, std::move(view));
  edit.last_sequence = SequenceNumber(id);
  return edit;
}

TEST_P(Manifest, WhatWasInstalledIsThereAfterAPowerFailure) {
  Machine machine(GetParam());
  ASSERT_TRUE(machine.Open().ok());
  for (int round = 0; round < 50; ++round) {
    const TableId id(static_cast<uint64_t>(round) + 1);
    ASSERT_TRUE(machine.Install(RealEdit(*machine.allocator, id.value, fmt::format("{:04}", round))).ok());
  }
  const std::string before = machine.versions->current()->ToString();
  const SpaceNumbers space = machine.allocator->numbers();
  machine.versions.reset();
  machine.device->Crash();
  Status opened = machine.Open();
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  EXPECT_EQ(machine.versions->current()->ToString(), before);
  EXPECT_EQ(machine.versions->current()->parameters().at("made by"), "test");
  EXPECT_EQ(machine.allocator->numbers().used_bytes, space.used_bytes);
}

TEST_P(Manifest, TableIdsAreNeverHandedOutTwiceAcrossCrashes) {
  Machine machine(GetParam());
  uint64_t largest = 0;
  for (int life = 0; life < 3; ++life) {
    ASSERT_TRUE(machine.Open().ok());
    VersionEdit epoch;
    epoch.epoch = RecoveryEpoch(static_cast<uint64_t>(life) + 1);
    ASSERT_TRUE(machine.Install(epoch).ok());
    for (int i = 0; i < 100; ++i) {
      const TableId id = machine.versions->NewTableId();
      EXPECT_GT(id.value, largest);
      largest = id.value;
    }
    machine.versions.reset();
    machine.device->Crash();
  }
}

TEST_P(Manifest, GrowsIntoFreshSnapshotsAndGivesTheOldSpaceBack) {
  Machine machine(GetParam());
  ASSERT_TRUE(machine.Open().ok());
  VersionEdit edit;
  edit.parameters = {{"filler", std::string(30000, 'x')}};
  ASSERT_TRUE(machine.Install(edit).ok());
  const uint64_t used = machine.allocator->numbers().used_bytes;
  for (int round = 0; round < 100; ++round) {
    edit.parameters["filler"][static_cast<size_t>(round)] = 'y';
    ASSERT_TRUE(machine.Install(edit).ok());
  }
  EXPECT_GT(machine.superblocks->current().manifest.number, 3u);
  EXPECT_EQ(machine.allocator->numbers().used_bytes, used);
  EXPECT_EQ(machine.versions->manifest_extents(), machine.superblocks->current().manifest.extents);
  machine.versions.reset();
  machine.device->Crash();
  ASSERT_TRUE(machine.Open().ok());
  EXPECT_EQ(machine.versions->current()->parameters().at("filler"), edit.parameters["filler"]);
}

TEST_P(Manifest, ARollAfterEachInstallKeepsEverything) {
  Machine machine(GetParam());
  ASSERT_TRUE(machine.Open().ok());
  for (uint64_t id = 1; id <= 10; ++id) {
    ASSERT_TRUE(machine.Install(RealEdit(*machine.allocator, id, fmt::format("{:04}", id))).ok());
    ASSERT_TRUE(machine.executor.Run(machine.versions->Roll()).ok());
  }
  const std::string before = machine.versions->current()->ToString();
  ASSERT_TRUE(machine.Open().ok());
  EXPECT_EQ(machine.versions->current()->ToString(), before);
}

TEST_P(Manifest, ATornLastRecordIsDroppedAndTheNextInstallGoesElsewhere) {
  for (const bool first_sectors_reached : {true, false}) {
    Machine machine(GetParam());
    ASSERT_TRUE(machine.Open().ok());
    ASSERT_TRUE(machine.Install(RealEdit(*machine.allocator, 1, "a")).ok());
    const std::string before = machine.versions->current()->ToString();
    const MemoryDevice::Contents contents = machine.device->Snapshot();
    VersionEdit large;
    large.parameters = {{"large", std::string(20000, 'x')}};
    ASSERT_TRUE(machine.Install(large).ok());
    // Of the large record's sectors, keep only the first or only the last few.
    const Extent extent = machine.versions->manifest_extents().front();
    std::vector<uint64_t> changed;
    auto now = machine.device->Clone();
    machine.device->Restore(contents);
    for (uint64_t at = 0; at < extent.bytes(); at += GetParam()) {
      const uint64_t offset = extent.offset().value + at;
      if (now->Peek(offset, GetParam()) != machine.device->Peek(offset, GetParam())) {
        changed.push_back(offset);
      }
    }
    ASSERT_GE(changed.size(), 5u);
    for (size_t i = 0; i < 2; ++i) {
      const uint64_t offset = first_sectors_reached ? changed[i] : changed[changed.size() - 1 - i];
      machine.device->Poke(offset, now->Peek(offset, GetParam()));
    }
    Status opened = machine.Open();
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    EXPECT_EQ(machine.versions->current()->ToString(), before);
    const uint64_t manifest = machine.superblocks->current().manifest.number;
    ASSERT_TRUE(machine.Install(RealEdit(*machine.allocator, 2, "b")).ok());
    EXPECT_EQ(machine.superblocks->current().manifest.number, manifest + 1);
    const std::string after = machine.versions->current()->ToString();
    ASSERT_TRUE(machine.Open().ok());
    EXPECT_EQ(machine.versions->current()->ToString(), after);
  }
}

// Installs a few edits, and knows the state after each.
struct Written {
  explicit Written(uint32_t sector_bytes) : machine(sector_bytes) {
    EXPECT_TRUE(machine.Open().ok());
    for (uint64_t id = 1; id <= 5; ++id) {
      EXPECT_TRUE(machine.Install(RealEdit(*machine.allocator, id, fmt::format("{:04}", id))).ok());
      states.push_back(machine.versions->current()->ToString());
    }
    manifest = machine.superblocks->current().manifest;
    // One beyond what was written: a damaged unwritten sector may be taken for a damaged record.
    end = manifest.bytes;
    const size_t sector = machine.device->sector_bytes();
    while (machine.device->Peek(manifest.extents[0].offset().value + end, sector) !=
           std::string(sector, '\0')) {
      end += sector;
    }
  }
  Machine machine;
  std::vector<std::string> states;
  ManifestLocation manifest;
  uint64_t end = 0;
};

TEST_P(Manifest, EveryDamagedByteOfWhatWasAcknowledgedIsNoticed) {
  Written written(GetParam());
  Prng prng(GetParam());
  const MemoryDevice::Contents contents = written.machine.device->Snapshot();
  const uint64_t begin = written.manifest.extents[0].offset().value;
  for (uint64_t at = 0; at < written.end; at += 1 + prng.Below(GetParam() / 128)) {
    written.machine.device->Restore(contents);
    written.machine.device->Corrupt(begin + at, 1);
    Status opened = written.machine.Open();
    ASSERT_TRUE(opened.Is(ErrorCode::kCorruption)) << "byte " << at << ": " << opened.ToString();
  }
}

TEST_P(Manifest, ALostSectorInFrontOfLaterRecordsIsNoticed) {
  Written written(GetParam());
  const MemoryDevice::Contents contents = written.machine.device->Snapshot();
  const uint64_t begin = written.manifest.extents[0].offset().value;
  const size_t sector = GetParam();
  const std::string zeros(sector, '\0');
  for (uint64_t at = 0; at + 2 * sector < written.end; at += sector) {
    written.machine.device->Restore(contents);
    written.machine.device->Poke(begin + at, zeros);
    Status opened = written.machine.Open();
    if (opened.ok()) {
      // Only where all that follows belongs to the last record: it looks torn.
      EXPECT_EQ(written.machine.versions->current()->ToString(), written.states[3]) << at;
      EXPECT_GE(at + 3 * sector, written.end) << at;
    }
  }
}

TEST_P(Manifest, WhatAnEarlierDaemonLeftInTheDevicesCacheIsDurableBeforeAnythingFollowsIt) {
  for (const bool flush_failed : {false, true}) {
    Machine machine(GetParam());
    ASSERT_TRUE(machine.Open().ok());
    ASSERT_TRUE(machine.Install(RealEdit(*machine.allocator, 1, "a")).ok());
    const ManifestLocation manifest = machine.superblocks->current().manifest;
    const DeviceOffset begin = manifest.extents[0].offset();
    const MemoryDevice::Contents before = machine.device->Snapshot();
    ASSERT_TRUE(machine.Install(RealEdit(*machine.allocator, 2, "b")).ok());
    // The second record was written, and the daemon killed before it was durable.
    AlignedBuffer bytes(64 * kKiB);
    bytes.CopyIn(0, machine.device->Peek(begin.value, bytes.size()));
    machine.device->Restore(before);
    ASSERT_TRUE(machine.executor.Run(machine.device->Write(begin, bytes.span(), IoPurpose::kManifest)).ok());
    if (flush_failed) {
      machine.device->FailFlush();
      ASSERT_FALSE(machine.executor.Run(machine.device->Flush(IoPurpose::kManifest)).ok());
      machine.device->Heal();
    }
    ASSERT_TRUE(machine.Open().ok());
    ASSERT_TRUE(machine.Install(RealEdit(*machine.allocator, 3, "c")).ok());
    machine.device->Crash();
    const Status opened = machine.Open();
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    EXPECT_EQ(machine.versions->current()->tree(1).size(), 3U);
  }
}

TEST_P(Manifest, ASuperblockThatAFailedFlushLeftInTheCacheIsDurableBeforeItsManifestGrows) {
  Machine machine(GetParam());
  ASSERT_TRUE(machine.Open().ok());
  ASSERT_TRUE(machine.Install(RealEdit(*machine.allocator, 1, "a")).ok());
  // The new manifest is flushed; the first superblock that names it is not.
  machine.device->FailFlush(1);
  ASSERT_FALSE(machine.executor.Run(machine.versions->Roll()).ok());
  machine.device->Heal();
  ASSERT_TRUE(machine.Open().ok());
  ASSERT_EQ(machine.superblocks->current().manifest.number, 2U);
  ASSERT_TRUE(machine.Install(RealEdit(*machine.allocator, 2, "b")).ok());
  machine.device->Crash();
  ASSERT_TRUE(machine.Open().ok());
  EXPECT_EQ(machine.versions->current()->tree(1).size(), 2U);
}

TEST_P(Manifest, SectorsThatChangedPlacesAreNoticed) {
  Written written(GetParam());
  const uint64_t begin = written.manifest.extents[0].offset().value;
  const std::string first = written.machine.device->Peek(begin + written.manifest.bytes, GetParam());
  const std::string second =
      written.machine.device->Peek(begin + written.manifest.bytes + GetParam(), GetParam());
  written.machine.device->Poke(begin + written.manifest.bytes, second);
  written.machine.device->Poke(begin + written.manifest.bytes + GetParam(), first);
  EXPECT_TRUE(written.machine.Open().Is(ErrorCode::kCorruption));
}

TEST_P(Manifest, AnotherStoresManifestIsNotTakenForOurs) {
  Written written(GetParam());
  Superblock other = written.machine.superblocks->current();
  other.uuid[0] ^= 1;
  LiveTables tables(nullptr);
  ManifestVisitor none;
  EXPECT_TRUE(written.machine.executor.Run(ReadManifest(*written.machine.device, other, tables, none))
                  .Is(ErrorCode::kCorruption));
}

TEST_P(Manifest, ADeviceThatDiesAtAnyWriteLeavesAPrefixWithAllThatWasAcknowledged) {
  for (uint64_t dies_at = 0; dies_at < 60; dies_at += 3) {
    Machine machine(GetParam());
    ASSERT_TRUE(machine.Open().ok());
    VersionEdit edit;
    edit.parameters = {{"filler", std::string(90000, 'x')}, {"n", "0"}};
    ASSERT_TRUE(machine.Install(edit).ok());
    machine.device->DieAtWrite(dies_at);
    int acknowledged = 0;
    for (int n = 1; n < 12; ++n) {
      edit.parameters["n"] = std::to_string(n);
      if (!machine.Install(edit).ok()) {
        break;
      }
      acknowledged = n;
    }
    EXPECT_EQ(acknowledged < 11, machine.Install({}).Is(ErrorCode::kReadOnly));
    machine.versions.reset();
    machine.device->Heal();
    machine.device->Crash();
    Status opened = machine.Open();
    ASSERT_TRUE(opened.ok()) << dies_at << ": " << opened.ToString();
    const int found = std::stoi(machine.versions->current()->parameters().at("n"));
    EXPECT_GE(found, acknowledged) << dies_at;
    EXPECT_LE(found, acknowledged + 1) << dies_at;
    ASSERT_TRUE(machine.Install({}).ok());
  }
}

// A copy of the superblock may reach the device before anything else that waits in its cache.
TEST_P(Manifest, ASuperblockThatIsDurableNamesAManifestThatIsDurable) {
  for (uint64_t failing_flush = 0; failing_flush < 3; ++failing_flush) {
    Machine machine(GetParam());
    ASSERT_TRUE(machine.Open().ok());
    ASSERT_TRUE(machine.Install(RealEdit(*machine.allocator, 1, "a")).ok());
    const std::string before = machine.versions->current()->ToString();
    machine.device->FailFlush(failing_flush);
    EXPECT_FALSE(machine.executor.Run(machine.versions->Roll()).ok());
    machine.versions.reset();
    const Layout layout = Layout::ForDevice(kDeviceBytes).value();
    std::array<std::string, kSuperblockCopies> written;
    for (uint32_t copy = 0; copy < kSuperblockCopies; ++copy) {
      written[copy] =
          machine.device->Peek(layout.superblock_offsets()[copy].value, superblock_format::kBytes);
    }
    machine.device->Heal();
    machine.device->Crash();
    for (uint32_t copy = 0; copy < kSuperblockCopies; ++copy) {
      machine.device->Poke(layout.superblock_offsets()[copy].value, written[copy]);
    }
    const Status opened = machine.Open();
    ASSERT_TRUE(opened.ok()) << failing_flush << ": " << opened.ToString();
    EXPECT_EQ(machine.versions->current()->ToString(), before) << failing_flush;
  }
}

TEST_P(Manifest, TheOldOnesSpaceIsKeptUntilTheSuperblockNamesTheNewOne) {
  Machine machine(GetParam());
  ASSERT_TRUE(machine.Open().ok());
  ASSERT_TRUE(machine.Install(RealEdit(*machine.allocator, 1, "a")).ok());
  const uint64_t used = machine.allocator->numbers().used_bytes;
  // The new manifest's snapshot is flushed; the superblock is not.
  machine.device->FailFlush(1);
  EXPECT_FALSE(machine.executor.Run(machine.versions->Roll()).ok());
  // Which of the two is in force nobody knows now.
  EXPECT_GT(machine.allocator->numbers().used_bytes, used);
}

TEST(VersionSet, AnEditThatDoesNotFitIsRefusedAndTheNextOneStillWorks) {
  Machine machine(512);
  ASSERT_TRUE(machine.Open().ok());
  ASSERT_TRUE(machine.Install(RealEdit(*machine.allocator, 1, "a")).ok());
  EXPECT_TRUE(machine.Install(RealEdit(*machine.allocator, 2, "a")).Is(ErrorCode::kCorruption));
  EXPECT_TRUE(machine.Install(RealEdit(*machine.allocator, 2, "b")).ok());
  EXPECT_EQ(machine.released_units, 0u);
}

TEST(VersionSet, AReplacedTableIsReportedOnceNoVersionHoldsIt) {
  Machine machine(512);
  ASSERT_TRUE(machine.Open().ok());
  ASSERT_TRUE(machine.Install(RealEdit(*machine.allocator, 1, "a")).ok());
  std::shared_ptr<const Version> pinned = machine.versions->current();
  VersionEdit edit = RealEdit(*machine.allocator, 2, "a");
  edit.RemoveTable(kTree1, *pinned->tree(1).First());
  ASSERT_TRUE(machine.Install(edit).ok());
  EXPECT_EQ(machine.released_units, 0u);
  pinned.reset();
  EXPECT_EQ(machine.released_units, 1u);
  machine.versions.reset();  // what is live stays
  EXPECT_EQ(machine.released_units, 1u);
}

TEST(VersionSet, InstallsFromManyCoroutinesAreSeenInOneOrder) {
  Machine machine(512);
  ASSERT_TRUE(machine.Open().ok());
  std::vector<Task<Result<std::shared_ptr<const Version>>>> installs;
  for (uint64_t id = 1; id <= 20; ++id) {
    installs.push_back(machine.versions->Install(RealEdit(*machine.allocator, id, fmt::format("{:04}", id))));
  }
  const auto results = machine.executor.Run(WhenAll(std::move(installs)));
  for (const auto& result : results) {
    EXPECT_TRUE(result.ok());
  }
  EXPECT_EQ(machine.versions->current()->tree(1).size(), 20u);
  EXPECT_TRUE(std::is_sorted(machine.installs.begin(), machine.installs.end()));
  EXPECT_EQ(machine.installs.size(), 20u);
}

TEST(VersionSet, ACounterThatAnotherInstallRaisedFurtherStays) {
  Machine machine(512);
  ASSERT_TRUE(machine.Open().ok());
  VersionEdit edit;
  edit.last_sequence = SequenceNumber(50);
  ASSERT_TRUE(machine.Install(edit).ok());
  edit.last_sequence = SequenceNumber(40);
  ASSERT_TRUE(machine.Install(edit).ok());
  EXPECT_EQ(machine.versions->current()->counters().last_sequence, SequenceNumber(50));
}

}  // namespace
}  // namespace varve
