#include <cstdlib>

#include "engine/base/check.h"
#include "engine/ring/frame_pool.h"

namespace varve::task_internal {

void* AllocateFrame(size_t bytes) {
  void* frame = std::malloc(bytes);
  Check(frame != nullptr, "out of memory for a coroutine");
  return frame;
}

void FreeFrame(void* frame, size_t) {
  std::free(frame);
}

}  // namespace varve::task_internal
