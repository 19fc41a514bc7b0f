#include "engine/memtable/arena.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/units.h"

namespace varve {

namespace {

// With one huge page a chunk, a search misses the TLB once where it would miss it twenty times. Arenas below
// this would waste too much of a page.
constexpr size_t kHugeCapacityMin = 16 * kMiB;

// An active shard strands half a block on average: 1/128 of the capacity each.
size_t BlockBytesFor(size_t capacity_bytes) {
  return std::clamp<size_t>(RoundUp(capacity_bytes / 64, 4 * kKiB), 4 * kKiB, 64 * kKiB);
}

}  // namespace

Arena::Arena(size_t capacity_bytes, std::shared_ptr<HugePagePool> pool)
    : pool_(std::move(pool)),
      block_bytes_(BlockBytesFor(capacity_bytes)),
      uses_huge_pages_(capacity_bytes >= kHugeCapacityMin),
      large_bytes_(block_bytes_ / 4) {
}

Arena::~Arena() {
  while (chunks_ != nullptr) {
    Chunk* const chunk = std::exchange(chunks_, chunks_->next);
    if (!chunk->huge_page) {
      std::free(chunk);
    } else if (pool_ != nullptr) {
      pool_->Give(chunk);
    } else {
      HugePagePool::Free(chunk);
    }
  }
}

char* Arena::NewChunk(size_t bytes) {
  void* const memory = std::malloc(bytes);
  Check(memory != nullptr, "out of memory for a memtable");
  return Chain(memory, bytes, false);
}

char* Arena::NewHugePage() {
  void* const page = pool_ != nullptr ? pool_->Take() : HugePagePool::Allocate();
  return Chain(page, HugePagePool::kPageBytes, true);
}

char* Arena::Chain(void* memory, size_t bytes, bool huge_page) {
  chunks_ = new (memory) Chunk{chunks_, huge_page};
  reserved_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return static_cast<char*>(memory) + sizeof(Chunk);
}

Arena::Block* Arena::NewBlock() {
  if (chunk_left_ < block_bytes_) {
    const size_t chunk_bytes = uses_huge_pages_ ? HugePagePool::kPageBytes : block_bytes_ + sizeof(Block);
    chunk_at_ = uses_huge_pages_ ? NewHugePage() : NewChunk(chunk_bytes);
    chunk_left_ = chunk_bytes - sizeof(Chunk);
  }
  // The last block of a chunk takes what the chunk's own header left over.
  const size_t bytes = chunk_left_ < 2 * block_bytes_ ? chunk_left_ : block_bytes_;
  auto* const block = new (chunk_at_) Block;
  block->bytes = (bytes - sizeof(Block)) & ~(kAlignment - 1);
  chunk_at_ += bytes;
  chunk_left_ -= bytes;
  given_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return block;
}

char* Arena::AllocateSlow(size_t padded) {
  const std::lock_guard lock(mutex_);
  if (padded > large_bytes_) {
    given_bytes_.fetch_add(padded, std::memory_order_relaxed);
    return NewChunk(padded + sizeof(Chunk));
  }
  Shard& shard = shards_[ShardOfThread()];
  // Another thread of this shard may have replaced the block meanwhile, and yet others may have filled that
  // one.
  Block* block = shard.block.load(std::memory_order_relaxed);
  for (;;) {
    if (block != nullptr) {
      const size_t at = block->used.fetch_add(padded, std::memory_order_relaxed);
      if (at + padded <= block->bytes) {
        return block->Data() + at;
      }
    }
    block = NewBlock();
    shard.block.store(block, std::memory_order_release);
  }
}

}  // namespace varve
