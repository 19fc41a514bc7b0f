// Task<T>: a lazy coroutine that yields one T. It starts when it is awaited (or spawned), runs on the
// caller's thread until it has to wait, and is resumed only by the executor on which it started: so a Task
// needs no atomics, and everything it touches between two suspensions is private to that thread.
//
// Awaiting a Task that finishes without waiting costs no suspension and no stack: the awaiter runs the child
// inside await_suspend and goes on at once, so a loop over ready results does not recurse (symmetric transfer
// is not a tail call at -O0 or under sanitizers).
//
// Rules for authors: parameters outlive the call or are taken by value; no coroutine lambda with captures; no
// co_await in a conditional expression (gcc 12 destroys temporaries twice) or condition (it may lose itself).
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <type_traits>
#include <utility>

#include "engine/base/check.h"
#include "engine/ring/frame_pool.h"

namespace varve {

template <typename T>
class Task;

namespace task_internal {

struct FinalAwaiter {
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> finished) const noexcept {
    finished.promise().finished = true;
    // Resuming may destroy `finished`: nothing of it is touched afterwards.
    if (const std::coroutine_handle<> continuation = finished.promise().continuation) {
      continuation.resume();
    }
  }
  void await_resume() const noexcept {}
};

struct PromiseBase : ShortLived {
  std::coroutine_handle<> continuation;
  // handle.done() would read what another thread may be writing while this coroutine is away on Switch();
  // this is only touched on the thread where it began, because it ends there too.
  bool finished = false;

  std::suspend_always initial_suspend() const noexcept { return {}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  [[noreturn]] void unhandled_exception() const noexcept { std::abort(); }
};

template <typename T>
struct Promise : PromiseBase {
  std::optional<T> result;

  Task<T> get_return_object();
  template <typename U>
  void return_value(U&& value) {
    result.emplace(std::forward<U>(value));
  }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() const noexcept {}
};

}  // namespace task_internal

template <typename T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = task_internal::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Task() = default;
  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      Destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Task() { Destroy(); }

  auto operator co_await() && noexcept {
    struct Awaiter {
      Handle handle;

      bool await_ready() const noexcept { return false; }
      bool await_suspend(std::coroutine_handle<> parent) const {
        handle.resume();
        if (handle.promise().finished) {
          return false;
        }
        // The child ends on this thread, and that is busy here: nothing is missed.
        handle.promise().continuation = parent;
        return true;
      }
      T await_resume() const {
        if constexpr (!std::is_void_v<T>) {
          return std::move(*handle.promise().result);
        }
      }
    };
    Check(handle_ != nullptr, "an empty Task was awaited");
    return Awaiter{handle_};
  }

 private:
  void Destroy() {
    if (handle_) {
      handle_.destroy();
    }
  }

  Handle handle_;
};

namespace task_internal {

template <typename T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}

inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

// A coroutine that nobody awaits: it owns itself.
struct Detached {
  struct promise_type {
    Detached get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() const noexcept { std::abort(); }
  };
};

inline Detached RunDetached(Task<void> task) {
  co_await std::move(task);
}

}  // namespace task_internal

// Starts `task` now, on the calling executor's thread, up to its first wait; it frees itself when it ends.
inline void Spawn(Task<void> task) {
  task_internal::RunDetached(std::move(task));
}

}  // namespace varve
