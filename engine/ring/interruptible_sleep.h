// InterruptibleSleep: one coroutine sleeps, another of the same executor can wake it early. For timers that
// must not hold up the end of their owner.
#pragma once

#include <coroutine>
#include <cstdint>

#include "engine/base/check.h"
#include "engine/ring/executor.h"

namespace varve {

// Everything on one executor's thread. Must not be destroyed while somebody sleeps.
class InterruptibleSleep {
 public:
  InterruptibleSleep() = default;
  InterruptibleSleep(const InterruptibleSleep&) = delete;
  InterruptibleSleep& operator=(const InterruptibleSleep&) = delete;
  ~InterruptibleSleep() { Check(executor_ == nullptr, "a sleep ended before its sleeper"); }

  // co_await sleep.For(nanos): until then, or until Interrupt().
  auto For(uint64_t nanos) {
    struct Awaiter {
      InterruptibleSleep& sleep;
      uint64_t nanos;
      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> self) {
        Check(sleep.executor_ == nullptr, "two coroutines share one sleep");
        sleep.work_.coroutine = self;
        sleep.executor_ = &Executor::Current();
        sleep.executor_->PostAfter(nanos, sleep.work_);
      }
      void await_resume() const { sleep.executor_ = nullptr; }
    };
    return Awaiter{*this, nanos};
  }
  // Harmless when nobody sleeps.
  void Interrupt() {
    if (executor_ != nullptr && executor_->CancelPostAfter(work_)) {
      executor_->Post(work_);
    }
  }

 private:
  PostedWork work_;
  // Of the sleeper; nullptr while nobody sleeps.
  Executor* executor_ = nullptr;
};

}  // namespace varve
