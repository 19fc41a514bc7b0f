#include "engine/base/bound_heaps.h"

#include <malloc.h>

namespace varve {

void BoundHeaps() {
  mallopt(M_ARENA_MAX, 2);
}

}  // namespace varve
