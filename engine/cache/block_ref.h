// BlockRef: a counted reference to a block's bytes in memory. One allocation holds count and bytes, or the
// bytes lie apart, in what they were read into; copying a reference is one relaxed increment.
//
// Threads: references to one block may be copied and dropped on any threads; one BlockRef object belongs to
// one thread at a time. The bytes are written before the first copy and never afterwards.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

#include "engine/base/pinned_value.h"

namespace varve {

class ReadMemory;

class BlockRef {
 public:
  BlockRef() = default;
  // `bytes` of uninitialised memory, to be filled through mutable_data() before the reference is copied.
  static BlockRef Allocate(uint32_t bytes);
  static BlockRef CopyOf(std::string_view bytes);
  // `bytes` of the memory from `data` on, which stays as long as the block does.
  static BlockRef InMemory(ReadMemory& memory, char* data, uint32_t bytes);

  BlockRef(const BlockRef& other) : block_(other.block_) {
    if (block_ != nullptr) {
      block_->references.fetch_add(1, std::memory_order_relaxed);
    }
  }
  BlockRef(BlockRef&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BlockRef& operator=(BlockRef other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BlockRef() { Drop(block_); }

  explicit operator bool() const { return block_ != nullptr; }
  // Precondition of the rest: not empty.
  std::string_view bytes() const { return {block_->data, block_->bytes}; }
  char* mutable_data() { return block_->data; }
  // Whether the bytes lie in what they were read into.
  bool is_apart() const { return !IsWhole(block_); }
  // What the allocation takes; of a block that lies apart, what a copy would.
  uint64_t charge() const { return AllocationBytes(block_->bytes) + kAllocatorBytes; }
  // Hands the reference over to a value that lies within the block.
  PinnedValue Pin(std::string_view value) && {
    return PinnedValue(value, std::exchange(block_, nullptr), nullptr,
                       [](void* block, void*) { Drop(static_cast<Block*>(block)); });
  }

 private:
  struct Block {
    std::atomic<uint32_t> references{1};
    uint32_t bytes = 0;
    // Behind this, or apart.
    char* data = nullptr;
  };
  struct BlockApart : Block {
    ReadMemory* memory = nullptr;
  };
  static size_t AllocationBytes(uint32_t bytes);
  // malloc's own header and rounding.
  static constexpr uint64_t kAllocatorBytes = 16;

  static bool IsWhole(const Block* block) { return block->data == reinterpret_cast<const char*>(block + 1); }
  static void Drop(Block* block) {
    if (block != nullptr && block->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      Free(block);
    }
  }
  static void Free(Block* block);

  Block* block_ = nullptr;
};

}  // namespace varve
