#include <gtest/gtest.h>
#include <stdio.h>

#include <memory>
#include <string>
#include <vector>

#include "fs/content/content.h"
#include "fs/namespace/namespace_format.h"
#include "tests/fs/ops/ops_fixture.h"

namespace varve {
namespace {

constexpr int64_t kHourNanos = int64_t{3600} * 1'000'000'000;

struct AccessFixture : OpsFixture {
  explicit AccessFixture(AccessTimes access_times, bool of_directories = true, size_t noted_max = 100)
      : OpsFixture({}, {false, false, SmallFormat(), access_times, of_directories, noted_max}) {
    Pass(1);
    file = Run(fs->MakeNode(kRootInode, "file", S_IFREG | 0644, 0, caller))->inode;
    link = Run(fs->MakeSymlink(kRootInode, "link", "file", caller))->inode;
    Write("x");
  }
  void Pass(int64_t nanos) { clock.Advance(static_cast<uint64_t>(nanos)); }
  void Write(const std::string& data) { EXPECT_TRUE(Run(fs->Write(file, 0, data, {})).ok()); }
  void ReadFile() {
    char byte = 0;
    EXPECT_TRUE(Run(fs->Read(file, 0, std::span<char>(&byte, 1))).ok());
  }
  void ListRoot() {
    const DirectoryHandle handle = Run(fs->OpenDirectory(kRootInode))->handle;
    CollectingSink sink(100);
    EXPECT_TRUE(Run(fs->ReadDirectory(handle, 0, sink)).ok());
    fs->ReleaseDirectory(handle);
  }
  int64_t AccessTimeOf(InodeNumber inode) { return Run(fs->GetAttributes(inode))->atime_nanos; }
  // Whether `act`, an hour later, changes the time.
  template <typename Act>
  bool Changes(InodeNumber inode, Act act) {
    Pass(kHourNanos);
    const int64_t before = AccessTimeOf(inode);
    act();
    return AccessTimeOf(inode) != before;
  }

  InodeNumber file;
  InodeNumber link;
};

TEST(AccessTimes, RelativeOnesChangeOnceAfterEachChangeOfTheFile) {
  AccessFixture t(AccessTimes::kRelative);
  EXPECT_TRUE(t.Changes(t.file, [&] { t.ReadFile(); }));
  EXPECT_FALSE(t.Changes(t.file, [&] { t.ReadFile(); }));
  t.Write("y");
  EXPECT_TRUE(t.Changes(t.file, [&] { t.ReadFile(); }));
  EXPECT_FALSE(t.Changes(t.file, [&] { t.ReadFile(); }));
}

TEST(AccessTimes, RelativeOnesChangeOnceADay) {
  AccessFixture t(AccessTimes::kRelative);
  t.Pass(1);
  t.ReadFile();
  t.Pass(22 * kHourNanos);
  EXPECT_FALSE(t.Changes(t.file, [&] { t.ReadFile(); }));
  EXPECT_TRUE(t.Changes(t.file, [&] { t.ReadFile(); }));
}

TEST(AccessTimes, StrictOnesChangeWithEachRead) {
  AccessFixture t(AccessTimes::kAlways);
  EXPECT_TRUE(t.Changes(t.file, [&] { t.ReadFile(); }));
  EXPECT_TRUE(t.Changes(t.file, [&] { t.ReadFile(); }));
}

TEST(AccessTimes, NothingIsWrittenForAReadWhereTheyAreOff) {
  AccessFixture t(AccessTimes::kNever);
  const auto before = t.store->Dump();
  EXPECT_FALSE(t.Changes(t.file, [&] { t.ReadFile(); }));
  EXPECT_FALSE(t.Changes(kRootInode, [&] { t.ListRoot(); }));
  EXPECT_EQ(t.store->Dump(), before);
}

TEST(AccessTimes, LinksAndDirectoriesHaveThem) {
  AccessFixture t(AccessTimes::kRelative);
  EXPECT_TRUE(t.Changes(t.link, [&] { EXPECT_EQ(*t.Run(t.fs->ReadSymlink(t.link)), "file"); }));
  EXPECT_TRUE(t.Changes(kRootInode, [&] { t.ListRoot(); }));
  EXPECT_FALSE(t.Changes(kRootInode, [&] { t.ListRoot(); }));
}

TEST(AccessTimes, DirectoriesCanDoWithout) {
  AccessFixture t(AccessTimes::kRelative, false);
  EXPECT_FALSE(t.Changes(kRootInode, [&] { t.ListRoot(); }));
  EXPECT_TRUE(t.Changes(t.file, [&] { t.ReadFile(); }));
}

TEST(AccessTimes, AReadIsNotedAndAnsweredAtOnce) {
  AccessFixture t(AccessTimes::kRelative);
  char byte = 0;
  std::unique_ptr<UnfinishedRead> rest;
  EXPECT_TRUE(t.Changes(t.file, [&] {
    const auto read = t.fs->BeginRead(t.file, 0, std::span<char>(&byte, 1), rest);
    ASSERT_TRUE(read.has_value() && read->ok());
    EXPECT_EQ(**read, 1U);
  }));
  EXPECT_EQ(byte, 'x');
}

TEST(AccessTimes, ContentAndOtherTimesStayAsTheyWere) {
  AccessFixture t(AccessTimes::kRelative);
  const Attributes before = *t.Run(t.fs->GetAttributes(t.file));
  EXPECT_TRUE(t.Changes(t.file, [&] { t.ReadFile(); }));
  const Attributes after = *t.Run(t.fs->GetAttributes(t.file));
  EXPECT_EQ(after.mtime_nanos, before.mtime_nanos);
  EXPECT_EQ(after.ctime_nanos, before.ctime_nanos);
  EXPECT_EQ(after.size, before.size);
  char byte = 0;
  EXPECT_EQ(*t.Run(t.fs->Read(t.file, 0, std::span<char>(&byte, 1))), 1U);
  EXPECT_EQ(byte, 'x');
}

// A file that has been read, and whose time lies apart from its record.
struct NotedFixture : AccessFixture {
  explicit NotedFixture(size_t noted_max = 100) : AccessFixture(AccessTimes::kRelative, true, noted_max) {
    Pass(1);
    const std::string before = RecordOf("file");
    ReadFile();
    noted = AccessTimeOf(file);
    EXPECT_EQ(noted, clock.WallNanos());
    EXPECT_EQ(Notes(), 1U);
    EXPECT_EQ(RecordOf("file"), before);
    Pass(kHourNanos);
  }
  size_t Notes() const { return Records(static_cast<uint8_t>(NamespaceKind::kAccess)); }
  std::string RecordOf(const std::string& name) const {
    const auto found = store->TryGet(NamespaceKey::Dirent(kRootInode, name), ReadOptions());
    return std::string((**found)->bytes());
  }
  void ExpectNoNote() {
    EXPECT_EQ(Notes(), 0U);
    EXPECT_EQ(fs->Statistics().accesses_noted, 0U);
  }
  // The record says the time, and nothing else does.
  void ExpectInRecord(int64_t atime_nanos) {
    EXPECT_EQ(AccessTimeOf(file), atime_nanos);
    ExpectNoNote();
  }

  int64_t noted = 0;
};

TEST(NotedAccesses, ALookupFindsThemToo) {
  NotedFixture t;
  EXPECT_EQ(t.fs->Statistics().accesses_noted, 1U);
  EXPECT_EQ(t.Run(t.fs->Lookup(kRootInode, "file"))->atime_nanos, t.noted);
}

TEST(NotedAccesses, ARemountKnowsThem) {
  NotedFixture t;
  t.Crash();
  EXPECT_EQ(t.fs->Statistics().accesses_noted, 1U);
  EXPECT_EQ(t.Run(t.fs->Lookup(kRootInode, "file"))->atime_nanos, t.noted);
  EXPECT_FALSE(t.Changes(t.file, [&] { t.ReadFile(); }));
}

TEST(NotedAccesses, ANoteThatDoesNotDecodeDoesNotKeepFromMounting) {
  NotedFixture t;
  WriteBatch batch;
  batch.Put(NamespaceKey::Access(t.file), "\1garbage");
  ASSERT_TRUE(t.Run(t.store->Write(batch, Durability::kInterval)).ok());
  t.Crash();
  EXPECT_EQ(t.fs->Statistics().accesses_noted, 0U);
  EXPECT_LT(t.Run(t.fs->Lookup(kRootInode, "file"))->atime_nanos, t.noted);
}

TEST(NotedAccesses, AWriteTakesTheTimeIntoTheRecord) {
  NotedFixture t;
  t.Write("y");
  t.ExpectInRecord(t.noted);
}

TEST(NotedAccesses, ARenameTakesTheTimeAlong) {
  NotedFixture t;
  ASSERT_TRUE(t.Run(t.fs->Rename(kRootInode, "file", kRootInode, "renamed", 0)).ok());
  t.ExpectInRecord(t.noted);
}

TEST(NotedAccesses, AnExchangeTakesBothTimesAlong) {
  NotedFixture t;
  const InodeNumber other = t.Make(kRootInode, "other");
  EXPECT_TRUE(t.Changes(other, [&] { EXPECT_EQ(t.Read(other), ""); }));
  EXPECT_EQ(t.Notes(), 2U);
  const int64_t others = t.AccessTimeOf(other);
  ASSERT_TRUE(t.Run(t.fs->Rename(kRootInode, "file", kRootInode, "other", RENAME_EXCHANGE)).ok());
  t.ExpectInRecord(t.noted);
  EXPECT_EQ(t.AccessTimeOf(other), others);
}

TEST(NotedAccesses, ASecondNameTakesTheTimeIntoTheInodeRecord) {
  NotedFixture t;
  ASSERT_TRUE(t.Run(t.fs->Link(t.file, kRootInode, "second")).ok());
  t.ExpectInRecord(t.noted);
  t.Pass(24 * kHourNanos);
  EXPECT_TRUE(t.Changes(t.file, [&] { t.ReadFile(); }));
  t.ExpectNoNote();
}

TEST(NotedAccesses, ATimeThatIsSetHoldsEvenIfItIsEarlier) {
  NotedFixture t;
  SetAttributes changes;
  changes.atime = TimeChange{false, 12345};
  ASSERT_EQ(t.Run(t.fs->ChangeAttributes(t.file, changes))->atime_nanos, 12345);
  t.ExpectInRecord(12345);
}

TEST(NotedAccesses, ARemovedFileLeavesNone) {
  NotedFixture t;
  ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, "file")).ok());
  t.ExpectInRecord(t.noted);
}

TEST(NotedAccesses, ARemovedFileThatNobodyKnowsLeavesNone) {
  NotedFixture t;
  t.Crash();
  ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, "file")).ok());
  t.ExpectNoNote();
}

TEST(NotedAccesses, ARemovedFileWithAttributesLeavesNone) {
  NotedFixture t;
  ASSERT_TRUE(t.Run(t.fs->SetXattr(t.file, "user.a", "1", {})).ok());
  t.Pass(24 * kHourNanos);
  EXPECT_TRUE(t.Changes(t.file, [&] { t.ReadFile(); }));
  EXPECT_EQ(t.Notes(), 1U);
  ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, "file")).ok());
  t.ExpectNoNote();
}

TEST(NotedAccesses, AFileThatIsReplacedLeavesNone) {
  NotedFixture t;
  t.Make(kRootInode, "new");
  ASSERT_TRUE(t.Run(t.fs->Rename(kRootInode, "new", kRootInode, "file", 0)).ok());
  t.ExpectNoNote();
}

// So many files as may be noted have been read, one more than is still allowed, each at a time of its own.
struct FullFixture : NotedFixture {
  static constexpr size_t kMax = 100;

  FullFixture() : NotedFixture(kMax) {
    for (size_t i = 0; i < kMax; ++i) {
      files.push_back(Make(kRootInode, NameOf(i)));
      EXPECT_TRUE(OpsFixture::Write(files.back(), 0, NameOf(i)).ok());
    }
    for (size_t i = 0; i < kMax; ++i) {
      Pass(1);
      EXPECT_EQ(Read(files[i]), NameOf(i));
      times.push_back(clock.WallNanos());
    }
  }
  static std::string NameOf(size_t i) { return "file " + std::to_string(i); }
  void ExpectTimes() {
    for (size_t i = 0; i < kMax; ++i) {
      EXPECT_EQ(Run(fs->Lookup(kRootInode, NameOf(i)))->atime_nanos, times[i]);
      EXPECT_EQ(Read(files[i]), NameOf(i));
    }
  }

  std::vector<InodeNumber> files;
  std::vector<int64_t> times;
};

TEST(NotedAccesses, WhenThereAreTooManyAllArePutIntoTheRecords) {
  FullFixture t;
  for (int turn = 0; t.Notes() > 0 && turn < 1000; ++turn) {
    t.ExpectTimes();  // and gives the background its turns
  }
  t.ExpectNoNote();
  t.Crash();
  t.ExpectTimes();
  t.Pass(24 * kHourNanos);
  EXPECT_TRUE(t.Changes(t.files[0], [&] { t.Read(t.files[0]); }));
  EXPECT_EQ(t.Notes(), 1U);
}

TEST(NotedAccesses, AnUnmountDoesNotWaitForAllToBePutIntoTheRecords) {
  FullFixture t;
  EXPECT_GT(t.Notes(), 0U);
  t.Unmount();
  EXPECT_GT(t.Notes(), 0U);
  t.Mount();
  t.ExpectTimes();
}

TEST(NotedAccesses, ANoteOfNoFileGoesWithTheOthers) {
  NotedFixture t(1);
  // As a damaged store may have it: nobody who removes or renames a file leaves it.
  std::string note;
  AppendAccess(note, {1, kRootInode, "nobody"});
  WriteBatch batch;
  batch.Put(NamespaceKey::Access(InodeNumber(999)), note);
  ASSERT_TRUE(t.Run(t.store->Write(batch, Durability::kInterval)).ok());
  t.Crash();
  EXPECT_EQ(t.fs->Statistics().accesses_noted, 2U);
  const InodeNumber other = t.Make(kRootInode, "other");
  t.Pass(1);
  t.Read(other);
  for (int turn = 0; t.Notes() > 0 && turn < 1000; ++turn) {
    t.Read(other);
  }
  EXPECT_EQ(t.Run(t.fs->Lookup(kRootInode, "file"))->atime_nanos, t.noted);
  t.ExpectNoNote();
}

}  // namespace
}  // namespace varve
