// Calls something now and then on a thread of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace varve {

class Periodic {
 public:
  // `call` every `interval_nanos`, from one interval after now on. 0: never, and no thread.
  Periodic(uint64_t interval_nanos, std::function<void()> call);
  // A call that runs is waited for.
  ~Periodic();
  Periodic(const Periodic&) = delete;
  Periodic& operator=(const Periodic&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace varve
