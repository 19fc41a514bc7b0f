#include "engine/device/background_pace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "engine/ring/local_executor.h"
#include "engine/ring/when_all.h"
#include "tests/support/manual_clock.h"

namespace varve {
namespace {

constexpr uint64_t kMicros = 1000;
constexpr uint64_t kMillis = 1'000'000;

class BackgroundPaceTest : public testing::Test {
 protected:
  BackgroundPaceTest() { clock_.Advance(kMillis); }

  bool Applies() {
    return executor_.Run([](BackgroundPace& pace) -> Task<bool> { co_return pace.Applies(); }(pace_));
  }
  // One piece, which the device has done at `done_nanos`.
  Task<void> Move(uint64_t done_nanos, uint64_t bytes = BackgroundPace::kPieceBytes) {
    const uint64_t begin = clock_.MonotonicNanos();
    most_pieces_ = std::max(most_pieces_, pace_.pieces());
    co_await Executor::Current().Sleep(done_nanos - begin);
    pace_.End(BackgroundPace::Direction::kWrite, bytes, clock_.MonotonicNanos() - begin);
  }
  // Of a device that does one after the other.
  Task<Status> MoveInTurn(int pieces, uint64_t nanos) {
    for (int i = 0; i < pieces; ++i) {
      co_await pace_.Begin();
      device_free_ = std::max(device_free_, clock_.MonotonicNanos()) + nanos;
      co_await Move(device_free_);
    }
    co_return Status();
  }
  // Of one that is far away, and does as many at once as come.
  Task<Status> MoveAside(int pieces, uint64_t nanos, uint64_t bytes = BackgroundPace::kPieceBytes) {
    for (int i = 0; i < pieces; ++i) {
      co_await pace_.Begin();
      co_await Move(clock_.MonotonicNanos() + nanos, bytes);
    }
    co_return Status();
  }
  Task<Status> MoveAndNote(std::vector<int>& order, int number) {
    co_await pace_.Begin();
    order.push_back(number);
    co_await Move(clock_.MonotonicNanos() + kMillis);
    co_return Status();
  }
  void RunAll(std::vector<Task<Status>> users) {
    EXPECT_TRUE(executor_.Run(WhenAllOk(std::move(users))).ok());
  }

  ManualClock clock_;
  LocalExecutor executor_{clock_, [this](uint64_t due) { clock_.AdvanceTo(due); }};
  uint64_t served_ = 0;
  BackgroundPace pace_{executor_, [this] { return served_; }};
  uint64_t device_free_ = 0;
  uint32_t most_pieces_ = 0;
};

TEST_F(BackgroundPaceTest, AppliesWhileRequestsCome) {
  EXPECT_FALSE(Applies());
  clock_.Advance(10 * kMillis);
  ++served_;
  EXPECT_TRUE(Applies());
  clock_.Advance(BackgroundPace::kBusyNanos - 1);
  EXPECT_TRUE(Applies());
  clock_.Advance(1);
  EXPECT_FALSE(Applies());
  clock_.Advance(kMillis);
  ++served_;
  EXPECT_TRUE(Applies());
}

TEST_F(BackgroundPaceTest, NeverAppliesToOthers) {
  ++served_;
  EXPECT_TRUE(Applies());
  LocalExecutor other(clock_);
  EXPECT_FALSE(other.Run([](BackgroundPace& pace) -> Task<bool> { co_return pace.Applies(); }(pace_)));
}

TEST_F(BackgroundPaceTest, NothingStandsInLineAtADeviceThatDoesOneAfterTheOther) {
  std::vector<Task<Status>> users;
  for (int i = 0; i < 20; ++i) {
    users.push_back(MoveInTurn(200, 30 * kMicros));
  }
  const uint64_t begin = clock_.MonotonicNanos();
  RunAll(std::move(users));
  EXPECT_GE(most_pieces_, 2u);
  EXPECT_LE(most_pieces_, 4u);
  // Nor does it wait for the next one.
  EXPECT_EQ(clock_.MonotonicNanos() - begin, 20u * 200 * 30 * kMicros);
}

TEST_F(BackgroundPaceTest, AFarDeviceIsKeptBusy) {
  std::vector<Task<Status>> users;
  for (int i = 0; i < 100; ++i) {
    users.push_back(MoveAside(100, kMillis));
  }
  RunAll(std::move(users));
  EXPECT_EQ(most_pieces_, BackgroundPace::kPiecesMax);
}

TEST_F(BackgroundPaceTest, AFarDeviceIsKeptBusyBySmallPiecesToo) {
  std::vector<Task<Status>> users;
  for (int i = 0; i < 100; ++i) {
    users.push_back(MoveAside(100, kMillis, 4096));
  }
  RunAll(std::move(users));
  EXPECT_EQ(most_pieces_, BackgroundPace::kPiecesMax);
}

TEST_F(BackgroundPaceTest, FollowsADeviceThatBecomesSlower) {
  std::vector<Task<Status>> far;
  for (int i = 0; i < 100; ++i) {
    far.push_back(MoveAside(100, kMillis));
  }
  RunAll(std::move(far));
  std::vector<Task<Status>> in_turn;
  for (int i = 0; i < 100; ++i) {
    in_turn.push_back(MoveInTurn(100, kMillis));
  }
  RunAll(std::move(in_turn));
  EXPECT_LE(pace_.pieces_max(), 4u);
}

TEST_F(BackgroundPaceTest, TurnsComeInTheOrderOfArrival) {
  std::vector<int> order;
  std::vector<Task<Status>> users;
  for (int i = 0; i < 10; ++i) {
    users.push_back(MoveAndNote(order, i));
  }
  RunAll(std::move(users));
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(order.size(), 10u);
  EXPECT_EQ(pace_.pieces(), 0u);
}

}  // namespace
}  // namespace varve
