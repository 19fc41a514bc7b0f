#include "engine/ring/async_mutex.h"

namespace varve {

AsyncMutex::~AsyncMutex() {
  Check(state_.load(std::memory_order_relaxed) == kFree, "an AsyncMutex was destroyed while held");
}

bool AsyncMutex::Enqueue(Waiter& waiter) {
  uintptr_t seen = state_.load(std::memory_order_relaxed);
  while (true) {
    if (seen == kFree) {
      if (state_.compare_exchange_weak(seen, kHeld, std::memory_order_acquire, std::memory_order_relaxed)) {
        return false;
      }
      continue;
    }
    waiter.next = reinterpret_cast<Waiter*>(seen);
    // Once this succeeds another thread may resume the coroutine that `waiter` lives in.
    if (state_.compare_exchange_weak(seen, reinterpret_cast<uintptr_t>(&waiter), std::memory_order_release,
                                     std::memory_order_relaxed)) {
      return true;
    }
  }
}

void AsyncMutex::Release() {
  if (oldest_ == nullptr) {
    uintptr_t expected = kHeld;
    if (state_.compare_exchange_strong(expected, kFree, std::memory_order_release,
                                       std::memory_order_relaxed)) {
      return;
    }
    auto* newest = reinterpret_cast<Waiter*>(state_.exchange(kHeld, std::memory_order_acquire));
    while (newest != nullptr) {
      Waiter* older = newest->next;
      newest->next = oldest_;
      oldest_ = newest;
      newest = older;
    }
  }
  Waiter* next_holder = oldest_;
  oldest_ = next_holder->next;
  next_holder->executor->Post(next_holder->work);
}

}  // namespace varve
