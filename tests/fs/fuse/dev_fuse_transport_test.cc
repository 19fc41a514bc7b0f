#include "fs/fuse/dev_fuse_transport.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <memory>

#include "engine/base/clock.h"
#include "engine/ring/async_event.h"

namespace varve {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;

// A pipe in place of the kernel's connection: what is written arrives as requests.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe2(ends_, O_CLOEXEC | O_NONBLOCK), 0); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    CloseForReading();
    close(ends_[1]);
  }
  int descriptor() const { return ends_[0]; }
  void Send() const { EXPECT_EQ(write(ends_[1], "request", 7), 7); }
  // Whoever reads next gets an error.
  void CloseForReading() {
    if (!closed_) {
      close(ends_[0]);
      closed_ = true;
    }
  }

 private:
  int ends_[2] = {-1, -1};
  bool closed_ = false;
};

// Notes when the first request came, and ends the transport then.
class NotingSink final : public RequestSink {
 public:
  NotingSink(Reactor& reactor, const Clock& clock, Pipe& pipe)
      : reactor_(reactor), clock_(clock), pipe_(pipe) {}

  void Process(const MessageLease&, size_t bytes) override {
    EXPECT_EQ(bytes, 7U);
    came_at_nanos = clock_.MonotonicNanos();
    spins_when_it_came = reactor_.counters().spins;
    pipe_.CloseForReading();
  }
  MessagePool& pool() override { return pool_; }
  size_t in_flight() const override { return 0; }
  void TransportSleeps() override { sleeps = true; }

  bool sleeps = false;
  uint64_t came_at_nanos = 0;
  uint64_t spins_when_it_came = 0;

 private:
  Reactor& reactor_;
  const Clock& clock_;
  Pipe& pipe_;
  MessagePool pool_;
};

struct Arrival {
  uint64_t nanos = 0;
  // Waits of the reactor between the request's sending and its being read.
  uint64_t waits = 0;
};

Task<void> ServeUntilClosed(DevFuseTransport& transport, NotingSink& sink, AsyncEvent& ended) {
  const Status served = co_await transport.Serve(sink);
  EXPECT_FALSE(served.ok());
  ended.Set();
}

// A request that finds the transport asleep.
Task<Arrival> SendOne(Reactor& reactor, const Clock& clock, DevFuseWaking waking) {
  Pipe pipe;
  NotingSink sink(reactor, clock, pipe);
  DevFuseTransport transport(pipe.descriptor(), reactor, waking);
  AsyncEvent ended;
  Spawn(ServeUntilClosed(transport, sink, ended));
  EXPECT_TRUE(sink.sleeps);
  const uint64_t sent_at_nanos = clock.MonotonicNanos();
  const uint64_t spins = reactor.counters().spins;
  pipe.Send();
  co_await ended.Wait();
  co_return Arrival{sink.came_at_nanos - sent_at_nanos, sink.spins_when_it_came - spins};
}

// Its reactor spins while it waits, as one does that waits for no timer.
Arrival ArrivalOf(DevFuseWaking waking) {
  const SystemClock clock;
  const Result<std::unique_ptr<Reactor>> reactor =
      Reactor::Create({.spin_nanos = 1'000 * kMillisecond}, clock);
  EXPECT_TRUE(reactor.ok()) << reactor.ToString();
  return RunBlocking(**reactor, SendOne(**reactor, clock, waking));
}

TEST(DevFuseTransport, ReadsARequestWhenItArrives) {
  EXPECT_EQ(ArrivalOf(DevFuseWaking::kAll).waits, 1U);
  EXPECT_EQ(ArrivalOf(DevFuseWaking::kOne).waits, 1U);
}

TEST(DevFuseTransport, LetsForgetsGatherWithoutATimerOfTheReactor) {
  const Arrival arrival = ArrivalOf(DevFuseWaking::kForgets);
  EXPECT_GE(arrival.nanos, kMillisecond);
  EXPECT_EQ(arrival.waits, 2U);
}

}  // namespace
}  // namespace varve
