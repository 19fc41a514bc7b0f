// Files without names, truncations that are not finished, and what a crash leaves of both.
#include "fs/namespace/namespace_format.h"
#include "tests/fs/ops/ops_fixture.h"

namespace varve {
namespace {

constexpr uint8_t kChunks = 3;
constexpr uint8_t kOrphans = 4;

// 5 MiB: 1,280 chunks of the small format, more than one batch deletes.
InodeNumber MakeLarge(OpsFixture& t, const std::string& name) {
  const InodeNumber file = t.Make(kRootInode, name);
  for (uint64_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(t.Write(file, i << 20, std::string(1 << 20, static_cast<char>('a' + i))).ok());
  }
  return file;
}

TEST(Orphans, AnUnlinkedSmallFileStaysReadableAndWritableAndLeavesNoRecord) {
  OpsFixture t;
  const InodeNumber file = t.Make(kRootInode, "f");
  ASSERT_TRUE(t.Write(file, 0, "hello").ok());
  ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, "f")).ok());
  EXPECT_EQ(t.Records(kOrphans), 0u);
  EXPECT_EQ(t.Read(file), "hello");
  EXPECT_EQ(t.Get(file).nlink, 0u);
  ASSERT_TRUE(t.Write(file, 5, " world").ok());
  EXPECT_EQ(t.Read(file), "hello world");
  t.fs->Forget(file, 1);
  EXPECT_TRUE(t.Run(t.fs->GetAttributes(file)).Is(ErrorCode::kStale));
}

TEST(Orphans, AnUnlinkedSmallFileThatGrowsGetsARecordThatACrashReaps) {
  OpsFixture t;
  const InodeNumber file = t.Make(kRootInode, "f");
  ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, "f")).ok());
  ASSERT_TRUE(t.Write(file, 0, std::string(10'000, 'x')).ok());
  EXPECT_EQ(t.Records(kOrphans), 1u);
  EXPECT_EQ(t.Read(file), std::string(10'000, 'x'));
  t.Crash();
  ASSERT_TRUE(t.Run(t.fs->FinishRemovals()).ok());
  EXPECT_EQ(t.Records(kOrphans), 0u);
  EXPECT_EQ(t.Records(kChunks), 0u);
}

TEST(Orphans, TheChunksOfALargeFileGoWhenTheKernelForgetsIt) {
  OpsFixture t;
  const InodeNumber file = MakeLarge(t, "f");
  const uint64_t writes = t.store->writes();
  ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, "f")).ok());
  EXPECT_EQ(t.store->writes(), writes + 1) << "the name must go in one batch";
  EXPECT_EQ(t.Records(kChunks), 1280u);
  EXPECT_EQ(t.Read(file, (4 << 20) + 5, 3), "eee");
  t.fs->Forget(file, 1);
  ASSERT_TRUE(t.Run(t.fs->FinishRemovals()).ok());
  EXPECT_EQ(t.Records(kChunks), 0u);
  EXPECT_EQ(t.Records(kOrphans), 0u);
}

TEST(Orphans, TheChunksOfALargeFileThatTheKernelDoesNotKnowGoToo) {
  OpsFixture t;
  const InodeNumber file = MakeLarge(t, "f");
  t.fs->Forget(file, 1);
  ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, "f")).ok());
  ASSERT_TRUE(t.Run(t.fs->FinishRemovals()).ok());
  EXPECT_EQ(t.Records(kChunks), 0u);
  EXPECT_EQ(t.Records(kOrphans), 0u);
}

TEST(Orphans, AnUnlinkedFileWithAttributesLosesThemToo) {
  OpsFixture t;
  const InodeNumber file = t.Make(kRootInode, "f");
  ASSERT_TRUE(t.Run(t.fs->SetXattr(file, "user.a", "1", {})).ok());
  ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, "f")).ok());
  EXPECT_EQ(*t.Run(t.fs->GetXattr(file, "user.a")), "1");
  t.fs->Forget(file, 1);
  ASSERT_TRUE(t.Run(t.fs->FinishRemovals()).ok());
  EXPECT_EQ(t.Records(5), 0u);
  EXPECT_EQ(t.Records(kOrphans), 0u);
}

TEST(Orphans, ManyUnlinkedSmallFilesDoNotFillTheMemory) {
  OpsFixture t(MemoryStoreOptions{}, FileSystemOptions{false, false, FormatParameters{64 * 1024, 65536}});
  std::vector<InodeNumber> files;
  for (int i = 0; i < 200; ++i) {
    const std::string name = std::to_string(i);
    files.push_back(t.Make(kRootInode, name));
    ASSERT_TRUE(t.Write(files.back(), 0, std::string(60'000, 'x')).ok());
    ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, name)).ok());
  }
  EXPECT_LT(t.fs->Statistics().node_bytes, 9u << 20);
  EXPECT_GT(t.Records(kOrphans), 0u);
  for (const InodeNumber file : files) {
    EXPECT_EQ(t.Read(file, 59'999), "x");
    t.fs->Forget(file, 1);
  }
  ASSERT_TRUE(t.Run(t.fs->FinishRemovals()).ok());
  EXPECT_EQ(t.Records(kOrphans), 0u);
}

TEST(Orphans, ATruncatedLargeFileReadsAsShortAtOnceAndItsChunksGoLater) {
  OpsFixture t;
  const InodeNumber file = MakeLarge(t, "f");
  ASSERT_TRUE(t.Truncate(file, 100).ok());
  EXPECT_EQ(t.Records(kOrphans), 1u);
  EXPECT_GT(t.Records(kChunks), 512u);
  EXPECT_EQ(t.Read(file), std::string(100, 'a'));
  ASSERT_TRUE(t.Run(t.fs->FinishRemovals()).ok());
  EXPECT_EQ(t.Records(kChunks), 1u);
  EXPECT_EQ(t.Records(kOrphans), 0u);
}

// Whoever makes the file longer removes what is left of it, all at once.
TEST(Orphans, AWriteBehindAnUnfinishedTruncationFinishesIt) {
  OpsFixture t;
  const InodeNumber file = MakeLarge(t, "f");
  ASSERT_TRUE(t.Truncate(file, 0).ok());
  EXPECT_EQ(t.Records(kOrphans), 1u);
  ASSERT_TRUE(t.Write(file, 0, std::string(5000, 'n')).ok());
  EXPECT_EQ(t.Records(kOrphans), 0u);
  EXPECT_EQ(t.Records(kChunks), 2u);
  t.Crash();
  const Result<Attributes> found = t.Run(t.fs->Lookup(kRootInode, "f"));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(t.Read(found->inode), std::string(5000, 'n'));
}

// However large it is, one record deletes its chunks.
TEST(Orphans, ALargeFileGoesInOneBatch) {
  OpsFixture t;
  const InodeNumber file = MakeLarge(t, "f");
  ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, "f")).ok());
  const uint64_t writes = t.store->writes();
  t.fs->Forget(file, 1);
  ASSERT_TRUE(t.Run(t.fs->FinishRemovals()).ok());
  EXPECT_EQ(t.store->writes(), writes + 1);
  EXPECT_EQ(t.Records(kChunks), 0u);
}

TEST(Orphans, AFileThatGrowsAgainBeforeItsTruncationIsFinishedReadsZeros) {
  OpsFixture t;
  const InodeNumber file = MakeLarge(t, "f");
  ASSERT_TRUE(t.Truncate(file, 100).ok());
  ASSERT_TRUE(t.Write(file, (2 << 20) + 7, "z").ok());
  EXPECT_EQ(t.Read(file, 100), std::string((2 << 20) + 7 - 100, '\0') + "z");
}

TEST(Orphans, ACrashBeforeATruncationIsFinishedLeavesItToTheNextMount) {
  OpsFixture t;
  const InodeNumber file = MakeLarge(t, "f");
  ASSERT_TRUE(t.Truncate(file, 100).ok());
  EXPECT_EQ(t.Records(kOrphans), 1u);
  t.Crash();
  const Result<Attributes> found = t.Run(t.fs->Lookup(kRootInode, "f"));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(t.Read(found->inode), std::string(100, 'a'));
  ASSERT_TRUE(t.Truncate(found->inode, 3 << 20).ok());
  EXPECT_EQ(t.Read(found->inode, 100, 1 << 20), std::string(1 << 20, '\0'));
  ASSERT_TRUE(t.Run(t.fs->FinishRemovals()).ok());
  EXPECT_EQ(t.Records(kChunks), 1u);
  EXPECT_EQ(t.Records(kOrphans), 0u);
}

TEST(Orphans, AFileUnlinkedWhileItsTruncationIsUnfinishedLeavesNothing) {
  OpsFixture t;
  const InodeNumber file = MakeLarge(t, "f");
  ASSERT_TRUE(t.Truncate(file, 100).ok());
  ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, "f")).ok());
  t.fs->Forget(file, 1);
  ASSERT_TRUE(t.Run(t.fs->FinishRemovals()).ok());
  EXPECT_EQ(t.Records(kChunks), 0u);
  EXPECT_EQ(t.Records(kOrphans), 0u);
}

TEST(Orphans, ACrashBehindAnUnlinkAndATruncationLeavesNothing) {
  OpsFixture t;
  const InodeNumber file = MakeLarge(t, "f");
  ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, "f")).ok());
  ASSERT_TRUE(t.Truncate(file, 10'000).ok());
  EXPECT_EQ(t.Records(kChunks), 1280u);
  t.Crash();
  ASSERT_TRUE(t.Run(t.fs->FinishRemovals()).ok());
  EXPECT_EQ(t.Records(kChunks), 0u) << "those beyond its size too";
  EXPECT_EQ(t.Records(kOrphans), 0u);
}

TEST(Orphans, OnlyTheChunksOfASparseFileAreSearchedFor) {
  OpsFixture t;
  const auto remove = [&](const std::string& name, InodeNumber file) {
    EXPECT_TRUE(t.Run(t.fs->Unlink(kRootInode, name)).ok());
    const uint64_t before = t.store->walks();
    t.fs->Forget(file, 1);
    EXPECT_TRUE(t.Run(t.fs->FinishRemovals()).ok());
    const uint64_t walks = t.store->walks() - before;
    EXPECT_EQ(t.Records(kChunks), 0u);
    EXPECT_EQ(t.Records(kOrphans), 0u);
    return walks;
  };
  const InodeNumber dense = t.Make(kRootInode, "dense");
  ASSERT_TRUE(t.Write(dense, 0, std::string(20'000, 'd')).ok());
  EXPECT_EQ(t.Records(kChunks), 5u);
  EXPECT_EQ(remove("dense", dense), 0u);
  EXPECT_EQ(remove("large", MakeLarge(t, "large")), 0u);
  const InodeNumber sparse = t.Make(kRootInode, "sparse");
  ASSERT_TRUE(t.Write(sparse, 0, std::string(5'000, 's')).ok());
  ASSERT_TRUE(t.Write(sparse, 100'000, "s").ok());
  EXPECT_EQ(t.Records(kChunks), 3u);
  EXPECT_EQ(remove("sparse", sparse), 1u);
}

TEST(Orphans, ATemporaryFileGetsANameAndKeepsItsBytes) {
  OpsFixture t;
  const Result<Attributes> made = t.Run(t.fs->MakeTemporary(kRootInode, 0600, t.caller));
  ASSERT_TRUE(made.ok());
  ASSERT_TRUE(t.Write(made->inode, 0, std::string(9000, 'q')).ok());
  ASSERT_TRUE(t.Run(t.fs->Link(made->inode, kRootInode, "named")).ok());
  t.Crash();
  ASSERT_TRUE(t.Run(t.fs->FinishRemovals()).ok());
  const Result<Attributes> found = t.Run(t.fs->Lookup(kRootInode, "named"));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->nlink, 1u);
  EXPECT_EQ(t.Read(found->inode), std::string(9000, 'q'));
}

TEST(Orphans, ARemovedDirectoryTakesNoNewNames) {
  OpsFixture t;
  const InodeNumber directory = t.Make(kRootInode, "d", S_IFDIR | 0755);
  ASSERT_TRUE(t.Run(t.fs->RemoveDirectory(kRootInode, "d")).ok());
  EXPECT_EQ(t.Get(directory).nlink, 0u);
  EXPECT_TRUE(t.Run(t.fs->MakeNode(directory, "f", S_IFREG, 0, t.caller)).Is(ErrorCode::kNotFound));
  EXPECT_EQ(t.List(directory).size(), 2u);
}

TEST(Orphans, ADurableWriteIntoAFileWithoutANameMakesDurableWhatWasDoneBefore) {
  OpsFixture t;
  const InodeNumber file = t.Make(kRootInode, "file");
  ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, "file")).ok());
  const uint64_t before = t.store->syncs();
  WriteFlags flags;
  flags.durable = true;
  ASSERT_TRUE(t.Run(t.fs->Write(file, 0, "small", flags)).ok());
  EXPECT_EQ(t.store->syncs(), before + 1);
}

}  // namespace
}  // namespace varve
