// Several executors on several threads, as reactors are.
#include <fmt/core.h>
#include <stdio.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "engine/base/prng.h"
#include "engine/ring/when_all.h"
#include "fs/ops/check_namespace.h"
#include "tests/fs/ops/ops_fixture.h"
#include "tests/support/read_as_mounted.h"

namespace varve {
namespace {

class CountingSink final : public NamespaceCheckSink {
 public:
  void Problem(const NamespaceProblem& problem) override {
    ADD_FAILURE() << "inode " << problem.inode.value << ": " << problem.what;
  }
  void Progress(uint64_t) override {}
};

// Random operations on few names, so that they meet. Outcomes depend on the others; errors that no order of
// operations can give are failures.
class Worker {
 public:
  Worker(FileSystem& fs, InodeNumber left, InodeNumber right, uint64_t seed)
      : fs_(fs), directories_{left, right}, prng_(seed) {}

  Task<Status> Run(int operations) {
    for (int i = 0; i < operations; ++i) {
      const Status done = co_await One();
      if (!done.ok() && !Legitimate(done.error().code())) {
        ADD_FAILURE() << done.ToString();
      }
    }
    co_return Status();
  }

 private:
  static bool Legitimate(ErrorCode code) {
    return code == ErrorCode::kNotFound || code == ErrorCode::kExists || code == ErrorCode::kNotEmpty ||
           code == ErrorCode::kIsDirectory || code == ErrorCode::kNotDirectory;
  }

  Task<Status> One() {
    const InodeNumber parent = directories_[prng_.Below(2)];
    const InodeNumber other = directories_[prng_.Below(2)];
    const std::string name = "n" + std::to_string(prng_.Below(6));
    const std::string other_name = "n" + std::to_string(prng_.Below(6));
    switch (prng_.Below(8)) {
      case 0: {
        Result<Attributes> made = co_await fs_.MakeNode(parent, name, S_IFREG | 0644, 0, Caller{});
        if (made.ok()) {
          fs_.Forget(made->inode, 1);
        }
        co_return made.status();
      }
      case 1: {
        Result<Attributes> made = co_await fs_.MakeDirectory(parent, name, 0755, Caller{});
        if (made.ok()) {
          fs_.Forget(made->inode, 1);
        }
        co_return made.status();
      }
      case 2:
        co_return co_await fs_.Unlink(parent, name);
      case 3:
        co_return co_await fs_.RemoveDirectory(parent, name);
      case 4:
        co_return co_await fs_.Rename(parent, name, other, other_name, 0);
      case 5:
        co_return co_await fs_.Rename(parent, name, other, other_name, RENAME_EXCHANGE);
      default:
        co_return co_await WriteAndRead(parent, name, other, other_name);
    }
  }

  // Each write covers the whole file with one letter: a read must never see two.
  Task<Status> WriteAndRead(InodeNumber parent, std::string_view name, InodeNumber other,
                            std::string_view other_name) {
    Result<Attributes> found = co_await fs_.Lookup(parent, name);
    if (!found.ok()) {
      co_return found.status();
    }
    const InodeNumber inode = found->inode;
    if (S_ISREG(found->mode)) {
      const std::string data(12'000, static_cast<char>('a' + prng_.Below(26)));
      Result<size_t> written = co_await fs_.Write(inode, 0, data, WriteFlags{});
      EXPECT_TRUE(written.ok()) << written.ToString();
      std::string into(12'000, '?');
      Result<size_t> read = co_await ReadAsMounted(fs_, inode, 0, std::span<char>(into), &recent_);
      EXPECT_TRUE(read.ok() && *read == 12'000u) << read.ToString();
      EXPECT_EQ(into.find_first_not_of(into[0]), std::string::npos) << "a torn read";
      // Nobody may have changed it since it was read.
      read = co_await ReadAsMounted(fs_, inode, 0, std::span<char>(into), &recent_);
      EXPECT_TRUE(read.ok() && *read == 12'000u) << read.ToString();
      EXPECT_EQ(into.find_first_not_of(into[0]), std::string::npos) << "a torn read";
      Result<Attributes> linked = co_await fs_.Link(inode, other, other_name);
      if (linked.ok()) {
        fs_.Forget(inode, 1);
      }
    }
    Result<Attributes> attributes = co_await fs_.GetAttributes(inode);
    EXPECT_TRUE(attributes.ok()) << attributes.ToString();
    fs_.Forget(inode, 1);
    co_return Status();
  }

  FileSystem& fs_;
  RecentFiles recent_;
  const InodeNumber directories_[2];
  Prng prng_;
};

Task<Status> RunBoth(Worker& first, Worker& second, int operations) {
  std::vector<Task<Status>> both;
  both.push_back(first.Run(operations));
  both.push_back(second.Run(operations));
  co_return co_await WhenAllOk(std::move(both));
}

void RunWorkers(uint64_t waits_one_in, int operations) {
  OpsFixture t(MemoryStoreOptions{waits_one_in, 5});
  const InodeNumber left = t.Make(kRootInode, "left", S_IFDIR | 0755);
  const InodeNumber right = t.Make(kRootInode, "right", S_IFDIR | 0755);
  std::vector<std::thread> threads;
  std::atomic<int> running{3};
  const SystemClock clock;
  for (uint64_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      LocalExecutor executor(clock);
      Worker first(*t.fs, left, right, i * 2 + 1);
      Worker second(*t.fs, left, right, i * 2 + 2);
      const Status done = executor.Run(RunBoth(first, second, operations));
      EXPECT_TRUE(done.ok());
      --running;
    });
  }
  // The background executor is the fixture's own.
  while (running.load() > 0) {
    t.executor.RunReady();
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  ASSERT_TRUE(t.Run(t.fs->FinishRemovals()).ok());
  CountingSink sink;
  const Result<NamespaceSummary> checked = t.Run(CheckNamespace(*t.store, sink));
  ASSERT_TRUE(checked.ok()) << checked.ToString();
  EXPECT_EQ(checked->problems, 0u);
  EXPECT_EQ(checked->orphans, 0u);
  EXPECT_EQ(t.fs->Statistics().nodes, 3u) << "lookups and forgets do not balance";
}

// Lists a directory again and again: names that are there all the time are in it, once, in order.
Task<Status> ListOften(FileSystem& fs, InodeNumber directory, int files, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const Result<OpenedDirectory> opened = co_await fs.OpenDirectory(directory);
    EXPECT_TRUE(opened.ok());
    int seen = 0;
    uint64_t offset = 0;
    while (true) {
      CollectingSink sink(150);
      // As the kernel begins.
      const bool plus = offset == 0 && round % 2 == 0;
      const Status listed = plus ? co_await fs.ReadDirectoryPlus(opened->handle, offset, sink)
                                 : co_await fs.ReadDirectory(opened->handle, offset, sink);
      EXPECT_TRUE(listed.ok()) << listed.ToString();
      for (const ListedEntry& entry : sink.entries) {
        if (entry.counted) {
          fs.Forget(entry.inode, 1);
        }
      }
      if (sink.entries.empty()) {
        break;
      }
      offset = sink.entries.back().next_offset;
      for (const ListedEntry& entry : sink.entries) {
        seen += entry.name == fmt::format("stays{:05}", seen) ? 1 : 0;
      }
      co_await Executor::Current().Yield();
    }
    EXPECT_EQ(seen, files);
    fs.ReleaseDirectory(opened->handle);
  }
  co_return Status();
}

Task<Status> ComeAndGo(FileSystem& fs, InodeNumber directory, const std::atomic<int>& listers) {
  for (uint64_t i = 0; listers.load() > 0; ++i) {
    const std::string name = fmt::format("stays{:05}b", i * 7 % 2000);
    const Result<Attributes> made = co_await fs.MakeNode(directory, name, S_IFREG | 0644, 0, Caller{});
    if (made.ok()) {
      fs.Forget(made->inode, 1);
      EXPECT_TRUE((co_await fs.Unlink(directory, name)).ok());
    }
    // Listings get through without a change now and then.
    co_await Executor::Current().Sleep(200'000);
  }
  co_return Status();
}

TEST(Concurrency, ListingsAndTheWalksAheadOfThemTakeTurns) {
  constexpr int kFiles = 2000;
  OpsFixture t(MemoryStoreOptions{64, 5});
  const InodeNumber directory = t.Make(kRootInode, "directory", S_IFDIR | 0755);
  for (int i = 0; i < kFiles; ++i) {
    t.fs->Forget(t.Make(directory, fmt::format("stays{:05}", i)), 1);
  }
  std::atomic<int> listers{2};
  std::atomic<int> running{3};
  const SystemClock clock;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      LocalExecutor executor(clock);
      if (i == 2) {
        EXPECT_TRUE(executor.Run(ComeAndGo(*t.fs, directory, listers)).ok());
      } else {
        EXPECT_TRUE(executor.Run(ListOften(*t.fs, directory, kFiles, 60)).ok());
        --listers;
      }
      --running;
    });
  }
  // The background, which walks ahead.
  while (running.load() > 0) {
    t.executor.RunReady();
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST(Concurrency, ThreeThreadsOnTheSameNamesLeaveAConsistentNamespaceAndNoTornRead) {
  RunWorkers(0, 6000);
}

TEST(Concurrency, TheSameHoldsWhenOperationsWaitAndInterleave) {
  RunWorkers(4, 3000);
}

}  // namespace
}  // namespace varve
