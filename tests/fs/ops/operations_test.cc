// What the model test does not reach: failures of the store, limits, options.
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>

#include "fs/namespace/namespace_format.h"
#include "fs/ops/errno_map.h"
#include "tests/fs/ops/ops_fixture.h"

namespace varve {
namespace {

TEST(Operations, AFullStoreRefusesWhatGrowsChangesNothingAndTakesDeletions) {
  OpsFixture t;
  const InodeNumber file = t.Make(kRootInode, "f");
  ASSERT_TRUE(t.Write(file, 0, std::string(20'000, 'a')).ok());
  const std::vector<std::pair<std::string, std::string>> before = t.store->Dump();
  t.store->set_full(true);
  EXPECT_TRUE(t.Write(file, 100, "bbb").Is(ErrorCode::kNoSpace));
  EXPECT_TRUE(t.Run(t.fs->MakeNode(kRootInode, "g", S_IFREG, 0, t.caller)).Is(ErrorCode::kNoSpace));
  EXPECT_TRUE(t.Run(t.fs->Rename(kRootInode, "f", kRootInode, "h", 0)).Is(ErrorCode::kNoSpace));
  EXPECT_EQ(t.store->Dump(), before);
  EXPECT_EQ(t.Read(file), std::string(20'000, 'a'));
  EXPECT_TRUE(t.Truncate(file, 5000).ok());
  EXPECT_TRUE(t.Run(t.fs->Unlink(kRootInode, "f")).ok());
  t.fs->Forget(file, 1);
  EXPECT_TRUE(t.Run(t.fs->FinishRemovals()).ok());
  EXPECT_EQ(t.Records(3), 0u);
  t.store->set_full(false);
  t.Make(kRootInode, "g");
}

TEST(Operations, AReadThatTheDeviceFailsIsAnErrorAndOtherFilesStayReadable) {
  OpsFixture t;
  const InodeNumber file = t.Make(kRootInode, "f");
  ASSERT_TRUE(t.Write(file, 0, std::string(20'000, 'a')).ok());
  const InodeNumber other = t.Make(kRootInode, "g");
  ASSERT_TRUE(t.Write(other, 0, "fine").ok());
  t.store->set_unreadable_key(std::string(NamespaceKey::Chunk(file, 1)));
  std::string into(20'000, '?');
  EXPECT_TRUE(t.Run(t.fs->Read(file, 0, std::span<char>(into))).Is(ErrorCode::kDeviceError));
  EXPECT_EQ(t.Read(file, 0, 4096), std::string(4096, 'a'));
  EXPECT_TRUE(t.Write(file, 4096 + 5, "x").Is(ErrorCode::kDeviceError)) << "a partial overwrite must read";
  EXPECT_TRUE(t.Write(file, 4096, std::string(4096, 'n')).ok()) << "a whole one need not";
  EXPECT_EQ(t.Read(other), "fine");
}

TEST(Operations, ADamagedRecordIsCorruptionAndNotACrash) {
  OpsFixture t;
  const InodeNumber file = t.Make(kRootInode, "f");
  WriteBatch batch;
  batch.Put(NamespaceKey::Dirent(kRootInode, "f"), "garbage");
  ASSERT_TRUE(t.Run(t.store->Write(batch, Durability::kInterval)).ok());
  EXPECT_TRUE(t.Run(t.fs->Lookup(kRootInode, "f")).Is(ErrorCode::kCorruption));
  EXPECT_TRUE(t.Run(t.fs->GetAttributes(file)).Is(ErrorCode::kCorruption));
  EXPECT_TRUE(t.Run(t.fs->Unlink(kRootInode, "f")).Is(ErrorCode::kCorruption));
}

TEST(Operations, AReadOnlyMountChangesNothing) {
  MemoryStore store;
  ManualClock clock;
  NullLogger logger;
  LocalExecutor executor(clock);
  const FileSystemEnvironment environment{store, clock, logger, executor};
  const FileSystemOptions read_only{true, false, FormatParameters{}};
  EXPECT_TRUE(executor.Run(FileSystem::Mount(environment, read_only)).Is(ErrorCode::kReadOnly));
  ASSERT_TRUE(executor.Run(FormatNamespace(store, clock, FormatParameters{}, 7, 8)).ok());
  EXPECT_TRUE(executor.Run(FormatNamespace(store, clock, FormatParameters{}, 7, 8)).Is(ErrorCode::kExists));
  Result<std::unique_ptr<FileSystem>> mounted = executor.Run(FileSystem::Mount(environment, read_only));
  ASSERT_TRUE(mounted.ok()) << mounted.ToString();
  const uint64_t writes = store.writes();
  FileSystem& fs = **mounted;
  EXPECT_EQ(executor.Run(fs.GetAttributes(kRootInode))->uid, 7u);
  EXPECT_TRUE(executor.Run(fs.MakeNode(kRootInode, "f", S_IFREG, 0, Caller{})).Is(ErrorCode::kReadOnly));
  EXPECT_TRUE(executor.Run(fs.ChangeAttributes(kRootInode, SetAttributes{})).Is(ErrorCode::kReadOnly));
  EXPECT_TRUE(executor.Run(fs.Unlink(kRootInode, "f")).Is(ErrorCode::kReadOnly));
  EXPECT_TRUE(executor.Run(fs.Unmount()).ok());
  EXPECT_EQ(store.writes(), writes);
}

TEST(Operations, ASyncMountMakesEveryChangeDurable) {
  OpsFixture t(MemoryStoreOptions{}, FileSystemOptions{false, true, OpsFixture::SmallFormat()});
  const uint64_t syncs = t.store->syncs();
  t.Make(kRootInode, "f");
  EXPECT_EQ(t.store->syncs(), syncs + 1);
}

TEST(Operations, OnlyADurableWriteAndSyncAskTheStoreForDurability) {
  OpsFixture t;
  const InodeNumber file = t.Make(kRootInode, "f");
  const uint64_t syncs = t.store->syncs();
  ASSERT_TRUE(t.Write(file, 0, "x").ok());
  EXPECT_EQ(t.store->syncs(), syncs);
  ASSERT_TRUE(t.Run(t.fs->Write(file, 0, "y", WriteFlags{false, true})).ok());
  EXPECT_EQ(t.store->syncs(), syncs + 1);
  ASSERT_TRUE(t.Run(t.fs->Sync()).ok());
  EXPECT_EQ(t.store->syncs(), syncs + 2);
}

TEST(Operations, CreatingASmallFileIsOneBatchOfTwoRecordsAndReadingItOneLookup) {
  OpsFixture t;
  t.Make(kRootInode, "warm");
  uint64_t writes = t.store->writes();
  uint64_t bytes = t.store->written_bytes();
  const InodeNumber file = t.Make(kRootInode, "f");
  EXPECT_EQ(t.store->writes(), writes + 1);
  EXPECT_LT(t.store->written_bytes() - bytes, 110u);
  writes = t.store->writes();
  bytes = t.store->written_bytes();
  ASSERT_TRUE(t.Write(file, 0, std::string(1000, 'x')).ok());
  EXPECT_EQ(t.store->writes(), writes + 1);
  EXPECT_LT(t.store->written_bytes() - bytes, 1060u);
  const uint64_t gets = t.store->gets();
  t.Read(file);
  EXPECT_EQ(t.store->gets(), gets + 1);
}

TEST(Operations, LimitsAreAnsweredWithTheirErrors) {
  OpsFixture t;
  const InodeNumber file = t.Make(kRootInode, "f");
  EXPECT_TRUE(t.Write(file, kFileBytesMax - 1, "xy").Is(ErrorCode::kTooLarge));
  EXPECT_TRUE(t.Truncate(file, kFileBytesMax + 1).Is(ErrorCode::kTooLarge));
  EXPECT_TRUE(t.Run(t.fs->Allocate(file, 0, kFileBytesMax, 1)).Is(ErrorCode::kTooLarge));
  EXPECT_TRUE(t.Run(t.fs->Allocate(file, FALLOC_FL_COLLAPSE_RANGE, 0, 4096)).Is(ErrorCode::kUnsupported));
  const std::string long_name(256, 'n');
  EXPECT_TRUE(t.Run(t.fs->Lookup(kRootInode, long_name)).Is(ErrorCode::kNameTooLong));
  EXPECT_TRUE(t.Run(t.fs->Rename(kRootInode, "f", kRootInode, long_name, 0)).Is(ErrorCode::kNameTooLong));
  const std::string long_target(4096, 't');
  EXPECT_TRUE(t.Run(t.fs->MakeSymlink(kRootInode, "s", long_target, t.caller)).Is(ErrorCode::kNameTooLong));
  const std::string big_value(65'537, 'v');
  EXPECT_TRUE(t.Run(t.fs->SetXattr(file, "user.big", big_value, {})).Is(ErrorCode::kNoSpace));
  EXPECT_TRUE(t.Run(t.fs->SetXattr(file, "system.nfs4_acl", "x", {})).Is(ErrorCode::kUnsupported));
  EXPECT_TRUE(
      t.Run(t.fs->Rename(kRootInode, "f", kRootInode, "g", RENAME_WHITEOUT)).Is(ErrorCode::kInvalidArgument));
}

TEST(Operations, AFileOfManyTerabytesIsSparse) {
  OpsFixture t;
  const InodeNumber file = t.Make(kRootInode, "f");
  ASSERT_TRUE(t.Truncate(file, uint64_t{1} << 50).ok());
  ASSERT_TRUE(t.Write(file, (uint64_t{1} << 50) - 3, "end").ok());
  EXPECT_EQ(t.Read(file, (uint64_t{1} << 50) - 5, 100), std::string("\0\0end", 5));
  EXPECT_EQ(t.Get(file).blocks, 8u);
  EXPECT_EQ(*t.Run(t.fs->Seek(file, 0, SEEK_DATA)), (uint64_t{1} << 50) - 4096);
}

TEST(Operations, TheThousandthLinkOfAFileIsAsGoodAsTheFirst) {
  OpsFixture t;
  const InodeNumber file = t.Make(kRootInode, "f");
  ASSERT_TRUE(t.Write(file, 0, "shared").ok());
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "l" + std::to_string(i);
    ASSERT_TRUE(t.Run(t.fs->Link(file, kRootInode, name)).ok());
  }
  EXPECT_EQ(t.Get(file).nlink, 1001u);
  ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, "f")).ok());
  t.Crash();
  const Result<Attributes> found = t.Run(t.fs->Lookup(kRootInode, "l999"));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->inode, file);
  EXPECT_EQ(found->nlink, 1000u);
  EXPECT_EQ(t.Read(found->inode), "shared");
}

TEST(Operations, InodeNumbersAreStableAndNeverReusedAcrossMounts) {
  OpsFixture t;
  const InodeNumber first = t.Make(kRootInode, "f");
  t.Crash();
  EXPECT_EQ(t.Run(t.fs->Lookup(kRootInode, "f"))->inode, first);
  ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, "f")).ok());
  EXPECT_GT(t.Make(kRootInode, "g"), first);
}

TEST(Operations, ANodeThatTheKernelDoesNotKnowIsStale) {
  OpsFixture t;
  EXPECT_TRUE(t.Run(t.fs->GetAttributes(InodeNumber(99))).Is(ErrorCode::kStale));
  EXPECT_TRUE(t.Write(InodeNumber(99), 0, "x").Is(ErrorCode::kStale));
  t.fs->Forget(InodeNumber(99), 5);
  t.fs->Forget(kRootInode, 1000);
  EXPECT_TRUE(t.Run(t.fs->GetAttributes(kRootInode)).ok());
}

TEST(Operations, DotAndDotDotAreLookedUpAndCounted) {
  OpsFixture t;
  const InodeNumber directory = t.Make(kRootInode, "d", S_IFDIR | 0755);
  const InodeNumber below = t.Make(directory, "e", S_IFDIR | 0755);
  EXPECT_EQ(t.Run(t.fs->Lookup(below, ".."))->inode, directory);
  EXPECT_EQ(t.Run(t.fs->Lookup(below, "."))->inode, below);
  EXPECT_EQ(t.Run(t.fs->Lookup(kRootInode, ".."))->inode, kRootInode);
  EXPECT_TRUE(t.Run(t.fs->RemoveDirectory(directory, "..")).Is(ErrorCode::kInvalidArgument));
}

TEST(Operations, EveryErrorCodeHasAnErrno) {
  EXPECT_EQ(ErrnoOf(ErrorCode::kNotFound), ENOENT);
  EXPECT_EQ(ErrnoOf(ErrorCode::kCorruption), EIO);
  EXPECT_EQ(ErrnoOf(ErrorCode::kReadOnly), EROFS);
  EXPECT_EQ(ErrnoOf(ErrorCode::kNoData), ENXIO);
  EXPECT_EQ(ErrnoOf(ErrorCode::kNoAttribute), ENODATA);
  for (int code = 1; code <= static_cast<int>(ErrorCode::kNoData); ++code) {
    EXPECT_GT(ErrnoOf(static_cast<ErrorCode>(code)), 0);
  }
}

// A reader knows a file in chunks from one read to the next, and sees each change of it all the same.
TEST(Operations, WhatWasReadOfALargeFileIsKnownUntilItChanges) {
  OpsFixture t;
  const InodeNumber file = t.Make(kRootInode, "file", S_IFREG | 0644);
  ASSERT_TRUE(t.Write(file, 0, std::string(20'000, 'a')).ok());
  ASSERT_EQ(t.Read(file), std::string(20'000, 'a'));  // notes the access
  ASSERT_EQ(t.Read(file), std::string(20'000, 'a'));
  const RecentFiles::Known* known = t.recent.Find(file);
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->inode.size, 20'000U);
  EXPECT_EQ(t.recent.Find(InodeNumber(file.value + 1)), nullptr);
  // More of it, less of it, other bytes, and none of them in chunks.
  ASSERT_TRUE(t.Write(file, 20'000, std::string(5'000, 'b')).ok());
  EXPECT_EQ(t.Read(file, 19'990, 100), "aaaaaaaaaa" + std::string(90, 'b'));
  SetAttributes shorter;
  shorter.size = 9'000;
  ASSERT_TRUE(t.Run(t.fs->ChangeAttributes(file, shorter)).ok());
  EXPECT_EQ(t.Read(file), std::string(9'000, 'a'));
  EXPECT_EQ(t.Read(file), std::string(9'000, 'a'));
  ASSERT_TRUE(t.Write(file, 100, "c").ok());
  EXPECT_EQ(t.Read(file, 99, 3), "aca");
  shorter.size = 10;
  ASSERT_TRUE(t.Run(t.fs->ChangeAttributes(file, shorter)).ok());
  EXPECT_EQ(t.Read(file), std::string(10, 'a'));
}

}  // namespace
}  // namespace varve
