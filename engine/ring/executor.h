// Executor: who resumes coroutines. In production a Reactor (one thread, one io_uring), for tools the
// caller's own thread, in simulation a single-threaded seeded scheduler. Engine code creates no threads and
// knows only this.
#pragma once

#include <coroutine>
#include <cstdint>

#include "engine/base/clock.h"

namespace varve {

// One entry of an executor's mailbox. It lives in the awaiter of the suspended coroutine: posting allocates
// nothing.
struct PostedWork {
  std::coroutine_handle<> coroutine;
  PostedWork* next = nullptr;
};

class Reactor;

class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  // The executor that is running a coroutine on this thread. Precondition: there is one.
  static Executor& Current();
  // The same, or nullptr outside every executor.
  static Executor* CurrentOrNull();

  // Any thread. `work.coroutine` is resumed later on this executor's thread; `work` must live until then.
  // What one thread posts is resumed in that order.
  virtual void Post(PostedWork& work) = 0;
  // Only from this executor's thread: the same after at least `nanos`.
  virtual void PostAfter(uint64_t nanos, PostedWork& work) = 0;
  // Only from this executor's thread: takes back what PostAfter was given. False when its time has come
  // already: then it is resumed as posted.
  virtual bool CancelPostAfter(PostedWork& work) = 0;
  virtual const Clock& clock() const = 0;
  // For what needs a ring: nullptr unless this is a Reactor.
  virtual Reactor* AsReactor() { return nullptr; }

  // co_await executor.Switch(): go on as a coroutine of this executor (no cost when already there). The
  // frames above do not move with it: they are resumed where this coroutine ends, so a Task that switches
  // must switch back.
  auto Switch() {
    struct Awaiter {
      Executor& to;
      PostedWork work;
      bool await_ready() const { return CurrentOrNull() == &to; }
      void await_suspend(std::coroutine_handle<> self) {
        work.coroutine = self;
        to.Post(work);
      }
      void await_resume() const {}
    };
    return Awaiter{*this, {}};
  }
  // co_await executor.Yield(): let others run first.
  auto Yield() {
    struct Awaiter {
      Executor& to;
      PostedWork work;
      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> self) {
        work.coroutine = self;
        to.Post(work);
      }
      void await_resume() const {}
    };
    return Awaiter{*this, {}};
  }
  // co_await executor.Sleep(nanos)
  auto Sleep(uint64_t nanos) {
    struct Awaiter {
      Executor& on;
      uint64_t nanos;
      PostedWork work;
      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> self) {
        work.coroutine = self;
        on.PostAfter(nanos, work);
      }
      void await_resume() const {}
    };
    return Awaiter{*this, nanos, {}};
  }

 protected:
  // For implementations: names the executor of the calling thread while it runs coroutines.
  static void SetCurrent(Executor* executor);
};

}  // namespace varve
