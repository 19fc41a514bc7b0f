// AsyncEvent: coroutines wait until somebody sets it; it stays set until it is reset. Waiters are resumed on
// their own executors in the order of arrival.
#pragma once

#include <atomic>
#include <coroutine>

#include "engine/ring/executor.h"

namespace varve {

// Any thread. What happened before Set() is visible to whoever saw the event set. A waiter may destroy the
// event as soon as it is resumed or IsSet() answers true: Set() touches it only once.
class AsyncEvent {
 public:
  explicit AsyncEvent(bool set = false) : state_(set ? kSet : 0) {}
  AsyncEvent(const AsyncEvent&) = delete;
  AsyncEvent& operator=(const AsyncEvent&) = delete;

  bool IsSet() const { return state_.load(std::memory_order_acquire) == kSet; }
  void Set();
  // Those who wait already go on waiting for the next Set().
  void Reset() {
    uintptr_t expected = kSet;
    state_.compare_exchange_strong(expected, 0, std::memory_order_acq_rel);
  }

  // co_await event.Wait(). Returns at once when set. Only in a coroutine that an executor runs.
  auto Wait() { return WaitAwaiter{*this, {}}; }

 private:
  struct Waiter {
    PostedWork work;
    Executor* executor = nullptr;
    Waiter* next = nullptr;
  };
  struct WaitAwaiter {
    AsyncEvent& event;
    Waiter waiter;

    bool await_ready() const { return event.IsSet(); }
    bool await_suspend(std::coroutine_handle<> self) {
      waiter.work.coroutine = self;
      waiter.executor = &Executor::Current();
      return event.Enqueue(waiter);
    }
    void await_resume() const {}
  };

  // What `state_` holds besides the address of the newest waiter, or 0 when there is none.
  static constexpr uintptr_t kSet = 1;

  // False when the event became set instead.
  bool Enqueue(Waiter& waiter);

  std::atomic<uintptr_t> state_;
};

}  // namespace varve
