// Each kind of damage is planted, mended, and must be gone for a second check; what was sound must be as it
// was.
#include "fs/ops/repair_namespace.h"

#include <algorithm>
#include <functional>
#include <map>

#include "fs/namespace/namespace_format.h"
#include "fs/ops/check_namespace.h"
#include "tests/fs/ops/record_fixture.h"

namespace varve {
namespace {

using Records = std::map<std::string, std::string>;

class Outcomes final : public RepairSink {
 public:
  void Mended(std::string_view path, const NamespaceProblem& problem, std::string_view outcome) override {
    mended.push_back(std::string(path) + ": " + problem.what + ": " + std::string(outcome));
  }
  void Left(std::string_view path, const NamespaceProblem& problem) override {
    left.push_back(std::string(path) + ": " + problem.what);
  }
  void Progress(uint64_t /*records*/) override {}

  std::vector<std::string> mended;
  std::vector<std::string> left;
};

class NoProblem final : public NamespaceCheckSink {
 public:
  void Problem(const NamespaceProblem& problem) override {
    ADD_FAILURE() << "inode " << problem.inode.value << ": " << problem.what;
  }
  void Progress(uint64_t) override {}
};

class RepairNamespaceTest : public RecordFixture {
 protected:
  RepairNamespaceTest() {
    small_ = t_.Make(kRootInode, "small");
    EXPECT_TRUE(t_.Write(small_, 0, "inline").ok());
    large_ = t_.Make(kRootInode, "large");
    EXPECT_TRUE(t_.Write(large_, 0, std::string(20'000, 'x')).ok());
    EXPECT_TRUE(t_.Run(t_.fs->SetXattr(large_, "user.a", "1", {})).ok());
    linked_ = t_.Make(kRootInode, "linked");
    EXPECT_TRUE(t_.Write(linked_, 0, std::string(9'000, 'l')).ok());
    EXPECT_TRUE(t_.Run(t_.fs->Link(linked_, kRootInode, "again")).ok());
    directory_ = t_.Make(kRootInode, "directory", S_IFDIR | 0755);
    below_ = t_.Make(directory_, "below", S_IFDIR | 0755);
    deep_ = t_.Make(below_, "deep");
    EXPECT_TRUE(t_.Write(deep_, 0, "deep").ok());
    t_.Unmount();
  }

  void ChangeEmbedded(std::string_view name, const std::function<void(Inode&)>& change) {
    const std::string old = ValueOf(NamespaceKey::Dirent(kRootInode, name));
    const Result<DirentRecord> dirent = DecodeDirent(old);
    Inode changed = dirent->embedded->inode;
    change(changed);
    std::string value;
    AppendEmbeddedDirent(value, changed, dirent->embedded->content);
    Put(NamespaceKey::Dirent(kRootInode, name), value);
  }
  Records Dump() {
    Records records;
    for (auto& [key, value] : t_.store->Dump()) {
      records.emplace(key, value);
    }
    return records;
  }

  // Mends, and sees that nothing is left and that a second check and a second repair find nothing.
  Outcomes Repair() {
    Outcomes outcomes;
    const Result<RepairSummary> repaired = t_.Run(RepairNamespace(*t_.store, t_.clock, outcomes));
    EXPECT_TRUE(repaired.ok()) << repaired.ToString();
    EXPECT_EQ(repaired->mended, outcomes.mended.size());
    EXPECT_EQ(repaired->last.problems, outcomes.left.size());
    return outcomes;
  }
  void ExpectMended(const std::string& what) {
    const Outcomes outcomes = Repair();
    EXPECT_TRUE(outcomes.left.empty()) << ::testing::PrintToString(outcomes.left);
    EXPECT_TRUE(std::any_of(outcomes.mended.begin(), outcomes.mended.end(),
                            [&](const std::string& found) { return found.find(what) != found.npos; }))
        << "not mended: " << what << "; mended " << ::testing::PrintToString(outcomes.mended);
    NoProblem none;
    EXPECT_TRUE(t_.Run(CheckNamespace(*t_.store, none)).ok());
    const Records before = Dump();
    EXPECT_TRUE(Repair().mended.empty());
    EXPECT_EQ(Dump(), before);
  }
  void ExpectSound() {
    t_.Mount();
    EXPECT_EQ(t_.Read(Find("small")), "inline");
    EXPECT_EQ(t_.Read(Find("large")), std::string(20'000, 'x'));
    t_.Unmount();
  }
  // By path; the filesystem is mounted.
  InodeNumber Find(const std::string& path) {
    InodeNumber at = kRootInode;
    for (size_t from = 0; from <= path.size();) {
      const size_t slash = std::min(path.find('/', from), path.size());
      const Result<Attributes> found = t_.Run(t_.fs->Lookup(at, path.substr(from, slash - from)));
      if (!found.ok()) {
        return InodeNumber(0);
      }
      at = found->inode;
      from = slash + 1;
    }
    return at;
  }

  InodeNumber small_, large_, linked_, directory_, below_, deep_;
};

TEST_F(RepairNamespaceTest, ChangesNothingInAStoreThatIsSound) {
  const Records before = Dump();
  const Outcomes outcomes = Repair();
  EXPECT_TRUE(outcomes.mended.empty());
  EXPECT_EQ(Dump(), before);
}

TEST_F(RepairNamespaceTest, RemovesANameWithoutItsInode) {
  PutReference(directory_, "gone", InodeNumber(4000), S_IFREG);
  ChangeRecord(directory_, [](Inode& inode) { ++inode.entry_count; });
  ExpectMended(
      "/directory/gone: a name refers to an inode that does not exist: removed the name /directory/gone");
  EXPECT_FALSE(Dump().contains(std::string(NamespaceKey::Dirent(directory_, "gone").view())));
  ExpectSound();
}

TEST_F(RepairNamespaceTest, AFileWithoutANameGetsOneInLostAndFoundWithItsContent) {
  Delete(NamespaceKey::Dirent(kRootInode, "linked"));
  Delete(NamespaceKey::Dirent(kRootInode, "again"));
  ExpectMended("the inode has no name: linked as /lost+found/" + std::to_string(linked_.value));
  t_.Mount();
  const InodeNumber found = Find("lost+found/" + std::to_string(linked_.value));
  EXPECT_EQ(found, linked_);
  EXPECT_EQ(t_.Read(found), std::string(9'000, 'l'));
  EXPECT_EQ(t_.Get(found).nlink, 1u);
  EXPECT_EQ(t_.Get(Find("lost+found")).mode, uint32_t{S_IFDIR | 0700});
  t_.Unmount();
  ExpectSound();
}

TEST_F(RepairNamespaceTest, AFileThatHadBeenDeletedIsRemovedAndItsChunksWithIt) {
  Delete(NamespaceKey::Dirent(kRootInode, "linked"));
  Delete(NamespaceKey::Dirent(kRootInode, "again"));
  ChangeRecord(linked_, [](Inode& inode) { inode.nlink = 0; });
  ExpectMended("the inode has no name: removed");
  ExpectSound();  // the mount removes what the file had
  EXPECT_FALSE(Dump().contains(std::string(NamespaceKey::Chunk(linked_, 0).view())));
  EXPECT_FALSE(Dump().contains(std::string(NamespaceKey::Orphan(linked_).view())));
}

TEST_F(RepairNamespaceTest, ADirectoryWithoutANameComesBackWithAllItHolds) {
  Delete(NamespaceKey::Dirent(kRootInode, "directory"));
  ExpectMended("linked as /lost+found/" + std::to_string(directory_.value));
  t_.Mount();
  EXPECT_EQ(t_.Read(Find("lost+found/" + std::to_string(directory_.value) + "/below/deep")), "deep");
  EXPECT_EQ(t_.Get(Find("lost+found")).nlink, 3u);
  t_.Unmount();
  ExpectSound();
}

TEST_F(RepairNamespaceTest, ALostAndFoundThatIsThereIsUsedAndANameThatIsTakenIsNot) {
  t_.Mount();
  const InodeNumber place = t_.Make(kRootInode, "lost+found", S_IFDIR | 0755);
  t_.Make(place, std::to_string(linked_.value));
  t_.Unmount();
  Delete(NamespaceKey::Dirent(kRootInode, "linked"));
  Delete(NamespaceKey::Dirent(kRootInode, "again"));
  ExpectMended("linked as /lost+found/" + std::to_string(linked_.value) + ".2");
  ExpectSound();
}

TEST_F(RepairNamespaceTest, AFileOfThatNameIsNotTakenForTheDirectory) {
  t_.Mount();
  t_.Make(kRootInode, "lost+found");
  t_.Unmount();
  Delete(NamespaceKey::Dirent(kRootInode, "directory"));
  ExpectMended("linked as /lost+found.2/" + std::to_string(directory_.value));
  ExpectSound();
}

TEST_F(RepairNamespaceTest, CorrectsCounts) {
  ChangeRecord(linked_, [](Inode& inode) { inode.nlink = 3; });
  ChangeRecord(directory_, [](Inode& inode) { inode.subdirectory_count = 7; });
  ChangeRecord(kRootInode, [](Inode& inode) { inode.entry_count = 0; });
  ChangeEmbedded("small", [](Inode& inode) { inode.nlink = 2; });
  ExpectMended("/again: the inode counts 3 names and has 2: corrected");
  t_.Mount();
  EXPECT_EQ(t_.Get(Find("linked")).nlink, 2u);
  EXPECT_EQ(t_.Get(Find("small")).nlink, 1u);
  EXPECT_EQ(t_.Get(Find("directory")).nlink, 3u);
  t_.Unmount();
  ExpectSound();
}

TEST_F(RepairNamespaceTest, ALostDirectoryIsMadeAnewWhereItsNameIs) {
  Delete(NamespaceKey::OfInode(below_));
  ExpectMended("names lie in a directory that does not exist: made anew");
  t_.Mount();
  EXPECT_EQ(t_.Read(Find("directory/below/deep")), "deep");
  EXPECT_EQ(t_.Get(Find("directory/below")).mode, uint32_t{S_IFDIR | 0700});
  t_.Unmount();
  ExpectSound();
}

TEST_F(RepairNamespaceTest, ALostDirectoryWithoutANameIsMadeAnewInLostAndFound) {
  Delete(NamespaceKey::OfInode(below_));
  Delete(NamespaceKey::Dirent(directory_, "below"));
  ExpectMended("linked as /lost+found/" + std::to_string(below_.value));
  t_.Mount();
  EXPECT_EQ(t_.Read(Find("lost+found/" + std::to_string(below_.value) + "/deep")), "deep");
  t_.Unmount();
  ExpectSound();
}

TEST_F(RepairNamespaceTest, ALostRootIsMadeAnew) {
  Delete(NamespaceKey::OfInode(kRootInode));
  ExpectMended("names lie in a directory that does not exist: made anew");
  ExpectSound();
}

TEST_F(RepairNamespaceTest, ADirectoryInACircleIsTakenOutOfIt) {
  Delete(NamespaceKey::Dirent(kRootInode, "directory"));
  ChangeRecord(kRootInode, [](Inode& inode) {
    --inode.entry_count;
    --inode.subdirectory_count;
  });
  PutReference(below_, "directory", directory_, S_IFDIR);
  ChangeRecord(below_, [](Inode& inode) {
    ++inode.entry_count;
    ++inode.subdirectory_count;
  });
  ChangeRecord(directory_, [&](Inode& inode) { inode.parent = below_; });
  ExpectMended("the directory cannot be reached from the root: linked as /lost+found/");
  ExpectSound();
}

TEST_F(RepairNamespaceTest, ADirectoryFollowsItsName) {
  ChangeRecord(below_, [](Inode& inode) { inode.parent = kRootInode; });
  ExpectMended("/directory/below: the directory names another parent than the one it lies in: corrected");
  ExpectSound();
}

TEST_F(RepairNamespaceTest, ADirectoryKeepsTheNameInItsParent) {
  PutReference(kRootInode, "second", below_, S_IFDIR);
  ExpectMended("the directory has 2 names: removed the name /second");
  t_.Mount();
  EXPECT_EQ(t_.Read(Find("directory/below/deep")), "deep");
  t_.Unmount();
  ExpectSound();
}

TEST_F(RepairNamespaceTest, ANameThatSaysSomethingElseThanItsInodeFollowsIt) {
  PutReference(kRootInode, "linked", linked_, S_IFIFO);
  ExpectMended("a name and its inode disagree about what it is: the name follows the inode");
  ExpectSound();
}

TEST_F(RepairNamespaceTest, RemovesChunksAndAttributesOfNobody) {
  for (uint64_t index = 0; index < 2500; ++index) {
    Put(NamespaceKey::Chunk(InodeNumber(999), index * 2), "x");
  }
  Put(NamespaceKey::Xattr(InodeNumber(999), "user.a"), "x");
  Put(NamespaceKey::Chunk(large_, 77), "x");
  Put(NamespaceKey::Chunk(large_, 4), "");
  const Outcomes outcomes = Repair();
  EXPECT_TRUE(outcomes.left.empty()) << ::testing::PrintToString(outcomes.left);
  EXPECT_EQ(std::count(outcomes.mended.begin(), outcomes.mended.end(),
                       "(inode 999): 2500 chunks from 0 to 4998 belong to no file: 2500 removed"),
            1)
      << ::testing::PrintToString(outcomes.mended);
  NoProblem none;
  EXPECT_TRUE(t_.Run(CheckNamespace(*t_.store, none)).ok());
}

TEST_F(RepairNamespaceTest, ALostChunkIsNamedAndTheCountCorrected) {
  Delete(NamespaceKey::Chunk(large_, 2));
  ExpectMended("/large: the file counts 5 chunks and has 4; what is missing reads as zeros: corrected");
  t_.Mount();
  EXPECT_EQ(t_.Read(Find("large")),
            std::string(8192, 'x') + std::string(4096, '\0') + std::string(20'000 - 12288, 'x'));
  t_.Unmount();
}

TEST_F(RepairNamespaceTest, KeepsTheChunksWhoseOwnerMayBeWhatCannotBeRead) {
  Put(NamespaceKey::Dirent(kRootInode, "large"), "garbage");
  const Outcomes outcomes = Repair();
  EXPECT_FALSE(outcomes.left.empty());
  EXPECT_TRUE(Dump().contains(std::string(NamespaceKey::Chunk(large_, 0).view())));
  EXPECT_TRUE(Dump().contains(std::string(NamespaceKey::Xattr(large_, "user.a").view())));
}

TEST_F(RepairNamespaceTest, LeavesANumberThatIsUsedTwiceAndSaysSo) {
  PutReference(directory_, "copy", small_, S_IFREG);
  Inode copy;
  copy.number = small_;
  copy.mode = S_IFREG | 0644;
  std::string value;
  AppendEmbeddedDirent(value, copy, {});
  Put(NamespaceKey::Dirent(directory_, "copy"), value);
  ChangeRecord(directory_, [](Inode& inode) { ++inode.entry_count; });
  const Records before = Dump();
  const Outcomes outcomes = Repair();
  EXPECT_EQ(outcomes.left, std::vector<std::string>{"/small: the inode number is used more than once"});
  EXPECT_EQ(Dump(), before);
}

TEST_F(RepairNamespaceTest, OrphansThatAreNoneLoseTheirRecordAndNothingElse) {
  Inode inode;
  inode.number = large_;
  inode.mode = S_IFREG | 0644;
  std::string value;
  AppendOrphanFile(value, inode, {});
  Put(NamespaceKey::Orphan(large_), value);
  Put(NamespaceKey::Orphan(small_), "garbage");
  std::string truncation;
  AppendOrphanTruncation(truncation, 5, 78);
  Put(NamespaceKey::Orphan(InodeNumber(999)), truncation);
  ExpectMended("/large: an orphan has a name, or another's number: removed");
  ExpectSound();
}

TEST_F(RepairNamespaceTest, TimesOfAccessesThatAreNobodysAreRemoved) {
  std::string value;
  AppendAccess(value, {12345, kRootInode, "small"});
  Put(NamespaceKey::Access(small_), value);
  Put(NamespaceKey::Access(InodeNumber(999)), value);
  Put(NamespaceKey::Access(large_), "\1garbage");
  ExpectMended("the time of an access belongs to no file: removed");
  ExpectSound();
  EXPECT_EQ(t_.Records(static_cast<uint8_t>(NamespaceKind::kAccess)), 1U);
}

TEST_F(RepairNamespaceTest, TheCounterRisesAboveEveryNumberInUse) {
  std::string value;
  AppendInodeCounter(value, small_);
  Put(kInodeCounterKey, value);
  // What goes to lost+found must not be given a number that is in use.
  Delete(NamespaceKey::Dirent(kRootInode, "directory"));
  ExpectMended("the inode number has not been given out yet: corrected");
  t_.Mount();
  const InodeNumber next = t_.Make(kRootInode, "next");
  EXPECT_GT(next, deep_);
  t_.Unmount();
  Delete(kInodeCounterKey);
  ExpectMended("the counter of inode numbers is missing or damaged: corrected");
  ExpectSound();
}

TEST_F(RepairNamespaceTest, ANameThatNobodyCouldUseIsMovedToLostAndFound) {
  PutReference(directory_, "a/b", linked_, S_IFREG);
  ChangeRecord(directory_, [](Inode& inode) { ++inode.entry_count; });
  ChangeRecord(linked_, [](Inode& inode) { ++inode.nlink; });
  ExpectMended("the directory holds a name that no file may have: moved to /lost+found/" +
               std::to_string(linked_.value));
  t_.Mount();
  EXPECT_EQ(t_.Read(Find("lost+found/" + std::to_string(linked_.value))), std::string(9'000, 'l'));
  t_.Unmount();
  ExpectSound();
}

TEST_F(RepairNamespaceTest, AfterACrashAnywhereInTheMiddleASecondRepairEndsIt) {
  Delete(NamespaceKey::Dirent(kRootInode, "directory"));
  Delete(NamespaceKey::OfInode(below_));
  ChangeRecord(linked_, [](Inode& inode) { inode.nlink = 9; });
  PutReference(kRootInode, "gone", InodeNumber(4000), S_IFREG);
  Put(NamespaceKey::Chunk(InodeNumber(999), 0), "x");
  const std::unique_ptr<MemoryStore> planted = t_.store->Clone();
  const uint64_t first = t_.store->writes();
  ASSERT_TRUE(Repair().left.empty());
  const uint64_t writes = t_.store->writes() - first;
  ASSERT_GT(writes, 6u);
  for (uint64_t survive = 0; survive < writes; ++survive) {
    SCOPED_TRACE("writes that survive: " + std::to_string(survive));
    t_.store = planted->Clone();
    t_.store->set_writes_left(survive);
    Outcomes interrupted;
    EXPECT_FALSE(t_.Run(RepairNamespace(*t_.store, t_.clock, interrupted)).ok());
    t_.store->set_writes_left(UINT64_MAX);
    EXPECT_TRUE(Repair().left.empty());
    NoProblem none;
    EXPECT_TRUE(t_.Run(CheckNamespace(*t_.store, none)).ok());
    ExpectSound();
    t_.Mount();
    const std::string back = "lost+found/" + std::to_string(directory_.value) + "/below/deep";
    EXPECT_EQ(t_.Read(Find(back)), "deep");
    t_.Unmount();
  }
}

}  // namespace
}  // namespace varve
