// How a move of an iterator ends, in every room that has iterators: most moves end in memory, as plain calls;
// only a missing block makes a Task.
#pragma once

#include <cstdint>

namespace varve {

enum class Step : uint8_t {
  kDone,     // the move is complete: look at Valid()
  kNeedsIo,  // co_await Load() completes it
};

}  // namespace varve
