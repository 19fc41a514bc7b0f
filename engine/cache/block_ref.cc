#include "engine/cache/block_ref.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "engine/base/check.h"
#include "engine/base/thread_lists.h"
#include "engine/cache/read_page.h"

namespace varve {

namespace {

// Blocks of up to 8.5 KiB, in steps that cost 1.5% of a block of 4 KiB: a cache that is full takes one for
// each that it gives up. At most 2.3 MiB a thread.
using Blocks = ThreadLists<BlockRef, 128, 68, 8>;
// What counts the references to blocks in pages. At most 16 KiB a thread.
using BlocksInPages = ThreadLists<struct BlocksInPagesOwner, 32, 1, 512>;

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

BlockRef BlockRef::InPage(ReadPage& page, char* data, uint32_t bytes) {
  void* memory = BlocksInPages::Take(sizeof(BlockInPage));
  if (memory == nullptr) {
    memory = std::malloc(BlocksInPages::AllocationBytes(sizeof(BlockInPage)));
    Check(memory != nullptr, "out of memory for a block");
  }
  auto* const block = new (memory) BlockInPage;
  block->bytes = bytes;
  block->data = data;
  block->page = &page;
  page.Share();
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
    auto* const in_page = static_cast<BlockInPage*>(block);
    in_page->page->Drop();
    in_page->~BlockInPage();
    if (!BlocksInPages::Keep(in_page, sizeof(BlockInPage))) {
      std::free(in_page);
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
