// A reactor with a thread of its own, and how a plain thread runs a Task there.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/result.h"
#include "engine/ring/reactor.h"
#include "engine/ring/task.h"

namespace varve {

class ReactorThread {
 public:
  struct Options {
    std::string name;  // what ps and top show; at most 15 bytes
    int nice = 0;      // as of nice(2), for this thread alone
    int cpu = -1;      // the only one it may run on; -1: any
    ReactorOptions reactor;
    // Its reads and writes come after everybody else's (ioprio_set(2)). Not the idle class: what waits for a
    // lock that this thread holds over a read would starve with it.
    bool low_io = false;
  };

  // Returns when the reactor runs. `clock` must outlive it.
  static Result<std::unique_ptr<ReactorThread>> Start(Options options, const Clock& clock);
  // Ends the thread. No coroutine may be waiting on the reactor.
  ~ReactorThread();
  ReactorThread(const ReactorThread&) = delete;
  ReactorThread& operator=(const ReactorThread&) = delete;

  Reactor& reactor() { return *reactor_; }

 private:
  ReactorThread() = default;

  std::unique_ptr<Reactor> reactor_;  // made, run and destroyed on thread_
  std::thread thread_;
};

namespace reactor_thread_internal {

template <typename T>
task_internal::Detached RunAndTell(Executor& on, Task<T> task, std::promise<T>& told) {
  co_await on.Switch();
  T value = co_await std::move(task);
  task = Task<T>();
  told.set_value(std::move(value));
}

}  // namespace reactor_thread_internal

// Runs `task` on `on` and blocks the calling thread, which must be no executor's, until it has ended.
template <typename T>
T CallOn(Executor& on, Task<T> task) {
  std::promise<T> told;
  std::future<T> value = told.get_future();
  reactor_thread_internal::RunAndTell(on, std::move(task), told);
  return value.get();
}

}  // namespace varve
