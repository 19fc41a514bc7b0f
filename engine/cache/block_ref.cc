#include "engine/cache/block_ref.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "engine/base/check.h"
#include "engine/base/thread_lists.h"

namespace varve {

namespace {

// Blocks of up to 8.5 KiB, in steps that cost 1.5% of a block of 4 KiB: a cache that is full takes one for
// each that it gives up. At most 2.3 MiB a thread.
using Blocks = ThreadLists<BlockRef, 128, 68, 8>;

}  // namespace

size_t BlockRef::AllocationBytes(uint32_t bytes) {
  return Blocks::AllocationBytes(sizeof(Block) + bytes);
}

BlockRef BlockRef::Allocate(uint32_t bytes) {
  void* memory = Blocks::Take(sizeof(Block) + bytes);
  if (memory == nullptr) {
    memory = std::malloc(AllocationBytes(bytes));
    Check(memory != nullptr, "out of memory for a block");
  }
  BlockRef reference;
  reference.block_ = new (memory) Block;
  reference.block_->bytes = bytes;
  return reference;
}

BlockRef BlockRef::CopyOf(std::string_view bytes) {
  BlockRef reference = Allocate(static_cast<uint32_t>(bytes.size()));
  if (!bytes.empty()) {
    std::memcpy(reference.mutable_data(), bytes.data(), bytes.size());
  }
  return reference;
}

void BlockRef::Free(Block* block) {
  const size_t bytes = sizeof(Block) + block->bytes;
  block->~Block();
  if (!Blocks::Keep(block, bytes)) {
    std::free(block);
  }
}

}  // namespace varve
