#include <fmt/core.h>

#include "tests/fs/ops/ops_fixture.h"

namespace varve {
namespace {

void MakeMany(OpsFixture& t, int from, int to) {
  for (int i = from; i < to; ++i) {
    const std::string name = fmt::format("{:07}", i);
    const Result<Attributes> made = t.Run(t.fs->MakeNode(kRootInode, name, S_IFREG | 0644, 0, t.caller));
    ASSERT_TRUE(made.ok());
    t.fs->Forget(made->inode, 1);
  }
}

TEST(Directory, ManyNamesAreListedOnceEachInOrderAndInLinearReads) {
  OpsFixture t;
  MakeMany(t, 0, 30'000);
  const uint64_t gets = t.store->gets();
  const std::vector<ListedEntry> listed = t.List(kRootInode, false, 37);
  ASSERT_EQ(listed.size(), 30'002u);
  EXPECT_EQ(listed[0].name, ".");
  EXPECT_EQ(listed[1].name, "..");
  for (size_t i = 0; i < 30'000; ++i) {
    ASSERT_EQ(listed[i + 2].name, fmt::format("{:07}", i));
  }
  // Names come from one iterator: reading pages of 37 costs no lookup an entry.
  EXPECT_LT(t.store->gets() - gets, 10u);
  EXPECT_EQ(t.fs->Statistics().nodes, 1u);
}

TEST(Directory, AnOpenDirectoryShowsWhatItHeldWhenItWasOpened) {
  OpsFixture t;
  MakeMany(t, 0, 3000);
  const Result<DirectoryHandle> handle = t.Run(t.fs->OpenDirectory(kRootInode));
  ASSERT_TRUE(handle.ok());
  std::vector<std::string> seen;
  uint64_t offset = 0;
  for (int step = 0;; ++step) {
    CollectingSink sink(100);
    ASSERT_TRUE(t.Run(t.fs->ReadDirectory(*handle, offset, sink)).ok());
    if (sink.entries.empty()) {
      break;
    }
    offset = sink.entries.back().next_offset;
    for (const ListedEntry& entry : sink.entries) {
      seen.push_back(entry.name);
    }
    // Others delete what is to come and create before, between and behind.
    ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, fmt::format("{:07}", 2999 - step))).ok());
    t.Make(kRootInode, fmt::format("{:07}b", step * 90));
  }
  ASSERT_EQ(seen.size(), 3002u);
  for (size_t i = 0; i < 3000; ++i) {
    EXPECT_EQ(seen[i + 2], fmt::format("{:07}", i));
  }
  // Rewinding shows the present.
  CollectingSink sink(10'000);
  ASSERT_TRUE(t.Run(t.fs->ReadDirectory(*handle, 0, sink)).ok());
  EXPECT_EQ(sink.entries.size(), 3002u);
  EXPECT_EQ(sink.entries[3].name, "0000000b");
  t.fs->ReleaseDirectory(*handle);
}

TEST(Directory, AnyOffsetThatWasGivenOutIsAPlaceToGoOnFrom) {
  OpsFixture t;
  MakeMany(t, 0, 5000);
  const Result<DirectoryHandle> handle = t.Run(t.fs->OpenDirectory(kRootInode));
  ASSERT_TRUE(handle.ok());
  CollectingSink all(10'000);
  ASSERT_TRUE(t.Run(t.fs->ReadDirectory(*handle, 0, all)).ok());
  ASSERT_EQ(all.entries.size(), 5002u);
  for (const size_t at : {4999u, 0u, 1u, 2u, 1023u, 1024u, 1025u, 1026u, 3000u, 2048u, 5001u}) {
    CollectingSink one(1);
    ASSERT_TRUE(t.Run(t.fs->ReadDirectory(*handle, all.entries[at].next_offset, one)).ok());
    if (at == 5001) {
      EXPECT_TRUE(one.entries.empty());
    } else {
      ASSERT_EQ(one.entries.size(), 1u);
      EXPECT_EQ(one.entries[0].name, all.entries[at + 1].name);
    }
  }
  t.fs->ReleaseDirectory(*handle);
}

TEST(Directory, PlusCountsALookupForEachEntryItGaveAndNoneForWhatVanished) {
  OpsFixture t;
  MakeMany(t, 0, 10);
  const Result<DirectoryHandle> handle = t.Run(t.fs->OpenDirectory(kRootInode));
  ASSERT_TRUE(handle.ok());
  ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, "0000003")).ok());
  CollectingSink sink(8);
  ASSERT_TRUE(t.Run(t.fs->ReadDirectoryPlus(*handle, 0, sink)).ok());
  ASSERT_EQ(sink.entries.size(), 8u);
  EXPECT_FALSE(sink.entries[0].counted);
  EXPECT_TRUE(sink.entries[2].counted);
  EXPECT_EQ(sink.entries[5].name, "0000003");
  EXPECT_FALSE(sink.entries[5].counted);
  // "." and ".." and the vanished name aside; the entry that did not fit is not counted.
  EXPECT_EQ(t.fs->Statistics().nodes, 1u + 5u);
  t.fs->ReleaseDirectory(*handle);
}

TEST(Directory, NodesCostLittleAndTheirMemoryComesBack) {
  OpsFixture t;
  const uint64_t before = t.fs->Statistics().node_bytes;
  std::vector<InodeNumber> files;
  for (int i = 0; i < 20'000; ++i) {
    files.push_back(t.Make(kRootInode, fmt::format("{:010}", i)));
  }
  EXPECT_EQ(t.fs->Statistics().nodes, 20'001u);
  EXPECT_LT((t.fs->Statistics().node_bytes - before) / 20'000, 80u);
  for (const InodeNumber file : files) {
    t.fs->Forget(file, 1);
  }
  EXPECT_LT(t.fs->Statistics().node_bytes, before + 4096);
}

}  // namespace
}  // namespace varve
