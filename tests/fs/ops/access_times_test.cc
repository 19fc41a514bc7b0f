#include <gtest/gtest.h>

#include <string>

#include "fs/content/content.h"
#include "tests/fs/ops/ops_fixture.h"

namespace varve {
namespace {

constexpr int64_t kHourNanos = int64_t{3600} * 1'000'000'000;

struct AccessFixture : OpsFixture {
  explicit AccessFixture(AccessTimes access_times, bool of_directories = true)
      : OpsFixture({}, {false, false, SmallFormat(), access_times, of_directories}) {
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
    const DirectoryHandle handle = *Run(fs->OpenDirectory(kRootInode));
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

TEST(AccessTimes, AReadThatMustBeNotedIsNotAnsweredAtOnce) {
  AccessFixture t(AccessTimes::kRelative);
  char byte = 0;
  std::unique_ptr<UnfinishedRead> rest;
  EXPECT_FALSE(t.fs->BeginRead(t.file, 0, std::span<char>(&byte, 1), rest).has_value());
  EXPECT_EQ(rest, nullptr);
  t.Pass(1);
  t.ReadFile();
  EXPECT_TRUE(t.fs->BeginRead(t.file, 0, std::span<char>(&byte, 1), rest).has_value());
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

}  // namespace
}  // namespace varve
