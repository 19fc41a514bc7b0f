// Timers of one executor; only its thread touches them. Equal times fire in the order in which they were set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/ring/mailbox.h"

namespace varve {

class TimerHeap {
 public:
  static constexpr uint64_t kNever = ~uint64_t{0};

  void Add(uint64_t due_nanos, PostedWork& work) {
    timers_.push_back({due_nanos, next_order_++, &work});
    std::push_heap(timers_.begin(), timers_.end(), Later);
  }
  // False when it is not here (any more). Costs a walk over all timers.
  bool Remove(const PostedWork& work) {
    const auto found =
        std::find_if(timers_.begin(), timers_.end(), [&](const Timer& timer) { return timer.work == &work; });
    if (found == timers_.end()) {
      return false;
    }
    timers_.erase(found);
    std::make_heap(timers_.begin(), timers_.end(), Later);
    return true;
  }
  bool empty() const { return timers_.empty(); }
  uint64_t next_due_nanos() const { return timers_.empty() ? kNever : timers_.front().due_nanos; }
  void MoveDue(uint64_t now_nanos, WorkQueue& to) {
    while (!timers_.empty() && timers_.front().due_nanos <= now_nanos) {
      to.Append(*timers_.front().work);
      std::pop_heap(timers_.begin(), timers_.end(), Later);
      timers_.pop_back();
    }
  }

 private:
  struct Timer {
    uint64_t due_nanos;
    uint64_t order;
    PostedWork* work;
  };
  static bool Later(const Timer& a, const Timer& b) {
    return a.due_nanos != b.due_nanos ? a.due_nanos > b.due_nanos : a.order > b.order;
  }

  std::vector<Timer> timers_;
  uint64_t next_order_ = 0;
};

}  // namespace varve
