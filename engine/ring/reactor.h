// Reactor: the executor of production. One thread, one io_uring; coroutines, device I/O and FUSE requests of
// that thread all pass through it. Other threads reach it through a lock-free mailbox; only when it sleeps
// does a post cost a system call.
//
// Registered buffers and files are not used: see docs/design/ring.md for what was measured.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/histogram.h"
#include "engine/base/result.h"
#include "engine/ring/executor.h"
#include "engine/ring/mailbox.h"
#include "engine/ring/run_task.h"
#include "engine/ring/timer_heap.h"

struct io_uring;
struct io_uring_sqe;
struct iovec;

namespace varve {

// What an entry of the submission queue names in its user_data: told once per completion (several times after
// a multishot operation), on the reactor's thread. Must live until the last one.
class Completion {
 public:
  // `result` is the CQE's res (negative errno), `flags` its IORING_CQE_F_ flags. May prepare new operations,
  // resume coroutines and destroy this object.
  virtual void OnComplete(int32_t result, uint32_t flags) = 0;

 protected:
  ~Completion() = default;
};

struct ReactorOptions {
  // Operations prepared between two submissions; more are taken too, at the price of a system call each time.
  uint32_t entries = 256;
  // Operations whose completions fit without the kernel's slower overflow list.
  uint32_t completion_entries = 4096;
  // Polls mailbox and completions for so long before it sleeps, unless it waits for a timer. Spares the
  // wake-up (tens of microseconds on another CPU) at the price of the CPU; 0 where somebody else needs the
  // CPU.
  uint64_t spin_nanos = 0;
  // Entries of 128 bytes, for uring_cmd with 80 bytes of command (fuse-over-io_uring).
  bool wide_entries = false;
};

class Reactor;

// One operation of one buffer or none, awaited: co_await gives the CQE's result, a byte count or a negative
// errno. Lives in the awaiting coroutine; allocates nothing.
class IoAwaiter final : public Completion {
 public:
  struct Request {
    uint8_t opcode = 0;
    int fd = -1;
    const void* address = nullptr;
    uint32_t length = 0;
    uint64_t offset = 0;
    uint32_t operation_flags = 0;
    uint64_t address3 = 0;
  };

  IoAwaiter(Reactor& reactor, const Request& request) : reactor_(reactor), request_(request) {}
  IoAwaiter(const IoAwaiter&) = delete;
  IoAwaiter& operator=(const IoAwaiter&) = delete;

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> self);
  int32_t await_resume() const { return result_; }

 private:
  void OnComplete(int32_t result, uint32_t flags) override;

  Reactor& reactor_;
  Request request_;
  std::coroutine_handle<> waiter_;
  int32_t result_ = 0;
};

// Post(), Stop(), Sleeps(), turns(): any thread. Everything else: the thread that runs it, which must be the
// same for every Run(). Not to be carried across fork().
class Reactor final : public Executor {
 public:
  // `clock` must outlive it. Error kDeviceError: the kernel gives no ring (too old, or forbidden by
  // kernel.io_uring_disabled or a seccomp filter); the message says which.
  static Result<std::unique_ptr<Reactor>> Create(const ReactorOptions& options, const Clock& clock);
  // Operations in flight are cancelled and never completed: what awaits them is not resumed. A Post() or
  // Stop() that had its effect may still be running: waits for its end. Later ones are not allowed.
  ~Reactor() override;

  // The reactor that runs the calling coroutine; nullptr when that is no reactor.
  static Reactor* CurrentOrNull() {
    Executor* current = Executor::CurrentOrNull();
    return current == nullptr ? nullptr : current->AsReactor();
  }

  // Runs until Stop(). A Stop() that came before is honoured at once; each Run() consumes one.
  void Run();
  void Stop();
  // Runs until `done` is set by a coroutine of this reactor. Not from within a coroutine.
  void RunUntil(const bool& done);

  void Post(PostedWork& work) override;
  void PostAfter(uint64_t nanos, PostedWork& work) override;
  bool CancelPostAfter(PostedWork& work) override { return timers_.Remove(work); }
  const Clock& clock() const override { return clock_; }
  Reactor* AsReactor() override { return this; }

  // Results are those of the system calls of these names, with -errno; short transfers are the caller's to
  // continue. Memory must stay valid until the operation completes. `flags` are RWF_ flags.
  IoAwaiter Read(int fd, void* into, uint32_t bytes, uint64_t offset, uint32_t flags = 0);
  IoAwaiter Write(int fd, const void* from, uint32_t bytes, uint64_t offset, uint32_t flags = 0);
  IoAwaiter ReadVector(int fd, const iovec* parts, uint32_t count, uint64_t offset, uint32_t flags = 0);
  IoAwaiter WriteVector(int fd, const iovec* parts, uint32_t count, uint64_t offset, uint32_t flags = 0);
  // The kernel runs it on a worker thread of its own, always.
  IoAwaiter DataSync(int fd);
  IoAwaiter Fallocate(int fd, int mode, uint64_t offset, uint64_t bytes);
  // `events` as of poll(2); gives the events that are there.
  IoAwaiter Poll(int fd, uint32_t events);
  IoAwaiter Submit(const IoAwaiter::Request& request) { return {*this, request}; }

  // A fresh entry whose completion goes to `completion` (nullptr: to nobody). Fill it with an io_uring_prep_
  // function (they leave user_data alone) before anything else is prepared. It is submitted when this turn
  // ends.
  io_uring_sqe* Prepare(Completion* completion);
  // Asks the kernel to end the operations of `target`; they complete with -ECANCELED unless they were done
  // already.
  void Cancel(Completion& target);

  // Once what is prepared here is submitted, `other` wakes, where it sleeps, finds nothing and sleeps again:
  // for whoever wants its CPU not to be idle just then. (Linux 5.18; before, nothing happens.)
  void Nudge(Reactor& other);

  // Whether it has nothing to do, and waits: as of a moment ago. Any thread.
  bool Sleeps() const { return mailbox_.owner_sleeps(); }

  bool wide_entries() const { return options_.wide_entries; }
  // The ring, for operations that this class does not know. Submission and completion stay the reactor's.
  io_uring& ring() { return *ring_; }

  struct Counters {
    uint64_t enters = 0;       // system calls for submission or completion
    uint64_t sleeps = 0;       // times it had nothing to do and waited in the kernel
    uint64_t spins = 0;        // times it found something to do while spinning
    uint64_t completions = 0;  // CQEs
    uint64_t resumed = 0;      // posted work
    uint64_t nudged = 0;       // nudges that came here
  };
  const Counters& counters() const { return counters_; }
  // Nanoseconds from when it began with what it had to do until it asked the kernel and its mailbox anew:
  // what arrives meanwhile waits so long. Any thread.
  const Histogram& turns() const { return turns_; }

 private:
  class WakeUp;
  struct Completed {
    Completion* completion;
    int32_t result;
    uint32_t flags;
  };

  Reactor(const ReactorOptions& options, const Clock& clock);
  Status Open();
  void EnableRing();
  void BeginRun();
  void EndRun();

  // One round: posted work and timers, then completions; sleeps when there was neither.
  void Turn();
  bool HasCompletions() const;
  // `begin`: when the turn began.
  void ResumeReady(uint64_t begin);
  void HandleCompletions();
  void WaitForWork();
  // True when there is something to do.
  bool Spin();
  bool KernelWantsIn() const;
  void SubmitAndWait(uint64_t nanos);
  void Submit();
  void StashCompletions();
  void Wake();

  const ReactorOptions options_;
  const Clock& clock_;
  std::unique_ptr<io_uring> ring_;
  bool ring_is_open_ = false;
  bool ring_is_enabled_ = false;
  Mailbox mailbox_;
  WorkQueue ready_;
  TimerHeap timers_;
  // Completions taken off the ring to make room while a full submission queue was pushed through.
  std::vector<Completed> stashed_;
  // Requests that were prepared and not yet answered.
  uint64_t in_flight_ = 0;
  std::unique_ptr<WakeUp> wake_up_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> stops_{0};
  Counters counters_;
  Histogram turns_;
};

// The blocking façade for tools: runs `reactor` on the calling thread until `task` is done. What else is
// waiting on it goes on in the next call.
template <typename T>
T RunBlocking(Reactor& reactor, Task<T> task) {
  return RunTask(reactor, std::move(task));
}

}  // namespace varve
