#include "engine/cache/block_ref.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "engine/base/check.h"
#include "engine/base/thread_lists.h"
#include "engine/cache/read_memory.h"

namespace varve {

namespace {

// Blocks of up to 8.5 KiB, in steps that cost 1.5% of a block of 4 KiB: a cache that is full takes one for
// each that it gives up. At most 2.3 MiB a thread.
using Blocks = ThreadLists<BlockRef, 128, 68, 8>;
// What counts the references to blocks that lie apart. At most 16 KiB a thread.
using BlocksApart = ThreadLists<struct BlocksApartOwner, 32, 1, 512>;

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
  reference.block_->data = reinterpret_cast<char*>(reference.block_ + 1);
  return reference;
}

BlockRef BlockRef::InMemory(ReadMemory& memory, char* data, uint32_t bytes) {
  void* place = BlocksApart::Take(sizeof(BlockApart));
  if (place == nullptr) {
    place = std::malloc(BlocksApart::AllocationBytes(sizeof(BlockApart)));
    Check(place != nullptr, "out of memory for a block");
  }
  auto* const block = new (place) BlockApart;
  block->bytes = bytes;
  block->data = data;
  block->memory = &memory;
  memory.Share();
  BlockRef reference;
  reference.block_ = block;
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
  if (!IsWhole(block)) {
    auto* const apart = static_cast<BlockApart*>(block);
    apart->memory->Drop();
    apart->~BlockApart();
    if (!BlocksApart::Keep(apart, sizeof(BlockApart))) {
      std::free(apart);
    }
    return;
  }
  const size_t bytes = sizeof(Block) + block->bytes;
  block->~Block();
  if (!Blocks::Keep(block, bytes)) {
    std::free(block);
  }
}

}  // namespace varve
