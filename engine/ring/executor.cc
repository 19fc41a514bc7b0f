#include "engine/ring/executor.h"

#include "engine/base/check.h"

namespace varve {

namespace {

// Which executor a thread is, is a property of the thread: the one thread-local of the engine.
thread_local Executor* current_executor = nullptr;

}  // namespace

Executor& Executor::Current() {
  Check(current_executor != nullptr, "a coroutine ran outside an executor");
  return *current_executor;
}

Executor* Executor::CurrentOrNull() {
  return current_executor;
}

void Executor::SetCurrent(Executor* executor) {
  current_executor = executor;
}

}  // namespace varve
