// WhenAll: runs Tasks concurrently on the calling executor and waits for all of them, also when some fail.
#pragma once

#include <coroutine>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "engine/ring/task.h"

namespace varve {

namespace when_all_internal {

struct Join {
  size_t left;
  std::coroutine_handle<> waiter;

  void OneEnded() {
    if (--left == 0 && waiter) {
      waiter.resume();
    }
  }
  bool await_ready() const { return left == 0; }
  void await_suspend(std::coroutine_handle<> self) { waiter = self; }
  void await_resume() const {}
};

template <typename T>
task_internal::Detached RunInto(Task<T> task, std::optional<T>& result, Join& join) {
  T value = co_await std::move(task);
  result.emplace(std::move(value));
  // Frees what the task holds before the waiter goes on.
  task = Task<T>();
  join.OneEnded();
}

}  // namespace when_all_internal

// Results in the order of `tasks`. Each task runs until its first wait before the next one starts.
template <typename T>
Task<std::vector<T>> WhenAll(std::vector<Task<T>> tasks) {
  std::vector<std::optional<T>> results(tasks.size());
  when_all_internal::Join join{tasks.size(), {}};
  for (size_t i = 0; i < tasks.size(); ++i) {
    when_all_internal::RunInto(std::move(tasks[i]), results[i], join);
  }
  co_await join;
  std::vector<T> values;
  values.reserve(results.size());
  for (std::optional<T>& result : results) {
    values.push_back(std::move(*result));
  }
  co_return values;
}

// The first error in the order of `tasks`, or success.
inline Task<Status> WhenAllOk(std::vector<Task<Status>> tasks) {
  std::vector<Status> statuses = co_await WhenAll(std::move(tasks));
  for (Status& status : statuses) {
    if (!status.ok()) {
      co_return std::move(status);
    }
  }
  co_return OkStatus();
}

}  // namespace varve
