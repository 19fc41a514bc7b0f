// SpawnOn: starts a Task on another executor.
#pragma once

#include <utility>

#include "engine/ring/executor.h"
#include "engine/ring/task.h"

namespace varve {

namespace task_internal {

// Once this has posted itself, the thread that called it touches nothing of it.
inline Detached RunDetachedOn(Executor& executor, Task<void> task) {
  co_await executor.Yield();
  co_await std::move(task);
}

}  // namespace task_internal

// `task` begins on `executor` at one of its next turns, never within this call, ends there, and frees itself.
// Any thread, also outside every executor: so it may be called with a lock held.
inline void SpawnOn(Executor& executor, Task<void> task) {
  task_internal::RunDetachedOn(executor, std::move(task));
}

}  // namespace varve
