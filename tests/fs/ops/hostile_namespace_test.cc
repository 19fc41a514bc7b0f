// Records that an attacker made: every operation ends, with an error where there is something wrong, whatever
// names, counts and sizes say.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <unistd.h>

#include "engine/base/coding.h"
#include "fs/namespace/namespace_format.h"
#include "fs/ops/check_namespace.h"
#include "tests/fs/ops/record_fixture.h"

namespace varve {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class Problems final : public NamespaceCheckSink {
 public:
  void Problem(const NamespaceProblem& problem) override { found.push_back(problem.what); }
  void Progress(uint64_t /*records*/) override {}

  std::vector<std::string> found;
};

class HostileNamespace : public RecordFixture {
 protected:
  void PutInode(const Inode& inode, std::string_view content = {}) {
    std::string value;
    AppendInode(value, inode, content);
    Put(NamespaceKey::OfInode(inode.number), value);
  }
  static Inode MakeInode(uint64_t number, uint32_t mode) {
    Inode inode;
    inode.number = InodeNumber(number);
    inode.mode = mode;
    inode.parent = kRootInode;
    return inode;
  }
  // A file of the size, all of it a hole unless its count of chunks says otherwise.
  InodeNumber MakeHugeFile(uint64_t size, uint64_t chunk_count) {
    Inode inode = MakeInode(1'000'000, S_IFREG | 0644);
    inode.size = size;
    inode.chunked = true;
    inode.chunk_count = chunk_count;
    PutInode(inode);
    PutReference(kRootInode, "huge", inode.number, S_IFREG);
    const Result<Attributes> found = t_.Run(t_.fs->Lookup(kRootInode, "huge"));
    EXPECT_TRUE(found.ok()) << found.ToString();
    return inode.number;
  }
  std::vector<std::string> NamesIn(InodeNumber directory, bool plus = false) {
    std::vector<std::string> names;
    for (const ListedEntry& entry : t_.List(directory, plus, 2)) {
      names.push_back(entry.name);
      if (entry.counted) {
        t_.fs->Forget(entry.inode, 1);
      }
    }
    return names;
  }
  std::vector<std::string> Check() {
    Problems problems;
    const Result<NamespaceSummary> checked = t_.Run(CheckNamespace(*t_.store, problems));
    EXPECT_TRUE(checked.ok()) << checked.ToString();
    return problems.found;
  }
};

TEST_F(HostileNamespace, NamesThatNoFileMayHaveAreNotShown) {
  const InodeNumber file = t_.Make(kRootInode, "file");
  t_.Make(kRootInode, "other");
  const std::string long_name(900, 'n');
  const std::string_view hostile[] = {
      ".", "..", "a/b", "/", "../../etc", std::string_view("nul\0byte", 8), long_name};
  std::string value;
  AppendReferenceDirent(value, file, S_IFREG);
  for (const std::string_view name : hostile) {
    std::string key(NamespaceKey::Prefix(NamespaceKind::kDirent, kRootInode).view());
    Put(key.append(name), value);
  }
  const std::vector<std::string> sound{".", "..", "file", "other"};
  EXPECT_EQ(NamesIn(kRootInode), sound);
  EXPECT_EQ(NamesIn(kRootInode, true), sound);
  EXPECT_FALSE(t_.Run(t_.fs->Lookup(kRootInode, "a/b")).ok());
  EXPECT_THAT(Check(), Contains(HasSubstr("a name that no file may have")));
}

TEST_F(HostileNamespace, DirectoriesInACircleAreWalkedAndMovedToAnEnd) {
  const InodeNumber a = t_.Make(kRootInode, "a", S_IFDIR | 0755);
  const InodeNumber b = t_.Make(a, "b", S_IFDIR | 0755);
  const InodeNumber c = t_.Make(kRootInode, "c", S_IFDIR | 0755);
  PutReference(b, "up", a, S_IFDIR);
  PutReference(b, "self", b, S_IFDIR);
  Inode circle = MakeInode(a.value, S_IFDIR | 0755);
  circle.parent = b;
  circle.entry_count = circle.subdirectory_count = 1;
  PutInode(circle);
  EXPECT_THAT(NamesIn(b), Contains("self"));
  EXPECT_TRUE(t_.Run(t_.fs->Lookup(b, "up")).ok());
  EXPECT_TRUE(t_.Run(t_.fs->Lookup(a, "..")).ok());
  // The way up from b never comes to the root.
  const Status moved = t_.Run(t_.fs->Rename(kRootInode, "c", b, "c", 0));
  EXPECT_TRUE(moved.Is(ErrorCode::kCorruption)) << moved.ToString();
  EXPECT_TRUE(t_.Run(t_.fs->Lookup(kRootInode, "c")).ok());
  EXPECT_TRUE(t_.Get(c).inode == c);
  EXPECT_THAT(Check(), Contains(HasSubstr("cannot be reached from the root")));
}

TEST_F(HostileNamespace, AFileAsLargeAsFilesMayBeIsReadChangedAndRemoved) {
  for (const uint64_t chunk_count : {uint64_t{0}, uint64_t{1} << 50, UINT64_MAX}) {
    const InodeNumber file = MakeHugeFile(kFileBytesMax, chunk_count);
    EXPECT_EQ(t_.Read(file, kFileBytesMax - 10, 100), std::string(10, '\0'));
    EXPECT_EQ(t_.Read(file, UINT64_MAX - 10, 100), "");
    (void)t_.Get(file);
    (void)t_.Run(t_.fs->Seek(file, kFileBytesMax - 1, SEEK_DATA));
    (void)t_.Run(t_.fs->Seek(file, 0, SEEK_HOLE));
    EXPECT_TRUE(t_.Write(file, 5'000, "written").ok());
    EXPECT_FALSE(t_.Write(file, UINT64_MAX - 3, "written").ok());
    (void)t_.Run(t_.fs->Allocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kFileBytesMax));
    EXPECT_TRUE(t_.Truncate(file, 10'000).ok());
    EXPECT_TRUE(t_.Run(t_.fs->Unlink(kRootInode, "huge")).ok());
    t_.fs->Forget(file, 1);
    EXPECT_TRUE(t_.Run(t_.fs->FinishRemovals()).ok());
  }
}

TEST_F(HostileNamespace, ASizeBeyondTheLargestFileIsDamage) {
  for (const uint64_t size : {kFileBytesMax + 1, uint64_t{1} << 63, UINT64_MAX}) {
    Inode inode = MakeInode(1'000'001, S_IFREG | 0644);
    inode.size = size;
    inode.chunked = true;
    PutInode(inode);
    PutReference(kRootInode, "beyond", inode.number, S_IFREG);
    EXPECT_TRUE(t_.Run(t_.fs->Lookup(kRootInode, "beyond")).status().Is(ErrorCode::kCorruption));
  }
}

TEST_F(HostileNamespace, AChunkLongerThanChunksAreIsDamageWhereverItIsRead) {
  const InodeNumber file = MakeHugeFile(100'000, 1);
  Put(NamespaceKey::Chunk(file, 0), std::string(200'000, 'x'));
  std::string into(100, '?');
  EXPECT_TRUE(t_.Run(t_.fs->Read(file, 0, std::span<char>(into))).status().Is(ErrorCode::kCorruption));
  EXPECT_FALSE(t_.Write(file, 10, "part").ok());
  EXPECT_FALSE(t_.Truncate(file, 100).ok());
  EXPECT_THAT(Check(), Contains(HasSubstr("chunk 0 has 200000 bytes")));
}

TEST_F(HostileNamespace, ASymlinkTooLongIsDamage) {
  Inode link = MakeInode(1'000'002, S_IFLNK | 0777);
  link.size = 5'000;
  PutInode(link, std::string(5'000, 'l'));
  PutReference(kRootInode, "link", link.number, S_IFLNK);
  EXPECT_TRUE(t_.Run(t_.fs->Lookup(kRootInode, "link")).status().Is(ErrorCode::kCorruption));
}

TEST_F(HostileNamespace, ANameAndItsInodeThatDisagreeAreNotRemovedOrMoved) {
  const InodeNumber directory = t_.Make(kRootInode, "directory", S_IFDIR | 0755);
  t_.Make(directory, "content");
  PutReference(kRootInode, "file", directory, S_IFREG);
  EXPECT_TRUE(t_.Run(t_.fs->Unlink(kRootInode, "file")).Is(ErrorCode::kCorruption));
  EXPECT_TRUE(t_.Run(t_.fs->Rename(kRootInode, "file", kRootInode, "moved", 0)).Is(ErrorCode::kCorruption));
  EXPECT_THAT(NamesIn(directory), Contains("content"));
}

TEST_F(HostileNamespace, TheRootMayNotBeGivenANameAndTakenAway) {
  PutReference(kRootInode, "root", kRootInode, S_IFDIR);
  Inode embedded = MakeInode(kRootInode.value, S_IFREG | 0644);
  std::string value;
  AppendEmbeddedDirent(value, embedded, {});
  Put(NamespaceKey::Dirent(kRootInode, "embedded"), value);
  for (const std::string_view name : {"root", "embedded"}) {
    EXPECT_TRUE(t_.Run(t_.fs->Lookup(kRootInode, name)).status().Is(ErrorCode::kCorruption));
    EXPECT_FALSE(t_.Run(t_.fs->RemoveDirectory(kRootInode, name)).ok());
    EXPECT_FALSE(t_.Run(t_.fs->Unlink(kRootInode, name)).ok());
    EXPECT_FALSE(t_.Run(t_.fs->Rename(kRootInode, name, kRootInode, "elsewhere", 0)).ok());
  }
  EXPECT_TRUE(S_ISDIR(t_.Get(kRootInode).mode));
}

TEST_F(HostileNamespace, TruncationsWithoutEndOrFileAreFinished) {
  const InodeNumber file = t_.Make(kRootInode, "file");
  ASSERT_TRUE(t_.Write(file, 0, std::string(20'000, 'x')).ok());
  for (const uint64_t inode : {file.value, uint64_t{77}, UINT64_MAX}) {
    std::string value;
    AppendOrphanTruncation(value, 1, UINT64_MAX);
    Put(NamespaceKey::Orphan(InodeNumber(inode)), value);
  }
  t_.Crash();
  (void)t_.Run(t_.fs->FinishRemovals());
  EXPECT_EQ(t_.Records(static_cast<uint8_t>(NamespaceKind::kOrphan)), 0U);
}

TEST_F(HostileNamespace, CountsThatAreTooSmallOrTooLargeStopNothing) {
  const InodeNumber directory = t_.Make(kRootInode, "directory", S_IFDIR | 0755);
  t_.Make(directory, "a");
  t_.Make(directory, "b");
  Inode inode = MakeInode(directory.value, S_IFDIR | 0755);
  inode.entry_count = 0;
  inode.subdirectory_count = UINT32_MAX;
  inode.nlink = UINT32_MAX;
  PutInode(inode);
  EXPECT_TRUE(t_.Run(t_.fs->Unlink(directory, "a")).ok());
  EXPECT_THAT(NamesIn(directory), Contains("b"));
  EXPECT_FALSE(t_.Run(t_.fs->MakeDirectory(directory, "below", S_IFDIR | 0755, t_.caller)).ok());
  (void)t_.Get(directory);
  EXPECT_THAT(Check(), Contains(HasSubstr("the directory counts")));
}

}  // namespace
}  // namespace varve
