// Memory for coroutine frames. Awaiting a Task that is ready costs little more than its frame, so frames come
// from lists that each thread keeps for itself: 232 instructions an awaited ready Task with malloc, see
// docs/design/ring.md.
#pragma once

#include <cstddef>

namespace varve {

namespace task_internal {

// Any thread; a frame may be freed on another thread than it was made on. Running out of memory ends the
// process.
void* AllocateFrame(size_t bytes);
void FreeFrame(void* frame, size_t bytes);

}  // namespace task_internal

// Frames, and what else is made to wait for something and is gone soon after.
class ShortLived {
 public:
  static void* operator new(size_t bytes) { return task_internal::AllocateFrame(bytes); }
  static void operator delete(void* memory, size_t bytes) { task_internal::FreeFrame(memory, bytes); }
};

}  // namespace varve
