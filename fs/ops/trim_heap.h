// Memory back to the system.
#pragma once

#include <malloc.h>

#include "engine/ring/task.h"

namespace varve {

// malloc keeps what lies between pieces that are still used, and takes a while to look through it all: for
// executors on which nobody waits.
inline Task<void> TrimHeap() {
  malloc_trim(0);
  co_return;
}

}  // namespace varve
