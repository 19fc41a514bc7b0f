#include "engine/device/aligned_buffer.h"

#include <cstdlib>

#include "engine/base/check.h"
#include "engine/base/thread_lists.h"

namespace varve {

namespace {

// Reads of a block, of the few blocks that a seek reads at once. At most 1.25 MiB a thread.
using Buffers = ThreadLists<AlignedBuffer, AlignedBuffer::kAlignment, 4, 32>;

}  // namespace

std::byte* AlignedBuffer::Allocate(size_t bytes) {
  if (bytes == 0) {
    return nullptr;
  }
  void* memory = Buffers::Take(bytes);
  if (memory == nullptr) {
    memory = std::aligned_alloc(kAlignment, RoundUp(Buffers::AllocationBytes(bytes), kAlignment));
    Check(memory != nullptr, "out of memory for an I/O buffer");
  }
  return static_cast<std::byte*>(memory);
}

void AlignedBuffer::Free(std::byte* data, size_t bytes) {
  if (data != nullptr && !Buffers::Keep(data, bytes)) {
    std::free(data);
  }
}

}  // namespace varve
