// AsyncMutex: mutual exclusion between coroutines, on one executor or on several. A coroutine that finds it
// taken is suspended, not its thread; it is resumed on its own executor, holding the mutex, in the order of
// arrival.
#pragma once

#include <atomic>
#include <coroutine>
#include <utility>

#include "engine/base/check.h"
#include "engine/ring/executor.h"

namespace varve {

// Any thread. Must be free when it is destroyed. Not recursive.
class AsyncMutex {
 public:
  // Holds the mutex until it is destroyed, on any thread. Empty after a TryLock() that failed.
  class [[nodiscard]] Guard {
   public:
    Guard() = default;
    explicit Guard(AsyncMutex& held) : held_(&held) {}
    Guard(Guard&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
    Guard& operator=(Guard&& other) noexcept {
      if (this != &other) {
        Unlock();
        held_ = std::exchange(other.held_, nullptr);
      }
      return *this;
    }
    ~Guard() { Unlock(); }

    bool holds() const { return held_ != nullptr; }
    // Before the end of the scope; harmless when empty.
    void Unlock() {
      if (AsyncMutex* held = std::exchange(held_, nullptr)) {
        held->Release();
      }
    }

   private:
    AsyncMutex* held_ = nullptr;
  };

  AsyncMutex() = default;
  AsyncMutex(const AsyncMutex&) = delete;
  AsyncMutex& operator=(const AsyncMutex&) = delete;
  ~AsyncMutex();

  // Guard guard = co_await mutex.Lock(). Only in a coroutine that an executor runs.
  auto Lock() { return LockAwaiter{*this, {}}; }
  // Never waits.
  Guard TryLock() { return TryAcquire() ? Guard(*this) : Guard(); }

 private:
  struct Waiter {
    PostedWork work;
    Executor* executor = nullptr;
    Waiter* next = nullptr;
  };
  struct LockAwaiter {
    AsyncMutex& mutex;
    Waiter waiter;

    bool await_ready() const { return mutex.TryAcquire(); }
    bool await_suspend(std::coroutine_handle<> self) {
      waiter.work.coroutine = self;
      waiter.executor = &Executor::Current();
      return mutex.Enqueue(waiter);
    }
    Guard await_resume() const { return Guard(mutex); }
  };

  // What `state_` holds besides the address of the newest waiter that the holder has not seen yet.
  static constexpr uintptr_t kFree = 1;
  static constexpr uintptr_t kHeld = 0;

  bool TryAcquire() {
    uintptr_t expected = kFree;
    return state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  // False when the mutex became free instead and is now held by the caller.
  bool Enqueue(Waiter& waiter);
  void Release();

  std::atomic<uintptr_t> state_{kFree};
  // Oldest first. Only the holder touches it: it passes from holder to holder with the mutex.
  Waiter* oldest_ = nullptr;
};

}  // namespace varve
