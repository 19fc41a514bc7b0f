// Arena: memory that is given out in small pieces by several threads at once and freed all together.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "engine/base/huge_page_pool.h"

namespace varve {

// Any thread may allocate at any time. Threads are spread over shards, each with a block of its own, so that
// they seldom touch the same cache line; which shard a thread uses depends on nothing but the thread, so one
// thread alone always gets the same amounts of memory for the same requests.
class Arena {
 public:
  static constexpr size_t kAlignment = 8;
  static constexpr size_t kShards = 16;

  // Blocks are sized so that a full arena of `capacity_bytes` wastes little; it may grow beyond. Large arenas
  // take their memory from `pool`, where there is one, and give it back.
  explicit Arena(size_t capacity_bytes, std::shared_ptr<HugePagePool> pool = nullptr);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  // Aligned to kAlignment; lives as long as the arena. Running out of memory ends the process.
  char* Allocate(size_t bytes) {
    const size_t padded = (bytes + kAlignment - 1) & ~(kAlignment - 1);
    Block* block = shards_[ShardOfThread()].block.load(std::memory_order_acquire);
    if (block != nullptr && padded <= large_bytes_) [[likely]] {
      const size_t at = block->used.fetch_add(padded, std::memory_order_relaxed);
      if (at + padded <= block->bytes) [[likely]] {
        return block->Data() + at;
      }
    }
    return AllocateSlow(padded);
  }

  // What the blocks given to shards and the large pieces amount to: what a full-ness rule goes by. Grows in
  // steps of a block.
  size_t memory_bytes() const { return given_bytes_.load(std::memory_order_relaxed); }
  // What was taken from the system, to the byte: at most one chunk more.
  size_t reserved_bytes() const { return reserved_bytes_.load(std::memory_order_relaxed); }

  // Which of kShards the calling thread uses; others may keep per-thread state by it.
  static size_t ShardOfThread() {
    // The thread's control block: distinct for live threads, cheap to ask, never migrates as a CPU number
    // does.
    const uint64_t self = pthread_self();
    return static_cast<size_t>((self >> 6) * 0x9e3779b97f4a7c15U >> 60);
  }

 private:
  // Lies at the start of its memory. `used` may run past `bytes`: then the block is full.
  struct Block {
    std::atomic<size_t> used{0};
    size_t bytes = 0;
    char* Data() { return reinterpret_cast<char*>(this + 1); }
  };
  struct alignas(64) Shard {
    std::atomic<Block*> block{nullptr};
  };
  // What is asked of the system, chained for the destructor.
  struct Chunk {
    Chunk* next = nullptr;
    bool huge_page = false;
  };

  char* AllocateSlow(size_t padded);
  // The next two need mutex_.
  char* NewChunk(size_t bytes);
  char* NewHugePage();
  char* Chain(void* memory, size_t bytes, bool huge_page);
  Block* NewBlock();

  const std::shared_ptr<HugePagePool> pool_;
  const size_t block_bytes_;
  // One huge page a chunk, or one block.
  const bool uses_huge_pages_;
  // Larger pieces get memory of their own, so that they do not throw a half-used block away.
  const size_t large_bytes_;
  std::array<Shard, kShards> shards_;

  std::atomic<size_t> given_bytes_{0};
  std::atomic<size_t> reserved_bytes_{0};
  // Guards the rest, and who replaces a shard's block.
  std::mutex mutex_;
  Chunk* chunks_ = nullptr;
  char* chunk_at_ = nullptr;
  size_t chunk_left_ = 0;
};
static_assert(Arena::kShards == 16, "ShardOfThread keeps four bits");

}  // namespace varve
