#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "engine/ring/async_event.h"
#include "engine/ring/async_mutex.h"
#include "engine/ring/local_executor.h"
#include "engine/ring/when_all.h"
#include "tests/support/manual_clock.h"

namespace varve {
namespace {

class AsyncTest : public testing::Test {
 protected:
  SystemClock clock_;
  LocalExecutor executor_{clock_};
};

Task<int> Immediately(int n) {
  co_return n;
}

Task<int> AfterYields(int n, int yields) {
  for (int i = 0; i < yields; ++i) {
    co_await Executor::Current().Yield();
  }
  co_return n;
}

Task<uint64_t> SumOfReady(uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    sum += static_cast<uint64_t>(co_await Immediately(1));
  }
  co_return sum;
}

TEST_F(AsyncTest, LoopOverReadyResultsUsesNoStack) {
  EXPECT_EQ(executor_.Run(SumOfReady(1'000'000)), 1'000'000u);
}

TEST_F(AsyncTest, WhenAllKeepsTheOrderOfTasksWhateverTheirOrderOfEnding) {
  std::vector<Task<int>> tasks;
  tasks.push_back(AfterYields(1, 5));
  tasks.push_back(Immediately(2));
  tasks.push_back(AfterYields(3, 1));
  EXPECT_EQ(executor_.Run(WhenAll(std::move(tasks))), (std::vector<int>{1, 2, 3}));
}

TEST_F(AsyncTest, WhenAllOfNothingEnds) {
  EXPECT_TRUE(executor_.Run(WhenAll(std::vector<Task<int>>())).empty());
}

Task<Status> EndsWith(Status status, int yields) {
  for (int i = 0; i < yields; ++i) {
    co_await Executor::Current().Yield();
  }
  co_return status;
}

TEST_F(AsyncTest, WhenAllOkGivesTheFirstErrorInOrder) {
  std::vector<Task<Status>> tasks;
  tasks.push_back(EndsWith(OkStatus(), 0));
  tasks.push_back(EndsWith(NoSpace("slow"), 3));
  tasks.push_back(EndsWith(Corruption("fast"), 0));
  EXPECT_EQ(executor_.Run(WhenAllOk(std::move(tasks))).ToString(), NoSpace("slow").ToString());
}

Task<void> SleepThenNote(uint64_t nanos, std::string note, std::string& notes) {
  co_await Executor::Current().Sleep(nanos);
  notes += note;
}

Task<void> SleepInDisorder(std::string& notes) {
  Spawn(SleepThenNote(3'000, "c", notes));
  Spawn(SleepThenNote(1'000, "a", notes));
  Spawn(SleepThenNote(3'000, "d", notes));
  Spawn(SleepThenNote(2'000, "b", notes));
  co_await Executor::Current().Sleep(4'000);
}

TEST(LocalExecutorTest, TimersFireInOrderOfTimeThenOfSetting) {
  ManualClock clock;
  LocalExecutor executor(clock, [&clock](uint64_t due) { clock.AdvanceTo(due); });
  std::string notes;
  executor.Run(SleepInDisorder(notes));
  EXPECT_EQ(notes, "abcd");
  EXPECT_EQ(clock.MonotonicNanos(), 4'000u);
}

Task<void> SleepOnce(uint64_t nanos) {
  co_await Executor::Current().Sleep(nanos);
}

TEST_F(AsyncTest, SleepTakesAtLeastItsTimeOfTheSystemClock) {
  const uint64_t start = clock_.MonotonicNanos();
  executor_.Run(SleepOnce(20'000'000));
  EXPECT_GE(clock_.MonotonicNanos() - start, 20'000'000u);
}

Task<void> HoldAndNote(AsyncMutex& mutex, int id, int yields, std::vector<int>& order) {
  AsyncMutex::Guard guard = co_await mutex.Lock();
  order.push_back(id);
  for (int i = 0; i < yields; ++i) {
    co_await Executor::Current().Yield();
  }
}

Task<void> ContendInOrder(AsyncMutex& mutex, std::vector<int>& order) {
  for (int id = 0; id < 5; ++id) {
    Spawn(HoldAndNote(mutex, id, id == 0 ? 10 : 1, order));
  }
  AsyncMutex::Guard last = co_await mutex.Lock();
}

TEST_F(AsyncTest, MutexIsHandedOverInTheOrderOfArrival) {
  AsyncMutex mutex;
  std::vector<int> order;
  executor_.Run(ContendInOrder(mutex, order));
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST_F(AsyncTest, TryLockFailsWhileHeldAndSucceedsAfterwards) {
  AsyncMutex mutex;
  AsyncMutex::Guard guard = mutex.TryLock();
  EXPECT_TRUE(guard.holds());
  EXPECT_FALSE(mutex.TryLock().holds());
  guard.Unlock();
  EXPECT_TRUE(mutex.TryLock().holds());
}

Task<void> AddUnderMutex(AsyncMutex& mutex, uint64_t& shared, int times, Executor& home, bool& strayed) {
  for (int i = 0; i < times; ++i) {
    AsyncMutex::Guard guard = co_await mutex.Lock();
    strayed = strayed || &Executor::Current() != &home;
    const uint64_t seen = shared;
    if (i % 3 == 0) {
      co_await home.Yield();
    }
    shared = seen + 1;
  }
}

TEST(AsyncThreadsTest, MutexExcludesAcrossExecutorsAndResumesEachAtHome) {
  constexpr int kThreads = 3;
  constexpr int kTimes = 3000;
  AsyncMutex mutex;
  uint64_t shared = 0;
  SystemClock clock;
  std::vector<std::thread> threads;
  std::array<bool, kThreads> strayed{};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&mutex, &shared, &clock, &strayed, t] {
      LocalExecutor executor(clock);
      executor.Run(AddUnderMutex(mutex, shared, kTimes, executor, strayed[t]));
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(shared, uint64_t{kThreads} * kTimes);
  EXPECT_FALSE(strayed[0] || strayed[1] || strayed[2]);
}

Task<void> WaitFor(AsyncEvent& event, int& seen, const int& written) {
  co_await event.Wait();
  seen = written;
}

TEST_F(AsyncTest, EventStaysSetUntilReset) {
  AsyncEvent event;
  EXPECT_FALSE(event.IsSet());
  event.Set();
  event.Set();
  int seen = 0;
  const int written = 7;
  executor_.Run(WaitFor(event, seen, written));
  EXPECT_EQ(seen, 7);
  event.Reset();
  EXPECT_FALSE(event.IsSet());
}

TEST(AsyncThreadsTest, EventSetByAnotherThreadPublishesWhatCameBefore) {
  for (int round = 0; round < 300; ++round) {
    AsyncEvent event;
    int written = 0;
    std::thread setter([&event, &written] {
      written = 42;
      event.Set();
    });
    SystemClock clock;
    LocalExecutor executor(clock);
    int seen = 0;
    executor.Run(WaitFor(event, seen, written));
    setter.join();
    EXPECT_EQ(seen, 42);
  }
}

Task<int> WorkElsewhere(Executor& there, Executor& home) {
  co_await there.Switch();
  const int id = &Executor::Current() == &there ? 1 : 0;
  co_await home.Switch();
  co_return id;
}

Task<int> SwitchBackAndForth(Executor& there, int times) {
  Executor& home = Executor::Current();
  int sum = 0;
  for (int i = 0; i < times; ++i) {
    sum += co_await WorkElsewhere(there, home);
  }
  co_return sum;
}

TEST(AsyncThreadsTest, SwitchRunsOnTheOtherExecutorAndComesBack) {
  SystemClock clock;
  LocalExecutor home(clock);
  AsyncEvent end;
  LocalExecutor there(clock);
  int seen = 0;
  const int written = 0;
  std::thread thread([&there, &end, &seen, &written] { there.Run(WaitFor(end, seen, written)); });
  EXPECT_EQ(home.Run(SwitchBackAndForth(there, 2000)), 2000);
  end.Set();
  thread.join();
}

}  // namespace
}  // namespace varve
