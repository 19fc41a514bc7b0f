// Memory for coroutine frames. Awaiting a Task that is ready costs little more than its frame, so frames come
// from lists that each thread keeps for itself: 232 instructions an awaited ready Task with malloc, see
// docs/design/ring.md.
#pragma once

#include <cstddef>

namespace varve::task_internal {

// Any thread; a frame may be freed on another thread than it was made on. Running out of memory ends the
// process.
void* AllocateFrame(size_t bytes);
void FreeFrame(void* frame, size_t bytes);

}  // namespace varve::task_internal
