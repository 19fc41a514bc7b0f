#include "engine/base/bound_heaps.h"

#include <malloc.h>

namespace varve {

namespace {

constexpr int kUnusedBytesMax = 16 << 20;
constexpr int kHeapPieceBytesMax = 1 << 20;

}  // namespace

void BoundHeaps() {
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_TRIM_THRESHOLD, kUnusedBytesMax);
  // Set with the other: malloc adapts both or none.
  mallopt(M_MMAP_THRESHOLD, kHeapPieceBytesMax);
}

}  // namespace varve
