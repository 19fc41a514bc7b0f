#include "engine/cache/block_ref.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "engine/base/check.h"

namespace varve {

BlockRef BlockRef::Allocate(uint32_t bytes) {
  void* memory = std::malloc(sizeof(Block) + bytes);
  Check(memory != nullptr, "out of memory for a block");
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
  block->~Block();
  std::free(block);
}

}  // namespace varve
