// How an executor that blocks its caller runs one Task to its end.
#pragma once

#include <optional>
#include <utility>

#include "engine/ring/executor.h"
#include "engine/ring/task.h"

namespace varve {

// Starts `task` on `on` at its next turn; then `result` is filled and `done` is set, on its thread. Both
// references must live until then.
template <typename T>
task_internal::Detached RunTaskInto(Executor& on, Task<T> task, std::optional<T>& result, bool& done) {
  co_await on.Yield();
  T value = co_await std::move(task);
  result.emplace(std::move(value));
  task = Task<T>();
  done = true;
}

inline task_internal::Detached RunTaskInto(Executor& on, Task<void> task, bool& done) {
  co_await on.Yield();
  co_await std::move(task);
  task = Task<void>();
  done = true;
}

// `executor.RunUntil(done)` runs it on the calling thread until `done` is set there.
template <typename Runner, typename T>
T RunTask(Runner& runner, Task<T> task) {
  bool done = false;
  if constexpr (std::is_void_v<T>) {
    RunTaskInto(runner, std::move(task), done);
    runner.RunUntil(done);
  } else {
    std::optional<T> result;
    RunTaskInto(runner, std::move(task), result, done);
    runner.RunUntil(done);
    return std::move(*result);
  }
}

}  // namespace varve
