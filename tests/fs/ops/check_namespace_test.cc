// Each kind of damage is planted in a consistent store and must be found; nothing is found where nothing is
// wrong.
#include "fs/ops/check_namespace.h"

#include <algorithm>

#include "engine/base/coding.h"
#include "fs/namespace/namespace_format.h"
#include "tests/fs/ops/record_fixture.h"

namespace varve {
namespace {

class ProblemList final : public NamespaceCheckSink {
 public:
  void Problem(const NamespaceProblem& problem) override {
    problems.push_back(std::to_string(problem.inode.value) + ": " + problem.what);
  }
  void Progress(uint64_t records) override { progress = records; }

  std::vector<std::string> problems;
  uint64_t progress = 0;
};

class CheckNamespaceTest : public RecordFixture {
 protected:
  CheckNamespaceTest() {
    small_ = t_.Make(kRootInode, "small");
    EXPECT_TRUE(t_.Write(small_, 0, "inline").ok());
    large_ = t_.Make(kRootInode, "large");
    EXPECT_TRUE(t_.Write(large_, 0, std::string(20'000, 'x')).ok());
    EXPECT_TRUE(t_.Run(t_.fs->SetXattr(large_, "user.a", "1", {})).ok());
    linked_ = t_.Make(kRootInode, "linked");
    EXPECT_TRUE(t_.Run(t_.fs->Link(linked_, kRootInode, "again")).ok());
    directory_ = t_.Make(kRootInode, "directory", S_IFDIR | 0755);
    below_ = t_.Make(directory_, "below", S_IFDIR | 0755);
    orphan_ = t_.Make(kRootInode, "orphan");
    EXPECT_TRUE(t_.Write(orphan_, 0, std::string(20'000, 'x')).ok());
    EXPECT_TRUE(t_.Run(t_.fs->Unlink(kRootInode, "orphan")).ok());
  }

  std::vector<std::string> Check() {
    ProblemList list;
    const Result<NamespaceSummary> summary = t_.Run(CheckNamespace(*t_.store, list));
    EXPECT_TRUE(summary.ok()) << summary.ToString();
    EXPECT_EQ(summary->problems, list.problems.size());
    summary_ = *summary;
    return list.problems;
  }
  void ExpectFound(const std::string& problem) {
    const std::vector<std::string> problems = Check();
    EXPECT_TRUE(std::any_of(problems.begin(), problems.end(),
                            [&](const std::string& found) { return found.find(problem) != found.npos; }))
        << "not found: " << problem << "; found " << ::testing::PrintToString(problems);
  }

  InodeNumber small_, large_, linked_, directory_, below_, orphan_;
  NamespaceSummary summary_;
};

TEST_F(CheckNamespaceTest, FindsNothingInAStoreThatIsConsistent) {
  EXPECT_EQ(Check(), std::vector<std::string>{});
  EXPECT_EQ(summary_.names, 6u);
  EXPECT_EQ(summary_.files, 3u);
  EXPECT_EQ(summary_.directories, 3u);
  EXPECT_EQ(summary_.orphans, 1u);
  EXPECT_EQ(summary_.xattrs, 1u);
  EXPECT_EQ(summary_.chunks, 10u);
}

TEST_F(CheckNamespaceTest, FindsANameWithoutItsInode) {
  Delete(NamespaceKey::OfInode(linked_));
  ExpectFound("a name refers to an inode that does not exist");
}

TEST_F(CheckNamespaceTest, FindsAnInodeWithoutItsNames) {
  Delete(NamespaceKey::Dirent(kRootInode, "linked"));
  Delete(NamespaceKey::Dirent(kRootInode, "again"));
  ExpectFound("the inode has no name");
}

TEST_F(CheckNamespaceTest, FindsAWrongNumberOfLinks) {
  ChangeRecord(linked_, [](Inode& inode) { inode.nlink = 3; });
  ExpectFound("the inode counts 3 names and has 2");
}

TEST_F(CheckNamespaceTest, FindsWrongDirectoryCounts) {
  ChangeRecord(directory_, [](Inode& inode) { inode.subdirectory_count = 0; });
  ExpectFound("the directory counts 1 entries and 0 subdirectories, and has 1 and 1");
}

TEST_F(CheckNamespaceTest, FindsAnInodeNumberThatIsUsedTwice) {
  Inode copy;
  copy.number = small_;
  copy.mode = S_IFREG | 0644;
  std::string value;
  AppendEmbeddedDirent(value, copy, {});
  Put(NamespaceKey::Dirent(directory_, "copy"), value);
  ExpectFound("the inode number is used more than once");
}

TEST_F(CheckNamespaceTest, FindsChunksWithoutAnOwnerBeyondTheEndAndMissing) {
  Put(NamespaceKey::Chunk(InodeNumber(999), 0), "x");
  ExpectFound("999: chunk 0 belongs to no file");
  Put(NamespaceKey::Chunk(large_, 77), "x");
  ExpectFound("chunk 77 lies beyond the end of the file");
  Delete(NamespaceKey::Chunk(large_, 2));
  ExpectFound("the file counts 5 chunks and has 4");
}

TEST_F(CheckNamespaceTest, TakesTheChunksThatATruncationStillHasToRemoveForGranted) {
  Put(NamespaceKey::Chunk(large_, 77), "x");
  std::string value;
  AppendOrphanTruncation(value, 5, 78);
  Put(NamespaceKey::Orphan(large_), value);
  EXPECT_EQ(Check(), std::vector<std::string>{});
}

TEST_F(CheckNamespaceTest, FindsTimesOfAccessesThatAreNobodys) {
  std::string value;
  AppendAccess(value, {12345, kRootInode, "small"});
  Put(NamespaceKey::Access(small_), value);
  EXPECT_EQ(Check(), std::vector<std::string>{});
  Put(NamespaceKey::Access(large_), value);
  ExpectFound(std::to_string(large_.value) + ": the time of an access belongs to no file");
  Put(NamespaceKey::Access(large_), "\1garbage");
  ExpectFound("the time of an access does not decode");
  value.clear();
  // A file that has had two names says its time itself.
  AppendAccess(value, {12345, kRootInode, "linked"});
  Put(NamespaceKey::Access(linked_), value);
  ExpectFound(std::to_string(linked_.value) + ": the time of an access belongs to no file");
}

TEST_F(CheckNamespaceTest, FindsAttributesThatNobodyOwnsOrKnowsOf) {
  Put(NamespaceKey::Xattr(InodeNumber(999), "user.a"), "x");
  ExpectFound("999: an extended attribute belongs to no file");
  Put(NamespaceKey::Xattr(small_, "user.a"), "x");
  ExpectFound("the inode is wrong about having extended attributes");
}

TEST_F(CheckNamespaceTest, FindsAnOrphanThatHasAName) {
  Inode inode;
  inode.number = small_;
  inode.mode = S_IFREG | 0644;
  std::string value;
  AppendOrphanFile(value, inode, {});
  Put(NamespaceKey::Orphan(small_), value);
  ExpectFound("an orphan has a name");
}

TEST_F(CheckNamespaceTest, FindsNumbersThatWereNotGivenOut) {
  std::string value;
  AppendInodeCounter(value, small_);
  Put(kInodeCounterKey, value);
  ExpectFound("the inode number has not been given out yet");
}

TEST_F(CheckNamespaceTest, FindsDirectoriesThatFormACircle) {
  // "directory" moves below its own child.
  Delete(NamespaceKey::Dirent(kRootInode, "directory"));
  std::string value;
  AppendReferenceDirent(value, directory_, S_IFDIR);
  Put(NamespaceKey::Dirent(below_, "directory"), value);
  ChangeRecord(directory_, [&](Inode& inode) { inode.parent = below_; });
  ExpectFound("the directory cannot be reached from the root");
}

TEST_F(CheckNamespaceTest, FindsRecordsThatDoNotDecode) {
  Put(NamespaceKey::Dirent(kRootInode, "small"), "garbage");
  ExpectFound("the directory's entry \"small\" does not decode");
  Put(NamespaceKey::OfInode(linked_), "garbage");
  ExpectFound("the inode record does not decode");
  Put("\x09unknown", "x");
  ExpectFound("there are records of no known kind");
  Put(std::string("\x03short", 6), "x");
  ExpectFound("a record's key does not decode");
}

TEST_F(CheckNamespaceTest, AReadErrorIsAnErrorAndBlamesNothingElse) {
  const std::string keys[] = {std::string(NamespaceKey::Dirent(kRootInode, "large")),
                              std::string(NamespaceKey::OfInode(directory_)),
                              std::string(NamespaceKey::Chunk(large_, 1))};
  for (const std::string& key : keys) {
    t_.store->set_unreadable_key(key);
    ProblemList list;
    const Result<NamespaceSummary> summary = t_.Run(CheckNamespace(*t_.store, list));
    EXPECT_TRUE(summary.Is(ErrorCode::kDeviceError));
    EXPECT_TRUE(list.problems.empty()) << list.problems.front();
  }
  t_.store->set_unreadable_key("");
}

TEST_F(CheckNamespaceTest, FindsAMissingRoot) {
  Delete(NamespaceKey::OfInode(kRootInode));
  ExpectFound("the root directory is missing");
}

}  // namespace
}  // namespace varve
