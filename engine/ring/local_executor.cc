#include "engine/ring/local_executor.h"

#include <chrono>
#include <utility>

#include "engine/base/check.h"

namespace varve {

LocalExecutor::LocalExecutor(const Clock& clock, AdvanceClock advance_clock, Choose choose)
    : clock_(clock), advance_clock_(std::move(advance_clock)), choose_(std::move(choose)) {
}

LocalExecutor::~LocalExecutor() {
  mailbox_.TakeAll(ready_);
  std::unique_lock<std::mutex> lock(mutex_);
  wake_.wait(lock, [this] { return wake_ups_ >= mailbox_.wake_ups_owed(); });
}

void LocalExecutor::Post(PostedWork& work) {
  if (CurrentOrNull() == this) {
    ready_.Append(work);
  } else if (mailbox_.Push(work)) {
    // Notified under the lock: the owner may be destroyed as soon as it sees the count.
    const std::lock_guard<std::mutex> lock(mutex_);
    ++wake_ups_;
    wake_.notify_one();
  }
}

void LocalExecutor::PostAfter(uint64_t nanos, PostedWork& work) {
  timers_.Add(clock_.MonotonicNanos() + nanos, work);
}

void LocalExecutor::Collect() {
  mailbox_.TakeAll(ready_);
  if (!timers_.empty()) {
    timers_.MoveDue(clock_.MonotonicNanos(), ready_);
  }
}

void LocalExecutor::ResumeNext() {
  PostedWork& next = choose_ ? ready_.TakeBehind(choose_(ready_.Count())) : ready_.TakeFirst();
  next.coroutine.resume();
}

void LocalExecutor::RunUntil(const bool& done) {
  Check(CurrentOrNull() == nullptr, "an executor was run inside another one");
  SetCurrent(this);
  while (!done) {
    Collect();
    if (!ready_.empty()) {
      ResumeNext();
    } else if (advance_clock_ && !timers_.empty()) {
      advance_clock_(timers_.next_due_nanos());
    } else {
      Check(!choose_ || !timers_.empty(), "nothing is left to run, and the task has not ended");
      Sleep();
    }
  }
  SetCurrent(nullptr);
}

void LocalExecutor::RunReady() {
  Check(CurrentOrNull() == nullptr, "an executor was run inside another one");
  SetCurrent(this);
  for (Collect(); !ready_.empty(); Collect()) {
    ResumeNext();
  }
  SetCurrent(nullptr);
}

void LocalExecutor::Sleep() {
  if (!mailbox_.FallAsleep()) {
    return;
  }
  // Bounded, because a clock that is not the system's may be moved by another thread.
  constexpr uint64_t kLongestNanos = 10'000'000;
  uint64_t nanos = kLongestNanos;
  if (!timers_.empty()) {
    const uint64_t now = clock_.MonotonicNanos();
    const uint64_t due = timers_.next_due_nanos();
    nanos = due <= now ? 0 : std::min(nanos, due - now);
  }
  std::unique_lock<std::mutex> lock(mutex_);
  wake_.wait_for(lock, std::chrono::nanoseconds(nanos), [this] { return wake_ups_ > wake_ups_seen_; });
  wake_ups_seen_ = wake_ups_;
}

}  // namespace varve
