// How often others on an executor have their turn while a Task runs: whether it yields.
#pragma once

#include <cstdint>
#include <utility>

#include "engine/ring/async_event.h"
#include "engine/ring/executor.h"
#include "engine/ring/spawn_on.h"
#include "engine/ring/task.h"

namespace varve {

// For one Task. Must outlive it.
class TurnsBeside {
 public:
  template <typename T>
  Task<T> Count(Task<T> task) {
    SpawnOn(Executor::Current(), Run());
    T result = co_await std::move(task);
    ended_ = true;
    co_await gone_.Wait();
    co_return result;
  }
  uint64_t turns() const { return turns_; }

 private:
  Task<void> Run() {
    while (!ended_) {
      ++turns_;
      co_await Executor::Current().Yield();
    }
    gone_.Set();
  }

  bool ended_ = false;
  uint64_t turns_ = 0;
  AsyncEvent gone_;
};

}  // namespace varve
