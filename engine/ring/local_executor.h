// LocalExecutor: a run queue and timers on the calling thread, without io_uring: for unit tests and for
// devices that need no kernel (MemoryDevice).
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "engine/base/clock.h"
#include "engine/ring/executor.h"
#include "engine/ring/mailbox.h"
#include "engine/ring/run_task.h"
#include "engine/ring/timer_heap.h"

namespace varve {

// Post() from any thread; everything else from the thread that runs it.
class LocalExecutor final : public Executor {
 public:
  // Called instead of sleeping when nothing is left to run before `due_nanos`: a simulation moves its clock
  // there.
  using AdvanceClock = std::function<void(uint64_t due_nanos)>;
  // Answers which of `ready` coroutines is resumed next (a number below `ready`). A simulation draws it: code
  // that is right with every order is right on executors that race. Without it the order is that of Post().
  using Choose = std::function<size_t(size_t ready)>;

  // `clock` must outlive this. With `choose`, nothing may be posted from other threads; that nothing is left
  // to run, not even a timer, while a task has not ended is then a failed check instead of a wait.
  explicit LocalExecutor(const Clock& clock, AdvanceClock advance_clock = nullptr, Choose choose = nullptr);
  // A Post() whose work was resumed may still be running: waits for its end. Later ones are not allowed.
  ~LocalExecutor() override;

  // Runs `task` and everything else that is ready on the calling thread until `task` is done; what else is
  // still waiting then goes on in the next Run(). Not from within a coroutine.
  template <typename T>
  T Run(Task<T> task) {
    return RunTask(*this, std::move(task));
  }
  // Runs until `done` is set by a coroutine of this executor.
  void RunUntil(const bool& done);
  // Runs whatever is ready now, and what that makes ready, without waiting for timers or other threads.
  void RunReady();

  void Post(PostedWork& work) override;
  void PostAfter(uint64_t nanos, PostedWork& work) override;
  bool CancelPostAfter(PostedWork& work) override { return timers_.Remove(work); }
  const Clock& clock() const override { return clock_; }

 private:
  void Collect();
  void ResumeNext();
  void Sleep();

  const Clock& clock_;
  const AdvanceClock advance_clock_;
  const Choose choose_;
  Mailbox mailbox_;
  WorkQueue ready_;
  TimerHeap timers_;

  std::mutex mutex_;  // the wake-ups
  std::condition_variable wake_;
  uint64_t wake_ups_ = 0;
  uint64_t wake_ups_seen_ = 0;
};

}  // namespace varve
