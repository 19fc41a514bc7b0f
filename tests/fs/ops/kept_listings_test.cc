#include "fs/ops/kept_listings.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "engine/ring/spawn_on.h"
#include "tests/fs/ops/ops_fixture.h"

namespace varve {
namespace {

std::shared_ptr<Listing> Made(uint64_t directory, uint64_t version, int names, size_t name_bytes = 8) {
  auto listing = std::make_shared<Listing>(InodeNumber(directory), version);
  for (int i = 0; i < names; ++i) {
    const std::string name = fmt::format("{:0{}}", i, name_bytes);
    EXPECT_TRUE(listing->Append({.name = name,
                                 .inode = InodeNumber(1000 + static_cast<uint64_t>(i)),
                                 .mode = S_IFREG,
                                 .next_offset = static_cast<uint64_t>(i) + 3}));
  }
  listing->Complete();
  return listing;
}

TEST(Listing, ShowsItsEntriesFromAnyOn) {
  const std::shared_ptr<Listing> listing = Made(7, 2, 200);
  ASSERT_EQ(listing->size(), 200u);
  for (uint64_t first : {0u, 1u, 63u, 64u, 65u, 128u, 199u, 200u, 5000u}) {
    CollectingSink sink(3);
    listing->Show(first, sink);
    ASSERT_EQ(sink.entries.size(), first >= 200 ? 0 : std::min<uint64_t>(3, 200 - first));
    for (const ListedEntry& entry : sink.entries) {
      EXPECT_EQ(entry.name, fmt::format("{:08}", first));
      EXPECT_EQ(entry.inode.value, 1000 + first);
      EXPECT_EQ(entry.next_offset, first + 3);
      ++first;
    }
  }
}

TEST(Listing, OneThatIsTooLongTakesNoMore) {
  Listing listing(InodeNumber(7), 2);
  const std::string name(255, 'n');
  uint64_t taken = 0;
  while (listing.Append({.name = name, .inode = InodeNumber(9), .mode = S_IFREG, .next_offset = taken + 3})) {
    ++taken;
  }
  EXPECT_EQ(taken, listing.size());
  EXPECT_EQ(taken, Listing::kBytesMax / (PackedEntries::kHeadBytes + 255));
}

TEST(KeptListings, OneOfAnotherVersionIsNotFoundAndLetGo) {
  KeptListings kept;
  kept.Keep(Made(7, 2, 10));
  EXPECT_NE(kept.Find(InodeNumber(7), 2), nullptr);
  EXPECT_EQ(kept.Find(InodeNumber(8), 2), nullptr);
  EXPECT_EQ(kept.Find(InodeNumber(7), 4), nullptr);
  EXPECT_EQ(kept.bytes(), 0u);
}

TEST(KeptListings, WhatWasAskedForLongestAgoMakesRoom) {
  KeptListings kept;
  const size_t one = Made(1, 2, 1000)->bytes();
  const uint64_t fit = KeptListings::kBytesMax / one;
  for (uint64_t directory = 1; directory <= fit; ++directory) {
    kept.Keep(Made(directory, 2, 1000));
  }
  EXPECT_NE(kept.Find(InodeNumber(1), 2), nullptr);
  kept.Keep(Made(fit + 1, 2, 1000));
  EXPECT_LE(kept.bytes(), KeptListings::kBytesMax);
  EXPECT_EQ(kept.Find(InodeNumber(2), 2), nullptr);
  EXPECT_NE(kept.Find(InodeNumber(1), 2), nullptr);
  EXPECT_NE(kept.Find(InodeNumber(fit + 1), 2), nullptr);
  // In place of the first one of the same directory.
  kept.Keep(Made(1, 4, 1));
  EXPECT_EQ(kept.Find(InodeNumber(1), 2), nullptr);
}

std::string NameOf(int i) {
  return fmt::format("{:05}", i);
}

// What is said of one name's size, by answers of ten entries.
class SizeSink final : public DirectorySink {
 public:
  explicit SizeSink(std::string name) : name_(std::move(name)) {}

  bool Add(const DirectoryEntry& entry) override {
    if (++added_ % 10 == 0) {
      return false;
    }
    next_offset_ = entry.next_offset;
    if (entry.name == name_) {
      size_ = entry.attributes->size;
    }
    return true;
  }
  uint64_t next_offset() const { return next_offset_; }
  uint64_t size() const { return size_; }

 private:
  const std::string name_;
  int added_ = 0;
  uint64_t next_offset_ = 0;
  uint64_t size_ = 0;
};

class ListedAgain : public testing::Test {
 protected:
  void MakeMany(int from, int to) {
    for (int i = from; i < to; ++i) {
      t_.fs->Forget(t_.Make(kRootInode, NameOf(i)), 1);
    }
  }
  OpenedDirectory Open() {
    const Result<OpenedDirectory> opened = t_.Run(t_.fs->OpenDirectory(kRootInode));
    EXPECT_TRUE(opened.ok());
    return opened.ok() ? *opened : OpenedDirectory();
  }
  std::vector<ListedEntry> Read(DirectoryHandle handle, uint64_t offset, size_t entries_max,
                                bool plus = false) {
    CollectingSink sink(entries_max);
    EXPECT_TRUE(t_.Run(plus ? t_.fs->ReadDirectoryPlus(handle, offset, sink)
                            : t_.fs->ReadDirectory(handle, offset, sink))
                    .ok());
    return sink.entries;
  }
  // From `offset` to the end.
  std::vector<std::string> Rest(DirectoryHandle handle, uint64_t offset, size_t at_a_time) {
    std::vector<std::string> names;
    for (std::vector<ListedEntry> entries; !(entries = Read(handle, offset, at_a_time)).empty();) {
      offset = entries.back().next_offset;
      for (const ListedEntry& entry : entries) {
        names.push_back(entry.name);
      }
    }
    return names;
  }
  // By so many requests that the kernel may keep it.
  void ListBySmallAnswers() { t_.List(kRootInode, false, 20); }
  static std::vector<std::string> Names(const std::vector<ListedEntry>& listed) {
    std::vector<std::string> names;
    for (const ListedEntry& entry : listed) {
      names.push_back(entry.name);
    }
    return names;
  }

  OpsFixture t_;
};

TEST_F(ListedAgain, ADirectoryThatStayedAsItWasAsksNothingOfTheStore) {
  MakeMany(0, 1000);
  const std::vector<ListedEntry> first = t_.List(kRootInode);
  ASSERT_EQ(first.size(), 1002u);
  const uint64_t walks = t_.store->walks();
  for (const size_t at_a_time : {1u, 7u, 100u, 5000u}) {
    const std::vector<ListedEntry> again = t_.List(kRootInode, false, at_a_time);
    ASSERT_EQ(again.size(), first.size());
    for (size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(again[i].name, first[i].name);
      EXPECT_EQ(again[i].inode, first[i].inode);
      EXPECT_EQ(again[i].mode, first[i].mode);
      EXPECT_EQ(again[i].next_offset, first[i].next_offset);
    }
  }
  EXPECT_EQ(t_.store->walks(), walks);
}

TEST_F(ListedAgain, WhatWasMadeOrRemovedIsSeen) {
  MakeMany(0, 300);
  t_.List(kRootInode);
  ASSERT_TRUE(t_.Run(t_.fs->Unlink(kRootInode, NameOf(17))).ok());
  MakeMany(300, 301);
  ASSERT_TRUE(t_.Run(t_.fs->Rename(kRootInode, NameOf(5), kRootInode, "renamed", 0)).ok());
  for (int round = 0; round < 2; ++round) {
    const std::vector<std::string> names = Names(t_.List(kRootInode));
    EXPECT_EQ(names.size(), 302u);
    for (const int i : {17, 5}) {
      EXPECT_EQ(std::count(names.begin(), names.end(), NameOf(i)), 0);
    }
    EXPECT_EQ(std::count(names.begin(), names.end(), NameOf(300)), 1);
    EXPECT_EQ(std::count(names.begin(), names.end(), "renamed"), 1);
  }
}

TEST_F(ListedAgain, AttributesAreThoseOfTheMoment) {
  MakeMany(0, 300);
  t_.List(kRootInode);
  const Result<Attributes> found = t_.Run(t_.fs->Lookup(kRootInode, NameOf(250)));
  ASSERT_TRUE(found.ok());
  ASSERT_TRUE(t_.Run(t_.fs->Write(found->inode, 0, "12345", {})).ok());
  const OpenedDirectory opened = Open();
  SizeSink sink(NameOf(250));
  for (uint64_t offset = 0; offset < 300; offset = sink.next_offset()) {
    ASSERT_TRUE(t_.Run(t_.fs->ReadDirectoryPlus(opened.handle, offset, sink)).ok());
  }
  EXPECT_EQ(sink.size(), 5u);
}

// As the kernel reads it: attributes at first, then names.
TEST_F(ListedAgain, AttributesAtFirstAndThenNamesAreOnePass) {
  MakeMany(0, 300);
  for (int round = 0; round < 3; ++round) {
    const OpenedDirectory opened = Open();
    std::vector<std::string> names = Names(Read(opened.handle, 0, 20, true));
    const std::vector<std::string> rest = Rest(opened.handle, 20, 100);
    names.insert(names.end(), rest.begin(), rest.end());
    ASSERT_EQ(names.size(), 302u);
    for (int i = 0; i < 300; ++i) {
      EXPECT_EQ(names[static_cast<size_t>(i) + 2], NameOf(i));
    }
    t_.fs->ReleaseDirectory(opened.handle);
  }
}

// The kernel showed the first entries from what it kept, which it then lost: the handle never asked for them.
TEST_F(ListedAgain, AHandleGoesOnFromAPlaceOfTheListingWhateverHasChangedSince) {
  for (const uint64_t passed : {0u, 1u, 500u, 999u, 1000u}) {
    MakeMany(0, 1000);
    ListBySmallAnswers();
    const OpenedDirectory opened = Open();
    ASSERT_TRUE(opened.may_keep);
    // The one to go on behind, one before, some to come; and new ones everywhere.
    std::vector<std::string> expected;
    for (int i = 0; i < 1000; ++i) {
      const bool is_removed = i % 3 == 0 || i + 1 == static_cast<int>(passed);
      if (is_removed) {
        ASSERT_TRUE(t_.Run(t_.fs->Unlink(kRootInode, NameOf(i))).ok());
        t_.Make(kRootInode, NameOf(i) + "b");
      } else if (i >= static_cast<int>(passed)) {
        expected.push_back(NameOf(i));
      }
    }
    t_.Make(kRootInode, "zz");
    EXPECT_EQ(Rest(opened.handle, passed + 2, 70), expected) << passed;
    // And back again.
    EXPECT_EQ(Rest(opened.handle, passed + 2, 5000), expected) << passed;
    t_.fs->ReleaseDirectory(opened.handle);
    for (const std::string& name : Names(t_.List(kRootInode))) {
      if (name != "." && name != "..") {
        ASSERT_TRUE(t_.Run(t_.fs->Unlink(kRootInode, name)).ok());
      }
    }
  }
}

TEST_F(ListedAgain, OneHandleAtATimeMayBeKeptByTheKernelAndOnlyOfWhatIsComplete) {
  MakeMany(0, 600);
  OpenedDirectory first = Open();
  EXPECT_FALSE(first.may_keep);
  // Not to its end.
  ASSERT_EQ(Read(first.handle, 0, 100).size(), 100u);
  t_.fs->ReleaseDirectory(first.handle);
  first = Open();
  EXPECT_FALSE(first.may_keep);
  Rest(first.handle, 0, 100);
  EXPECT_FALSE(Open().may_keep) << "not asked for often enough";
  ListBySmallAnswers();

  const OpenedDirectory second = Open();
  EXPECT_TRUE(second.may_keep);
  EXPECT_FALSE(second.may_keep_earlier);
  const OpenedDirectory third = Open();
  EXPECT_FALSE(third.may_keep);
  t_.fs->ReleaseDirectory(third.handle);
  t_.fs->ReleaseDirectory(first.handle);
  EXPECT_FALSE(Open().may_keep);
  t_.fs->ReleaseDirectory(second.handle);
  // The kernel knows none of the files: whoever wants to know about them had better be told of many at once.
  OpenedDirectory fourth = Open();
  EXPECT_TRUE(fourth.may_keep);
  EXPECT_FALSE(fourth.may_keep_earlier);
  t_.fs->ReleaseDirectory(fourth.handle);
  const Result<Attributes> known = t_.Run(t_.fs->Lookup(kRootInode, NameOf(0)));
  ASSERT_TRUE(known.ok());
  fourth = Open();
  EXPECT_TRUE(fourth.may_keep);
  EXPECT_TRUE(fourth.may_keep_earlier);
  t_.fs->ReleaseDirectory(fourth.handle);

  // What the kernel kept says something else.
  MakeMany(600, 601);
  EXPECT_FALSE(Open().may_keep);
  ListBySmallAnswers();
  const OpenedDirectory fifth = Open();
  EXPECT_TRUE(fifth.may_keep);
  EXPECT_FALSE(fifth.may_keep_earlier);
  t_.fs->Forget(known->inode, 1);
}

// The kernel adds to what it keeps wherever an offset fits: half a listing of before must not get the rest of
// this one.
TEST_F(ListedAgain, AHandleThatTheKernelMayKeepGivesOtherOffsetsOnceTheDirectoryHasChanged) {
  MakeMany(0, 600);
  ListBySmallAnswers();
  const OpenedDirectory opened = Open();
  ASSERT_TRUE(opened.may_keep);
  const std::vector<ListedEntry> before = Read(opened.handle, 0, 100);
  EXPECT_EQ(Read(opened.handle, 0, 100)[50].next_offset, before[50].next_offset) << "nothing has changed";
  std::vector<uint64_t> offsets = {before[50].next_offset};
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(t_.Run(t_.fs->Unlink(kRootInode, NameOf(round))).ok());
    const std::vector<ListedEntry> now = Read(opened.handle, 0, 100);
    ASSERT_EQ(now.size(), 100u);
    EXPECT_EQ(std::count(offsets.begin(), offsets.end(), now[50].next_offset), 0);
    EXPECT_LE(now[50].next_offset, uint64_t{INT64_MAX});
    offsets.push_back(now[50].next_offset);
    EXPECT_EQ(Read(opened.handle, now[50].next_offset, 1)[0].name, now[51].name);
    EXPECT_EQ(Rest(opened.handle, now[50].next_offset, 100).size(), 600u - 50 - static_cast<size_t>(round));
    // What is kept meanwhile is another handle's.
    ListBySmallAnswers();
  }
  t_.fs->ReleaseDirectory(opened.handle);
  EXPECT_EQ(t_.List(kRootInode)[50].next_offset, before[50].next_offset);
}

Task<void> ReadAttributes(FileSystem& fs, DirectoryHandle handle, DirectorySink& sink, int& running) {
  EXPECT_TRUE((co_await fs.ReadDirectoryPlus(handle, 0, sink)).ok());
  --running;
}

Task<void> Change(FileSystem& fs, int& running) {
  EXPECT_TRUE((co_await fs.Unlink(kRootInode, NameOf(0))).ok());
  const Result<Attributes> made =
      co_await fs.MakeNode(kRootInode, NameOf(2) + "b", S_IFREG | 0644, 0, Caller{});
  EXPECT_TRUE(made.ok());
  --running;
}

TEST(ListedAgainWhileItChanges, NoNameIsLostAfterAnAnswerWithAttributes) {
  for (uint64_t seed = 1; seed < 500; ++seed) {
    // One step in four waits, as for a device.
    OpsFixture t(MemoryStoreOptions{4, seed});
    for (int i = 0; i < 30; ++i) {
      t.fs->Forget(t.Make(kRootInode, NameOf(i)), 1);
    }
    ASSERT_EQ(t.List(kRootInode).size(), 32u);
    const DirectoryHandle handle = t.Run(t.fs->OpenDirectory(kRootInode))->handle;
    CollectingSink first(10);
    int running = 2;
    SpawnOn(t.executor, ReadAttributes(*t.fs, handle, first, running));
    SpawnOn(t.executor, Change(*t.fs, running));
    t.executor.RunReady();
    ASSERT_EQ(running, 0);
    std::vector<ListedEntry> all = first.entries;
    CollectingSink rest(100);
    ASSERT_TRUE(t.Run(t.fs->ReadDirectory(handle, all.back().next_offset, rest)).ok());
    all.insert(all.end(), rest.entries.begin(), rest.entries.end());
    for (int i = 1; i < 30; ++i) {
      EXPECT_EQ(std::count_if(all.begin(), all.end(),
                              [i](const ListedEntry& entry) { return entry.name == NameOf(i); }),
                1)
          << NameOf(i) << ", seed " << seed;
    }
    for (const ListedEntry& entry : all) {
      if (entry.counted) {
        t.fs->Forget(entry.inode, 1);
      }
    }
    t.fs->ReleaseDirectory(handle);
  }
}

TEST_F(ListedAgain, AParentThatChangedIsSeen) {
  const InodeNumber from = t_.Make(kRootInode, "from", S_IFDIR | 0755);
  const InodeNumber to = t_.Make(kRootInode, "to", S_IFDIR | 0755);
  const InodeNumber moved = t_.Make(from, "moved", S_IFDIR | 0755);
  t_.List(moved);
  ASSERT_TRUE(t_.Run(t_.fs->OpenDirectory(moved))->may_keep);
  ASSERT_TRUE(t_.Run(t_.fs->Rename(from, "moved", to, "moved", 0)).ok());
  // The kernel keeps nothing of before, and what it is shown now is true.
  EXPECT_FALSE(t_.Run(t_.fs->OpenDirectory(moved))->may_keep_earlier);
  const std::vector<ListedEntry> listed = t_.List(moved);
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[1].inode, to);
}

}  // namespace
}  // namespace varve
