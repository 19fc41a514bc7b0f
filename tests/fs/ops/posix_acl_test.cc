#include "fs/ops/posix_acl.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/base/coding.h"
#include "fs/namespace/namespace_format.h"
#include "tests/fs/ops/ops_fixture.h"

namespace varve {
namespace {

constexpr uint16_t kOwner = 0x01;
constexpr uint16_t kUser = 0x02;
constexpr uint16_t kGroup = 0x04;
constexpr uint16_t kMask = 0x10;
constexpr uint16_t kOther = 0x20;
constexpr uint32_t kNobody = UINT32_MAX;

struct Entry {
  uint16_t tag;
  uint16_t permissions;
  uint32_t id = kNobody;
};

std::string ListOf(const std::vector<Entry>& entries) {
  std::string value;
  AppendFixed(value, uint32_t{2});
  for (const Entry& entry : entries) {
    AppendFixed(value, entry.tag);
    AppendFixed(value, entry.permissions);
    AppendFixed(value, entry.id);
  }
  return value;
}

// user::rwx user:7:rwx group::r-x mask::MASK other::r-x
std::string NamedList(uint16_t mask) {
  return ListOf({{kOwner, 7}, {kUser, 7, 7}, {kGroup, 5}, {kMask, mask}, {kOther, 5}});
}

std::string ModeList(uint16_t owner, uint16_t group, uint16_t other) {
  return ListOf({{kOwner, owner}, {kGroup, group}, {kOther, other}});
}

TEST(PosixAcl, WhatIsDecodedIsEncodedAsItWas) {
  for (const std::string& value : {NamedList(3), ModeList(6, 4, 0)}) {
    const Result<PosixAcl> acl = PosixAcl::Decode(value);
    ASSERT_TRUE(acl.ok()) << acl.ToString();
    EXPECT_EQ(acl->Encode(), value);
  }
}

TEST(PosixAcl, ListsThatSayNothingCertainAreRefused) {
  const std::vector<std::string> wrong = {
      "",
      "x",
      NamedList(7).substr(1),
      ListOf({}),
      ListOf({{kOwner, 7}, {kGroup, 5}}),
      ListOf({{kGroup, 5}, {kOwner, 7}, {kOther, 5}}),
      ListOf({{kOwner, 7}, {kOwner, 7}, {kGroup, 5}, {kOther, 5}}),
      ListOf({{kOwner, 7}, {kUser, 7, 7}, {kGroup, 5}, {kOther, 5}}),  // somebody is named, and no mask
      ListOf({{kOwner, 7}, {kGroup, 5}, {kMask, 7}, {kMask, 7}, {kOther, 5}}),
      ListOf({{kOwner, 8}, {kGroup, 5}, {kOther, 5}}),
      ListOf({{kOwner, 7}, {kGroup, 5}, {0x40, 5}}),
      ListOf(std::vector<Entry>(kAclBytesMax / 8 + 1, {kOwner, 7})),
  };
  for (size_t i = 0; i < wrong.size(); ++i) {
    EXPECT_TRUE(PosixAcl::Decode(wrong[i]).Is(ErrorCode::kInvalidArgument)) << i;
  }
}

TEST(PosixAcl, TheMaskIsWhatAModeShowsOfTheGroup) {
  EXPECT_EQ(PosixAcl::Decode(NamedList(2))->ModeBits(), 0725U);
  EXPECT_EQ(PosixAcl::Decode(ModeList(7, 1, 4))->ModeBits(), 0714U);
}

TEST(PosixAcl, AChangeOfTheModeReachesTheMaskAndNotTheGroup) {
  PosixAcl acl = *PosixAcl::Decode(NamedList(7));
  acl.SetMode(0640);
  EXPECT_EQ(acl.Encode(), ListOf({{kOwner, 6}, {kUser, 7, 7}, {kGroup, 5}, {kMask, 4}, {kOther, 0}}));
}

struct AclFixture : OpsFixture {
  InodeNumber Directory(uint32_t mode, uint32_t umask = 0) {
    return Run(fs->MakeDirectory(kRootInode, "d", mode, Caller{1000, 100, 1, umask}))->inode;
  }
  uint32_t ModeOf(InodeNumber inode) { return Run(fs->GetAttributes(inode))->mode & 07777; }
  std::string AccessOf(InodeNumber inode) {
    const Result<std::string> value = Run(fs->GetXattr(inode, kAccessAclName));
    return value.ok() ? *value : value.error().ToString();
  }
  void Set(InodeNumber inode, std::string_view name, const std::string& value, XattrFlags flags = {}) {
    const Status set = Run(fs->SetXattr(inode, name, value, flags));
    EXPECT_TRUE(set.ok()) << set.ToString();
  }
};

TEST(AccessLists, SettingOneSetsTheMode) {
  AclFixture t;
  const InodeNumber directory = t.Directory(02777);
  t.Set(directory, kAccessAclName, NamedList(1));
  EXPECT_EQ(t.ModeOf(directory), 02715U);
  t.Set(directory, kAccessAclName, NamedList(1), {0, true});
  EXPECT_EQ(t.ModeOf(directory), 0715U);
}

TEST(AccessLists, OneThatSaysNoMoreThanAModeIsNotKept) {
  AclFixture t;
  const InodeNumber directory = t.Directory(0777);
  t.Set(directory, kAccessAclName, NamedList(7));
  t.Set(directory, kAccessAclName, ModeList(7, 5, 0));
  EXPECT_EQ(t.ModeOf(directory), 0750U);
  EXPECT_TRUE(t.Run(t.fs->GetXattr(directory, kAccessAclName)).Is(ErrorCode::kNoAttribute));
  EXPECT_EQ(*t.Run(t.fs->ListXattrs(directory)), "");
}

TEST(AccessLists, ChmodChangesTheList) {
  AclFixture t;
  const InodeNumber directory = t.Directory(0777);
  t.Set(directory, kAccessAclName, NamedList(7));
  SetAttributes changes;
  changes.mode = 0710;
  ASSERT_TRUE(t.Run(t.fs->ChangeAttributes(directory, changes)).ok());
  EXPECT_EQ(t.AccessOf(directory),
            ListOf({{kOwner, 7}, {kUser, 7, 7}, {kGroup, 5}, {kMask, 1}, {kOther, 0}}));
}

TEST(AccessLists, TheUmaskAppliesWhereThereIsNoDefaultListOnly) {
  AclFixture t;
  const InodeNumber directory = t.Directory(0777, 022);
  EXPECT_EQ(t.ModeOf(directory), 0755U);
  const Caller caller{1000, 100, 1, 022};
  const Result<Attributes> plain = t.Run(t.fs->MakeNode(directory, "plain", S_IFREG | 0666, 0, caller));
  EXPECT_EQ(plain->mode & 07777, 0644U);
  t.Set(directory, kDefaultAclName, NamedList(7));
  const Result<Attributes> listed = t.Run(t.fs->MakeNode(directory, "listed", S_IFREG | 0666, 0, caller));
  EXPECT_EQ(listed->mode & 07777, 0664U);
  EXPECT_EQ(t.AccessOf(listed->inode),
            ListOf({{kOwner, 6}, {kUser, 7, 7}, {kGroup, 5}, {kMask, 6}, {kOther, 4}}));
}

TEST(AccessLists, DirectoriesPassTheirDefaultListOnAndFilesDoNot) {
  AclFixture t;
  const InodeNumber directory = t.Directory(0777);
  t.Set(directory, kDefaultAclName, NamedList(7));
  const Caller caller{1000, 100, 1, 0};
  const InodeNumber inner = t.Run(t.fs->MakeDirectory(directory, "inner", 0777, caller))->inode;
  EXPECT_EQ(*t.Run(t.fs->GetXattr(inner, kDefaultAclName)), NamedList(7));
  const InodeNumber file = t.Run(t.fs->MakeNode(inner, "file", S_IFREG | 0777, 0, caller))->inode;
  EXPECT_EQ(t.AccessOf(file), NamedList(7));
  EXPECT_TRUE(t.Run(t.fs->GetXattr(file, kDefaultAclName)).Is(ErrorCode::kNoAttribute));
  const InodeNumber link = t.Run(t.fs->MakeSymlink(inner, "link", "to", caller))->inode;
  EXPECT_EQ(*t.Run(t.fs->ListXattrs(link)), "");
  EXPECT_TRUE(t.Run(t.fs->SetXattr(file, kDefaultAclName, NamedList(7), {})).Is(ErrorCode::kAccess));
}

TEST(AccessLists, ADefaultListThatIsJustAModeLeavesJustAMode) {
  AclFixture t;
  const InodeNumber directory = t.Directory(0777);
  t.Set(directory, kDefaultAclName, ModeList(7, 5, 0));
  const Result<Attributes> file =
      t.Run(t.fs->MakeNode(directory, "file", S_IFREG | 0666, 0, Caller{1000, 100, 1, 077}));
  EXPECT_EQ(file->mode & 07777, 0640U);
  EXPECT_EQ(*t.Run(t.fs->ListXattrs(file->inode)), "");
}

TEST(AccessLists, AFileWithoutANameInheritsAndKeepsItsListWhenItGetsAName) {
  AclFixture t;
  const InodeNumber directory = t.Directory(0777);
  t.Set(directory, kDefaultAclName, NamedList(7));
  const Result<Attributes> file = t.Run(t.fs->MakeTemporary(directory, 0777, Caller{1000, 100, 1, 077}));
  ASSERT_TRUE(file.ok()) << file.ToString();
  EXPECT_EQ(t.AccessOf(file->inode), NamedList(7));
  ASSERT_TRUE(t.Run(t.fs->Link(file->inode, directory, "named")).ok());
  EXPECT_EQ(t.AccessOf(file->inode), NamedList(7));
}

TEST(AccessLists, AForgottenFileWithoutANameTakesItsListAlong) {
  AclFixture t;
  const InodeNumber directory = t.Directory(0777);
  t.Set(directory, kDefaultAclName, NamedList(7));
  const Result<Attributes> file = t.Run(t.fs->MakeTemporary(directory, 0777, Caller{1000, 100, 1, 0}));
  t.fs->Forget(file->inode, 1);
  ASSERT_TRUE(t.Run(t.fs->FinishRemovals()).ok());
  for (const auto& [key, value] : t.store->Dump()) {
    const std::optional<ParsedKey> parsed = ParseNamespaceKey(key);
    EXPECT_FALSE(parsed && parsed->inode == file->inode) << "a record of the file is left";
  }
}

TEST(AccessLists, TakingAwayAListThatIsNotThereIsNoMistake) {
  AclFixture t;
  const InodeNumber directory = t.Directory(0777);
  EXPECT_TRUE(t.Run(t.fs->RemoveXattr(directory, kAccessAclName)).ok());
  EXPECT_TRUE(t.Run(t.fs->RemoveXattr(directory, kDefaultAclName)).ok());
  t.Set(directory, kAccessAclName, NamedList(1));
  EXPECT_TRUE(t.Run(t.fs->RemoveXattr(directory, kAccessAclName)).ok());
  EXPECT_EQ(t.ModeOf(directory), 0715U);
}

}  // namespace
}  // namespace varve
