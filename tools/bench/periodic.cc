#include "tools/bench/periodic.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace varve {

struct Periodic::State {
  std::mutex mutex;
  std::condition_variable ends;
  bool ended = false;
  std::thread thread;
};

Periodic::Periodic(uint64_t interval_nanos, std::function<void()> call) {
  if (interval_nanos == 0) {
    return;
  }
  state_ = std::make_unique<State>();
  state_->thread = std::thread([state = state_.get(), interval_nanos, call = std::move(call)] {
    auto due = std::chrono::steady_clock::now();
    std::unique_lock lock(state->mutex);
    while (true) {
      due += std::chrono::nanoseconds(interval_nanos);
      if (state->ends.wait_until(lock, due, [state] { return state->ended; })) {
        return;
      }
      lock.unlock();
      call();
      lock.lock();
    }
  });
}

Periodic::~Periodic() {
  if (state_ != nullptr) {
    {
      const std::lock_guard lock(state_->mutex);
      state_->ended = true;
    }
    state_->ends.notify_all();
    state_->thread.join();
  }
}

}  // namespace varve
