#include "engine/ring/async_event.h"

namespace varve {

bool AsyncEvent::Enqueue(Waiter& waiter) {
  uintptr_t seen = state_.load(std::memory_order_acquire);
  do {
    if (seen == kSet) {
      return false;
    }
    waiter.next = reinterpret_cast<Waiter*>(seen);
    // Once this succeeds another thread may resume the coroutine that `waiter` lives in.
  } while (!state_.compare_exchange_weak(seen, reinterpret_cast<uintptr_t>(&waiter),
                                         std::memory_order_acq_rel, std::memory_order_acquire));
  return true;
}

void AsyncEvent::Set() {
  const uintptr_t before = state_.exchange(kSet, std::memory_order_acq_rel);
  if (before == kSet) {
    return;
  }
  Waiter* oldest = nullptr;
  for (auto* newest = reinterpret_cast<Waiter*>(before); newest != nullptr;) {
    Waiter* older = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = older;
  }
  while (oldest != nullptr) {
    // The waiter is gone once it is posted.
    Waiter* next = oldest->next;
    oldest->executor->Post(oldest->work);
    oldest = next;
  }
}

}  // namespace varve
