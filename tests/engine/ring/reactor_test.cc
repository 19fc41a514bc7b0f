#include "engine/ring/reactor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <liburing.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "engine/ring/async_event.h"
#include "engine/ring/async_mutex.h"
#include "engine/ring/when_all.h"

namespace varve {
namespace {

class ReactorTest : public testing::Test {
 protected:
  std::unique_ptr<Reactor> Create(const ReactorOptions& options = {}) {
    Result<std::unique_ptr<Reactor>> reactor = Reactor::Create(options, clock_);
    EXPECT_TRUE(reactor.ok()) << reactor.ToString();
    return std::move(*reactor);
  }

  SystemClock clock_;
};

// A file in memory, gone with the test.
class ScratchFile {
 public:
  ScratchFile() : fd_(memfd_create("reactor_test", MFD_CLOEXEC)) { EXPECT_GE(fd_, 0); }
  ~ScratchFile() { close(fd_); }
  int fd() const { return fd_; }

 private:
  int fd_;
};

Task<std::string> WriteThenRead(Reactor& reactor, int fd) {
  const std::string text = "a value";
  const int32_t written = co_await reactor.Write(fd, text.data(), static_cast<uint32_t>(text.size()), 100);
  EXPECT_EQ(written, 7);
  const int32_t synced = co_await reactor.DataSync(fd);
  EXPECT_EQ(synced, 0);
  std::string read(64, '\0');
  const int32_t got = co_await reactor.Read(fd, read.data(), 64, 100);
  EXPECT_EQ(got, 7);
  read.resize(static_cast<size_t>(got));
  co_return read;
}

TEST_F(ReactorTest, ReadsBackWhatItWrote) {
  const ScratchFile file;
  const std::unique_ptr<Reactor> reactor = Create();
  EXPECT_EQ(RunBlocking(*reactor, WriteThenRead(*reactor, file.fd())), "a value");
}

Task<int32_t> ReadBadDescriptor(Reactor& reactor) {
  char byte;
  const int32_t result = co_await reactor.Read(-1, &byte, 1, 0);
  co_return result;
}

TEST_F(ReactorTest, AnErrorOfTheKernelComesBackAsNegativeErrno) {
  const std::unique_ptr<Reactor> reactor = Create();
  EXPECT_EQ(RunBlocking(*reactor, ReadBadDescriptor(*reactor)), -EBADF);
}

Task<int> CountNops(Reactor& reactor, int count) {
  std::vector<Task<int32_t>> tasks;
  struct Nop {
    static Task<int32_t> Run(Reactor& on) {
      const IoAwaiter::Request nop;
      const int32_t result = co_await on.Submit(nop);
      co_return result;
    }
  };
  for (int i = 0; i < count; ++i) {
    tasks.push_back(Nop::Run(reactor));
  }
  const std::vector<int32_t> results = co_await WhenAll(std::move(tasks));
  int good = 0;
  for (const int32_t result : results) {
    good += result == 0 ? 1 : 0;
  }
  co_return good;
}

TEST_F(ReactorTest, MoreOperationsThanBothQueuesHoldAllComplete) {
  const std::unique_ptr<Reactor> reactor = Create(ReactorOptions{.entries = 8, .completion_entries = 16});
  EXPECT_EQ(RunBlocking(*reactor, CountNops(*reactor, 5000)), 5000);
}

TEST_F(ReactorTest, WideEntriesCarryOrdinaryOperationsToo) {
  const ScratchFile file;
  const std::unique_ptr<Reactor> reactor = Create(ReactorOptions{.entries = 8, .wide_entries = true});
  EXPECT_EQ(RunBlocking(*reactor, CountNops(*reactor, 100)), 100);
  EXPECT_EQ(RunBlocking(*reactor, WriteThenRead(*reactor, file.fd())), "a value");
}

class CountingCompletion final : public Completion {
 public:
  void OnComplete(int32_t result, uint32_t) override {
    ++count;
    last = result;
    done = true;
  }
  int count = 0;
  int32_t last = 0;
  bool done = false;
};

TEST_F(ReactorTest, CancelEndsAnOperationThatWouldNeverEnd) {
  const int event = eventfd(0, EFD_CLOEXEC);
  const std::unique_ptr<Reactor> reactor = Create();
  CountingCompletion completion;
  io_uring_prep_poll_add(reactor->Prepare(&completion), event, POLLIN);
  reactor->Cancel(completion);
  reactor->RunUntil(completion.done);
  EXPECT_EQ(completion.last, -ECANCELED);
  EXPECT_EQ(completion.count, 1);
  close(event);
}

// How many nudges `other` has seen, once there was one; 0 after 10 seconds without.
Task<uint64_t> NudgeUntilSeen(Reactor& self, Reactor& other) {
  for (int i = 0; i < 10'000; ++i) {
    self.Nudge(other);
    co_await self.Sleep(1'000'000);
    co_await other.Switch();
    const uint64_t seen = other.counters().nudged;
    co_await self.Switch();
    if (seen > 0) {
      co_return seen;
    }
  }
  co_return 0;
}

TEST_F(ReactorTest, ANudgeWakesWhoSleepsAndNobodyElse) {
  for (const bool wide : {false, true}) {
    const std::unique_ptr<Reactor> sleeper = Create(ReactorOptions{.wide_entries = wide});
    const std::unique_ptr<Reactor> nudger = Create(ReactorOptions{.wide_entries = wide});
    std::thread thread([&] { sleeper->Run(); });
    const uint64_t seen = RunBlocking(*nudger, NudgeUntilSeen(*nudger, *sleeper));
    sleeper->Stop();
    thread.join();
    if (nudger->counters().nudged > 0) {
      GTEST_SKIP() << "this kernel has no IORING_OP_MSG_RING";
    }
    EXPECT_EQ(seen, 1u);
    EXPECT_EQ(RunBlocking(*nudger, CountNops(*nudger, 100)), 100);
  }
}

TEST_F(ReactorTest, OperationsPreparedByATaskAreSubmittedWhenItEnds) {
  const ScratchFile file;
  const std::unique_ptr<Reactor> reactor = Create();
  struct Prepare {
    static Task<int> Run(Reactor& on, int fd, CountingCompletion& completion) {
      io_uring_prep_write(on.Prepare(&completion), fd, "abc", 3, 0);
      co_return 1;
    }
  };
  CountingCompletion completion;
  EXPECT_EQ(RunBlocking(*reactor, Prepare::Run(*reactor, file.fd(), completion)), 1);
  // The reactor does not run any more; a worker of the kernel may take its time.
  std::array<char, 4> read{};
  for (int i = 0; i < 5000 && pread(file.fd(), read.data(), 3, 0) != 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_STREQ(read.data(), "abc");
  reactor->RunUntil(completion.done);
}

Task<void> SleepFor(uint64_t nanos) {
  co_await Executor::Current().Sleep(nanos);
}

TEST_F(ReactorTest, SleepTakesAtLeastItsTime) {
  const std::unique_ptr<Reactor> reactor = Create();
  const uint64_t start = clock_.MonotonicNanos();
  RunBlocking(*reactor, SleepFor(30'000'000));
  EXPECT_GE(clock_.MonotonicNanos() - start, 30'000'000u);
}

Task<uint64_t> YieldUntil(const bool& stop) {
  uint64_t yields = 0;
  while (!stop) {
    co_await Executor::Current().Yield();
    ++yields;
  }
  co_return yields;
}

TEST_F(ReactorTest, CompletionsAreHandledBetweenBatchesOfPostedWork) {
  const ScratchFile file;
  const std::unique_ptr<Reactor> reactor = Create();
  CountingCompletion completion;
  io_uring_prep_write(reactor->Prepare(&completion), file.fd(), "x", 1, 0);
  EXPECT_GT(RunBlocking(*reactor, YieldUntil(completion.done)), 0u);
  EXPECT_EQ(completion.last, 1);
}

TEST_F(ReactorTest, WhoYieldsLetsCompletionsGoFirst) {
  const std::unique_ptr<Reactor> reactor = Create();
  CountingCompletion completion;
  // The kernel has done it when the turn that submits it comes back.
  io_uring_prep_nop(reactor->Prepare(&completion));
  EXPECT_LE(RunBlocking(*reactor, YieldUntil(completion.done)), 4u);
  EXPECT_EQ(completion.last, 0);
}

TEST_F(ReactorTest, LongPiecesOfPostedWorkHoldACompletionUpForOneOfThem) {
  const std::unique_ptr<Reactor> reactor = Create();
  CountingCompletion completion;
  struct Work {
    static Task<Status> Run(const bool& completed, int& before) {
      co_await Executor::Current().Yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      before += completed ? 0 : 1;
      co_return OkStatus();
    }
  };
  std::vector<Task<Status>> pieces;
  int before = 0;
  constexpr int kPieces = 40;
  for (int i = 0; i < kPieces; ++i) {
    pieces.push_back(Work::Run(completion.done, before));
  }
  io_uring_prep_nop(reactor->Prepare(&completion));
  const Status done = RunBlocking(*reactor, WhenAllOk(std::move(pieces)));
  EXPECT_TRUE(done.ok());
  EXPECT_LE(before, kPieces / 4);
}

Task<void> VisitBack(Executor& other, uint64_t& visits, int times) {
  Executor& home = Executor::Current();
  for (int i = 0; i < times; ++i) {
    co_await other.Switch();
    ++visits;
    co_await home.Switch();
  }
}

class ReactorThreadsTest : public ReactorTest, public testing::WithParamInterface<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(SpinNanos, ReactorThreadsTest, testing::Values(0, 50'000));

TEST_P(ReactorThreadsTest, NoPostIsLostWhenReactorsFallAsleepAndWake) {
  const std::unique_ptr<Reactor> served = Create(ReactorOptions{.spin_nanos = GetParam()});
  std::thread server([&served] { served->Run(); });
  constexpr int kVisitors = 2;
  constexpr int kTimes = 1500;
  std::array<uint64_t, kVisitors> visits{};
  std::vector<std::thread> visitors;
  for (int v = 0; v < kVisitors; ++v) {
    visitors.emplace_back([this, &served, &visits, v] {
      const std::unique_ptr<Reactor> own = Create(ReactorOptions{.spin_nanos = GetParam()});
      RunBlocking(*own, VisitBack(*served, visits[v], kTimes));
    });
  }
  for (std::thread& visitor : visitors) {
    visitor.join();
  }
  served->Stop();
  server.join();
  EXPECT_EQ(visits[0] + visits[1], uint64_t{kVisitors} * kTimes);
}

Task<void> WaitOn(AsyncEvent& event) {
  co_await event.Wait();
}

TEST_F(ReactorTest, AnotherThreadWakesASleepingReactor) {
  const std::unique_ptr<Reactor> reactor = Create();
  for (int round = 0; round < 200; ++round) {
    AsyncEvent event;
    std::thread setter([&event, round] {
      if (round % 2 == 0) {
        std::this_thread::yield();
      }
      event.Set();
    });
    RunBlocking(*reactor, WaitOn(event));
    setter.join();
  }
}

Task<void> Increment(AsyncMutex& mutex, uint64_t& shared, int times) {
  for (int i = 0; i < times; ++i) {
    AsyncMutex::Guard guard = co_await mutex.Lock();
    const uint64_t seen = shared;
    if (i % 4 == 0) {
      co_await Executor::Current().Yield();
    }
    shared = seen + 1;
  }
}

TEST_F(ReactorTest, MutexExcludesAcrossReactors) {
  AsyncMutex mutex;
  uint64_t shared = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([this, &mutex, &shared] {
      const std::unique_ptr<Reactor> reactor = Create();
      RunBlocking(*reactor, Increment(mutex, shared, 1000));
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(shared, 3000u);
}

TEST_F(ReactorTest, StopBeforeRunIsHonouredOnce) {
  const std::unique_ptr<Reactor> reactor = Create();
  reactor->Stop();
  reactor->Run();
  std::atomic<bool> stops_again{false};
  std::thread stopper([&] {
    // Long enough for a run that does not wait to come back.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stops_again = true;
    reactor->Stop();
  });
  reactor->Run();
  EXPECT_TRUE(stops_again);
  stopper.join();
}

TEST_F(ReactorTest, TellsHowLongItsTurnsTake) {
  const std::unique_ptr<Reactor> reactor = Create();
  struct Work {
    static Task<void> Run(std::chrono::milliseconds busy) {
      co_await Executor::Current().Sleep(50'000'000);  // is no turn
      std::this_thread::sleep_for(busy);
      co_await Executor::Current().Yield();
    }
  };
  RunBlocking(*reactor, Work::Run(std::chrono::milliseconds(0)));
  const uint64_t turns = reactor->turns().count();
  EXPECT_GT(turns, 0U);
  EXPECT_LT(reactor->turns().Quantile(0.5), 40'000'000U);
  RunBlocking(*reactor, Work::Run(std::chrono::milliseconds(20)));
  EXPECT_GT(reactor->turns().count(), turns);
  EXPECT_GE(reactor->turns().max(), 20'000'000U);
}

TEST_F(ReactorTest, PostsToAnAwakeReactorCostNoSystemCall) {
  const std::unique_ptr<Reactor> reactor = Create();
  const uint64_t enters_before = reactor->counters().enters;
  struct Loop {
    static Task<void> Run() {
      for (int i = 0; i < 10'000; ++i) {
        co_await Executor::Current().Yield();
      }
    }
  };
  RunBlocking(*reactor, Loop::Run());
  EXPECT_LE(reactor->counters().enters - enters_before, 2u);
}

}  // namespace
}  // namespace varve
