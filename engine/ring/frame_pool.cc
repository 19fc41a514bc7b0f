#include "engine/ring/frame_pool.h"

#include <cstdlib>

#include "engine/base/check.h"
#include "engine/base/thread_lists.h"

namespace varve::task_internal {

namespace {

// Frames above 1 KiB hold large locals, and are rare. At most 2 MiB a thread.
using Frames = ThreadLists<struct FramesOwner, 64, 16, 256>;

}  // namespace

void* AllocateFrame(size_t bytes) {
  if (void* frame = Frames::Take(bytes)) [[likely]] {
    return frame;
  }
  void* frame = std::malloc(Frames::AllocationBytes(bytes));
  Check(frame != nullptr, "out of memory for a coroutine");
  return frame;
}

void FreeFrame(void* frame, size_t bytes) {
  if (!Frames::Keep(frame, bytes)) [[unlikely]] {
    std::free(frame);
  }
}

}  // namespace varve::task_internal
