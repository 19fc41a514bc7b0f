// What `varve fsck` answers: exit codes for what is sound, damaged, mended, and left alone.
#include "tools/fsck.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>

#include "engine/space/layout.h"
#include "engine/store/format_store.h"
#include "engine/store/store_at_rest.h"
#include "fs/namespace/namespace_format.h"
#include "fs/ops/path.h"
#include "tests/support/image_file.h"
#include "tools/device_store.h"
#include "tools/fsck_report.h"
#include "tools/streams.h"

namespace varve {
namespace {

constexpr uint64_t kImageBytes = 64 * kMiB;

class FsckTest : public ::testing::Test {
 protected:
  FsckTest() {
    Result<std::unique_ptr<OpenedDevice>> device = OpenedDevice::Open(image_.path(), Access::kWrite);
    EXPECT_TRUE(device.ok()) << device.ToString();
    FormatStoreOptions format;
    format.uuid = MakeUuid(1, 2);
    EXPECT_TRUE((*device)->Run(FormatStore((*device)->device(), (*device)->clock(), std::move(format))).ok());
    device->reset();
    WithFiles([](DeviceStore& opened) {
      for (const char* path : {"d/one", "d/two", "three"}) {
        const std::string content(30'000, path[2]);
        StringSource source(content);
        EXPECT_TRUE(opened.Run(WriteWhole(opened.fs(), path, source, WriteWholeOptions())).ok());
      }
    });
  }

  template <typename Work>
  void WithFiles(Work work) {
    Result<std::unique_ptr<DeviceStore>> opened = DeviceStore::Open(image_.path(), Access::kWrite);
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    work(**opened);
    ASSERT_TRUE((*opened)->Close().ok());
  }
  void DeleteRecord(std::string_view key) {
    WithFiles([key](DeviceStore& opened) {
      WriteBatch batch;
      batch.Delete(key);
      EXPECT_TRUE(opened.Run(opened.store().Write(batch, Durability::kDurable)).ok());
    });
  }
  InodeNumber DirectoryInode() {
    InodeNumber inode;
    WithFiles([&inode](DeviceStore& opened) {
      const Result<Attributes> found = opened.Run(StatPath(opened.fs(), "d"));
      inode = found.ok() ? found->inode : InodeNumber();
    });
    return inode;
  }
  StoreAtRest AtRest() {
    Result<std::unique_ptr<OpenedDevice>> device = OpenedDevice::Open(image_.path(), Access::kRead);
    Result<StoreAtRest> store = (*device)->Run(ReadStoreAtRest((*device)->device(), nullptr));
    EXPECT_TRUE(store.ok()) << store.ToString();
    return std::move(*store);
  }
  void Damage(uint64_t offset) {
    std::fstream file(image_.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file << "damage";
  }
  std::string Content() {
    std::ifstream file(image_.path(), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  int Fsck(bool repair, bool quick = false) {
    return RunFsck({.device = image_.path(), .repair = repair, .deep = false, .quick = quick});
  }
  std::string Read(std::string_view path) {
    StringSink sink;
    WithFiles([&](DeviceStore& opened) { EXPECT_TRUE(opened.Run(ReadWhole(opened.fs(), path, sink)).ok()); });
    return sink.bytes();
  }

  ImageFile image_{kImageBytes};
};

TEST_F(FsckTest, ASoundStoreIsCleanAndStaysSo) {
  EXPECT_EQ(Fsck(false), kFsckClean);
  EXPECT_EQ(Fsck(true), kFsckClean);
  EXPECT_EQ(Fsck(false, true), kFsckClean);
}

TEST_F(FsckTest, ABadSuperblockCopyIsMendedAlsoWithoutReadingEverything) {
  for (const bool quick : {false, true}) {
    Damage(kFirstSuperblockOffset + 100);
    EXPECT_EQ(Fsck(false), kFsckDamaged);
    EXPECT_EQ(Fsck(false), kFsckDamaged) << "a check without repair has written";
    EXPECT_EQ(Fsck(true, quick), kFsckCorrected);
    EXPECT_EQ(Fsck(false), kFsckClean);
  }
}

TEST_F(FsckTest, LostNamesAreMendedAndContentIsAsItWas) {
  const InodeNumber directory = DirectoryInode();
  DeleteRecord(NamespaceKey::Dirent(kRootInode, "d"));
  EXPECT_EQ(Fsck(false), kFsckDamaged);
  EXPECT_EQ(Fsck(true), kFsckCorrected);
  EXPECT_EQ(Fsck(false), kFsckClean);
  EXPECT_EQ(Read("lost+found/" + std::to_string(directory.value) + "/one"), std::string(30'000, 'o'));
  EXPECT_EQ(Read("three"), std::string(30'000, 'r'));
}

TEST_F(FsckTest, WhatIsMendedAndWhatIsLeftAddUp) {
  WithFiles([](DeviceStore& opened) {
    WriteBatch batch;
    batch.Put("\x09unknown", "x");
    batch.Put(NamespaceKey::Chunk(InodeNumber(999), 0), "x");
    EXPECT_TRUE(opened.Run(opened.store().Write(batch, Durability::kDurable)).ok());
  });
  EXPECT_EQ(Fsck(true), kFsckCorrected | kFsckDamaged);
  EXPECT_EQ(Fsck(true), kFsckDamaged);
}

TEST_F(FsckTest, NamesAreNotMendedWhileABlockIsDamaged) {
  DeleteRecord(NamespaceKey::Dirent(kRootInode, "d"));
  const StoreAtRest store = AtRest();
  const Extent extent = store.manifest.version.level0().front().table->view().extents.front().extent;
  Damage(extent.offset().value + 3);
  EXPECT_EQ(Fsck(true), kFsckDamaged);
  const StoreAtRest after = AtRest();
  EXPECT_EQ(after.manifest.edits, store.manifest.edits) << "something was written";
}

TEST_F(FsckTest, NothingIsWrittenWhereTheManifestIsDamaged) {
  Damage(AtRest().superblock.manifest.extents.front().offset().value + 40);
  Damage(kFirstSuperblockOffset + 100);
  const std::string before = Content();
  EXPECT_EQ(Fsck(true), kFsckDamaged);
  EXPECT_EQ(Content(), before);
}

TEST_F(FsckTest, ADamagedLogIsCutOnlyWhenThatIsAskedFor) {
  std::string crashed;
  WithFiles([&](DeviceStore& opened) {
    for (const char* path : {"four", "five", "six"}) {
      StringSource source("text");
      EXPECT_TRUE(opened.Run(WriteWhole(opened.fs(), path, source, WriteWholeOptions())).ok());
      EXPECT_TRUE(opened.Run(opened.fs().Sync()).ok());
    }
    crashed = Content();
  });
  std::ofstream(image_.path(), std::ios::binary) << crashed;
  // The first segment of the newest epoch is the one that was written; behind its header lies the first
  // group.
  const StoreAtRest store = AtRest();
  const std::vector<WalSegment>& segments = store.manifest.version.wal_segments();
  const auto written = std::find_if(segments.begin(), segments.end(), [&](const WalSegment& segment) {
    return segment.epoch == segments.back().epoch;
  });
  Damage(crashed.find_first_not_of('\0', written->extent.offset().value + 512) + 20);
  const std::string damaged = Content();
  EXPECT_EQ(Fsck(false), kFsckDamaged);
  EXPECT_EQ(Fsck(true), kFsckDamaged);
  EXPECT_EQ(Content(), damaged);
  EXPECT_EQ(RunFsck({.device = image_.path(), .repair = true, .cut_log = true}), kFsckCorrected);
  EXPECT_EQ(Fsck(false), kFsckClean);
  EXPECT_EQ(Read("three"), std::string(30'000, 'r'));
  WithFiles([](DeviceStore& opened) { EXPECT_FALSE(opened.Run(StatPath(opened.fs(), "six")).ok()); });
}

TEST_F(FsckTest, WhatIsNoStoreCannotBeChecked) {
  EXPECT_EQ(RunFsck({.device = "/nonexistent/device"}), kFsckOperational);
  const ImageFile empty(kImageBytes);
  EXPECT_EQ(RunFsck({.device = empty.path(), .repair = true}), kFsckOperational);
}

}  // namespace
}  // namespace varve
