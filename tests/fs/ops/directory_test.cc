#include <fmt/core.h>

#include <algorithm>

#include "engine/ring/spawn_on.h"
#include "engine/ring/when_all.h"
#include "fs/ops/listing_ahead.h"
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

// One reply of `entries_max` entries, from `offset` on.
std::vector<ListedEntry> ReadFrom(OpsFixture& t, DirectoryHandle handle, uint64_t offset,
                                  size_t entries_max) {
  CollectingSink sink(entries_max);
  EXPECT_TRUE(t.Run(t.fs->ReadDirectory(handle, offset, sink)).ok());
  return sink.entries;
}

DirectoryHandle OpenRoot(OpsFixture& t) {
  const Result<OpenedDirectory> opened = t.Run(t.fs->OpenDirectory(kRootInode));
  EXPECT_TRUE(opened.ok());
  return opened.ok() ? opened->handle : DirectoryHandle();
}

TEST(Directory, WhatIsThereAllTheTimeIsListedOnceWhileOthersComeAndGo) {
  OpsFixture t;
  MakeMany(t, 0, 3000);
  const DirectoryHandle handle = OpenRoot(t);
  std::vector<std::string> seen;
  uint64_t offset = 0;
  size_t removed = 0;
  for (int steps = 0;; ++steps) {
    const std::vector<ListedEntry> entries = ReadFrom(t, handle, offset, 100);
    if (entries.empty()) {
      break;
    }
    offset = entries.back().next_offset;
    for (const ListedEntry& entry : entries) {
      if (entry.name.size() == 7) {
        seen.push_back(entry.name);
      }
    }
    // The name to go on from and one to come are removed; others are made before, between and behind.
    ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, entries.back().name)).ok());
    removed += t.Run(t.fs->Unlink(kRootInode, fmt::format("{:07}", 2999 - steps))).ok() ? 1 : 0;
    t.Make(kRootInode, fmt::format("{:07}b", steps * 90));
    t.Make(kRootInode, fmt::format("{:07}", 3000 + steps));
  }
  ASSERT_EQ(seen.size(), 3000u - removed);
  for (size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i], fmt::format("{:07}", i));
  }
  // Rewinding shows the present.
  EXPECT_EQ(ReadFrom(t, handle, 0, 10'000)[3].name, "0000000b");
  t.fs->ReleaseDirectory(handle);
}

TEST(Directory, AListingBeginsWhenItsFirstEntryIsRead) {
  OpsFixture t;
  const DirectoryHandle handle = OpenRoot(t);
  t.Make(kRootInode, "x");
  const std::vector<ListedEntry> entries = ReadFrom(t, handle, 0, 10);
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[2].name, "x");
  t.fs->ReleaseDirectory(handle);
}

TEST(Directory, AnOpenDirectoryHoldsNothingInTheStoreBetweenCalls) {
  OpsFixture t;
  MakeMany(t, 0, 300);
  const DirectoryHandle handle = OpenRoot(t);
  EXPECT_EQ(t.store->pins(), 0u);
  uint64_t offset = 0;
  for (std::vector<ListedEntry> entries; !(entries = ReadFrom(t, handle, offset, 100)).empty();) {
    offset = entries.back().next_offset;
    EXPECT_EQ(t.store->pins(), 0u);
  }
  EXPECT_EQ(t.store->pins(), 0u);
  t.fs->ReleaseDirectory(handle);
}

// A listing whose next entries the background walks over in between. How many iterators each answer made.
struct WalkedListing {
  std::vector<ListedEntry> entries;
  std::vector<uint64_t> walks_of_answers;
};
WalkedListing ListWithTheBackground(OpsFixture& t, DirectoryHandle handle, size_t entries_max) {
  WalkedListing listing;
  uint64_t offset = 0;
  while (true) {
    const uint64_t walks = t.store->walks();
    const std::vector<ListedEntry> entries = ReadFrom(t, handle, offset, entries_max);
    listing.walks_of_answers.push_back(t.store->walks() - walks);
    if (entries.empty()) {
      return listing;
    }
    offset = entries.back().next_offset;
    listing.entries.insert(listing.entries.end(), entries.begin(), entries.end());
    t.executor.RunReady();
    EXPECT_EQ(t.store->pins(), 0u);
  }
}

TEST(Directory, TheBackgroundWalksAheadOfAListing) {
  OpsFixture t;
  MakeMany(t, 0, 10'000);
  const DirectoryHandle handle = OpenRoot(t);
  const WalkedListing listing = ListWithTheBackground(t, handle, 1000);
  ASSERT_EQ(listing.entries.size(), 10'002u);
  for (size_t i = 2; i < listing.entries.size(); ++i) {
    ASSERT_EQ(listing.entries[i].name, fmt::format("{:07}", i - 2));
  }
  // The first answer is made when it is asked for, the last one says that there is no more.
  EXPECT_EQ(listing.walks_of_answers.front(), 1u);
  EXPECT_EQ(std::count(listing.walks_of_answers.begin(), listing.walks_of_answers.end(), 0u),
            static_cast<ptrdiff_t>(listing.walks_of_answers.size()) - 1);
  t.fs->ReleaseDirectory(handle);
}

TEST(Directory, WhatWasWalkedOverIsNotShownOnceTheDirectoryHasChanged) {
  OpsFixture t;
  MakeMany(t, 0, 3000);
  const DirectoryHandle handle = OpenRoot(t);
  const std::vector<ListedEntry> first = ReadFrom(t, handle, 0, 102);
  ASSERT_EQ(first.back().name, "0000099");
  t.executor.RunReady();
  ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, "0000100")).ok());
  const std::vector<ListedEntry> next = ReadFrom(t, handle, first.back().next_offset, 100);
  ASSERT_FALSE(next.empty());
  EXPECT_EQ(next[0].name, "0000101");
  // Who changes it as it goes on has no more walked over in vain.
  const uint64_t walks = t.store->walks();
  t.executor.RunReady();
  EXPECT_EQ(t.store->walks(), walks);
  t.fs->ReleaseDirectory(handle);
}

TEST(Directory, AttributesAreAskedForWhenTheyAreWanted) {
  OpsFixture t;
  MakeMany(t, 0, 3000);
  const DirectoryHandle handle = OpenRoot(t);
  CollectingSink first(102);
  ASSERT_TRUE(t.Run(t.fs->ReadDirectoryPlus(handle, 0, first)).ok());
  t.executor.RunReady();
  CollectingSink plus(100);
  ASSERT_TRUE(t.Run(t.fs->ReadDirectoryPlus(handle, first.entries.back().next_offset, plus)).ok());
  ASSERT_EQ(plus.entries.size(), 100u);
  EXPECT_EQ(plus.entries[0].name, "0000100");
  EXPECT_TRUE(plus.entries[0].counted);
  const uint64_t walks = t.store->walks();
  t.executor.RunReady();
  EXPECT_EQ(t.store->walks(), walks) << "names alone are of no use to it";
  t.fs->ReleaseDirectory(handle);
}

Task<void> OneTurn(Executor& executor) {
  co_await executor.Yield();
}

// Whether the background is in the middle of a walk, after a few turns.
bool LetTheWalkBegin(OpsFixture& t) {
  for (int turns = 0; turns < 10 && t.store->pins() == 0; ++turns) {
    t.Run(OneTurn(t.executor));
  }
  return t.store->pins() == 1;
}

TEST(Directory, ARequestThatTheBackgroundKeepsWaitingFillsItsAnswerItself) {
  // Every step of a walk waits, as for a device.
  OpsFixture t(MemoryStoreOptions{1, 5});
  MakeMany(t, 0, 3000);
  const DirectoryHandle handle = OpenRoot(t);
  const std::vector<ListedEntry> first = ReadFrom(t, handle, 0, 12);
  ASSERT_EQ(first.size(), 12u);
  ASSERT_TRUE(LetTheWalkBegin(t));
  CollectingSink sink(2000);
  bool answered = false;
  SpawnOn(t.executor,
          [](OpsFixture& of, DirectoryHandle of_handle, uint64_t offset, DirectorySink& into,
             bool& done) -> Task<void> {
            EXPECT_TRUE((co_await of.fs->ReadDirectory(of_handle, offset, into)).ok());
            done = true;
          }(t, handle, first.back().next_offset, sink, answered));
  while (!answered) {
    t.Run(OneTurn(t.executor));
    t.clock.AdvanceTo(t.clock.MonotonicNanos() + ListingAhead::kPatienceNanos);
  }
  ASSERT_EQ(sink.entries.size(), 2000u);
  for (size_t i = 0; i < sink.entries.size(); ++i) {
    ASSERT_EQ(sink.entries[i].name, fmt::format("{:07}", i + 10));
    ASSERT_EQ(sink.entries[i].next_offset, i + 13);
  }
  t.fs->ReleaseDirectory(handle);
}

TEST(Directory, AWalkAheadEndsWithTheMount) {
  for (const bool release : {false, true}) {
    OpsFixture t(MemoryStoreOptions{1, 5});
    MakeMany(t, 0, 600);
    const DirectoryHandle handle = OpenRoot(t);
    ASSERT_FALSE(ReadFrom(t, handle, 0, 10).empty());
    // Every step of it waits, as for a device.
    ASSERT_TRUE(LetTheWalkBegin(t));
    if (release) {
      t.fs->ReleaseDirectory(handle);
    }
    t.Unmount();
    EXPECT_EQ(t.store->pins(), 0u);
    t.Mount();
  }
}

TEST(Directory, AListingEndsThoughEachNameThatItShowsAddsOneBehindAll) {
  for (const int files : {5, 200}) {
    OpsFixture t;
    MakeMany(t, 0, files);
    const DirectoryHandle handle = OpenRoot(t);
    uint64_t offset = 0;
    int made = 0;
    for (std::vector<ListedEntry> entries;
         made < 1000 && !(entries = ReadFrom(t, handle, offset, 100)).empty();) {
      offset = entries.back().next_offset;
      for (size_t i = 0; i < entries.size(); ++i) {
        t.Make(kRootInode, fmt::format("new{:07}", made++));
      }
    }
    EXPECT_EQ(made, files + 2);
    t.fs->ReleaseDirectory(handle);
  }
}

TEST(Directory, AnOffsetMeansItsPlaceWhateverWasRemovedAndMadeSince) {
  OpsFixture t;
  MakeMany(t, 0, 5000);
  const DirectoryHandle handle = OpenRoot(t);
  std::vector<ListedEntry> all;
  for (std::vector<ListedEntry> entries;
       !(entries = ReadFrom(t, handle, all.empty() ? 0 : all.back().next_offset, 700)).empty();) {
    all.insert(all.end(), entries.begin(), entries.end());
  }
  ASSERT_EQ(all.size(), 5002u);
  for (size_t i = 2; i < all.size(); i += 2) {
    ASSERT_TRUE(t.Run(t.fs->Unlink(kRootInode, all[i].name)).ok());
    t.Make(kRootInode, all[i].name + "b");
  }
  for (const size_t at : {4000u, 3u, 2u, 1999u, 4998u, 1024u, 0u}) {
    const std::vector<ListedEntry> two = ReadFrom(t, handle, all[at].next_offset, 2);
    ASSERT_FALSE(two.empty());
    for (const ListedEntry& entry : two) {
      const size_t expected = entry.next_offset - 1;
      EXPECT_EQ(entry.name, all[expected].name);
      EXPECT_TRUE(expected < 2 || expected % 2 == 1);
      EXPECT_LE(expected, at + 4);
    }
  }
  t.fs->ReleaseDirectory(handle);
}

TEST(Directory, AnyOffsetThatWasGivenOutIsAPlaceToGoOnFrom) {
  OpsFixture t;
  MakeMany(t, 0, 5000);
  const Result<OpenedDirectory> opened = t.Run(t.fs->OpenDirectory(kRootInode));
  ASSERT_TRUE(opened.ok());
  CollectingSink all(10'000);
  ASSERT_TRUE(t.Run(t.fs->ReadDirectory(opened->handle, 0, all)).ok());
  ASSERT_EQ(all.entries.size(), 5002u);
  for (const size_t at : {4999u, 0u, 1u, 2u, 1023u, 1024u, 1025u, 1026u, 3000u, 2048u, 5001u}) {
    CollectingSink one(1);
    ASSERT_TRUE(t.Run(t.fs->ReadDirectory(opened->handle, all.entries[at].next_offset, one)).ok());
    if (at == 5001) {
      EXPECT_TRUE(one.entries.empty());
    } else {
      ASSERT_EQ(one.entries.size(), 1u);
      EXPECT_EQ(one.entries[0].name, all.entries[at + 1].name);
    }
  }
  t.fs->ReleaseDirectory(opened->handle);
}

TEST(Directory, PlusTakesAttributesFromWhatItWalksOver) {
  OpsFixture t;
  MakeMany(t, 0, 300);
  const InodeNumber first = t.Run(t.fs->Lookup(kRootInode, "0000000"))->inode;
  ASSERT_TRUE(t.Write(first, 0, std::string(700, 'c')).ok());
  const uint64_t gets = t.store->gets();
  const std::vector<ListedEntry> listed = t.List(kRootInode, true);
  EXPECT_EQ(listed.size(), 302u);
  EXPECT_LT(t.store->gets() - gets, 10u);
  for (const ListedEntry& entry : listed) {
    EXPECT_EQ(entry.counted, entry.name.size() == 7);
  }
  EXPECT_EQ(t.Get(first).size, 700u);
}

// A file that is renamed behind the back of the walk that shows it where it was.
TEST(Directory, PlusGivesNodesThePlaceThatTheyHave) {
  OpsFixture t({.waits_one_in = 1});
  MakeMany(t, 0, 50);
  const DirectoryHandle handle = OpenRoot(t);
  CollectingSink sink(100);
  std::vector<Task<Status>> both;
  both.push_back(t.fs->ReadDirectoryPlus(handle, 0, sink));
  both.push_back(t.fs->Rename(kRootInode, "0000049", kRootInode, "z", 0));
  const auto run = [](std::vector<Task<Status>> tasks) -> Task<Status> {
    co_return co_await WhenAllOk(std::move(tasks));
  };
  ASSERT_TRUE(t.Run(run(std::move(both))).ok());
  ASSERT_EQ(sink.entries.size(), 52u);
  EXPECT_EQ(sink.entries.back().name, "0000049") << "the walk has seen it before";
  for (const ListedEntry& entry : sink.entries) {
    if (entry.counted) {
      EXPECT_TRUE(t.Run(t.fs->GetAttributes(entry.inode)).ok()) << entry.name;
    }
  }
  t.fs->ReleaseDirectory(handle);
}

TEST(Directory, PlusCountsALookupForEachEntryItGave) {
  OpsFixture t;
  MakeMany(t, 0, 10);
  const DirectoryHandle handle = OpenRoot(t);
  CollectingSink sink(8);
  ASSERT_TRUE(t.Run(t.fs->ReadDirectoryPlus(handle, 0, sink)).ok());
  ASSERT_EQ(sink.entries.size(), 8u);
  EXPECT_FALSE(sink.entries[0].counted);
  EXPECT_TRUE(sink.entries[2].counted);
  // "." and ".." aside; the entry that did not fit is not counted.
  EXPECT_EQ(t.fs->Statistics().nodes, 1u + 6u);
  t.fs->ReleaseDirectory(handle);
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
