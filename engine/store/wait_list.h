// WaitList: coroutines that wait for something to change, woken all together to look again.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/ring/async_event.h"
#include "engine/ring/task.h"

namespace varve {

// Any thread. Use: take generation(), look whether what is waited for holds, and if not, await
// Beyond(generation): a change between the two is not missed.
class WaitList {
 public:
  uint64_t generation() const {
    const std::lock_guard lock(mutex_);
    return generation_;
  }

  // Until WakeAll has been called since generation() answered `generation`.
  Task<void> Beyond(uint64_t generation) {
    AsyncEvent event;
    {
      const std::lock_guard lock(mutex_);
      if (generation_ != generation) {
        co_return;
      }
      waiting_.push_back(&event);
    }
    co_await event.Wait();
  }

  void WakeAll() {
    std::vector<AsyncEvent*> woken;
    {
      const std::lock_guard lock(mutex_);
      generation_++;
      woken.swap(waiting_);
    }
    for (AsyncEvent* const event : woken) {
      event->Set();
    }
  }

 private:
  mutable std::mutex mutex_;
  // Both under mutex_.
  uint64_t generation_ = 0;
  std::vector<AsyncEvent*> waiting_;
};

}  // namespace varve
