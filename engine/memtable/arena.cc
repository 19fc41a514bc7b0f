#include "engine/memtable/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "engine/base/check.h"
#include "engine/base/units.h"

namespace varve {

namespace {

// With one huge page a chunk, a search misses the TLB once where it would miss it twenty times.
constexpr size_t kHugePageBytes = 2 * kMiB;
// Arenas below this would waste too much of a huge page.
constexpr size_t kHugeCapacityMin = 16 * kMiB;

// An active shard strands half a block on average: 1/128 of the capacity each.
size_t BlockBytesFor(size_t capacity_bytes) {
  return std::clamp<size_t>(RoundUp(capacity_bytes / 64, 4 * kKiB), 4 * kKiB, 64 * kKiB);
}

}  // namespace

Arena::Arena(size_t capacity_bytes)
    : block_bytes_(BlockBytesFor(capacity_bytes)),
      chunk_bytes_(capacity_bytes >= kHugeCapacityMin ? kHugePageBytes : block_bytes_ + sizeof(Block)),
      large_bytes_(block_bytes_ / 4) {
}

Arena::~Arena() {
  while (chunks_ != nullptr) {
    Chunk* const next = chunks_->next;
    std::free(chunks_);
    chunks_ = next;
  }
}

char* Arena::NewChunk(size_t bytes, size_t alignment) {
  bytes = RoundUp(bytes, alignment);
  void* const memory = std::aligned_alloc(alignment, bytes);
  Check(memory != nullptr, "out of memory for a memtable");
  if (alignment == kHugePageBytes) {
    madvise(memory, bytes, MADV_HUGEPAGE);  // advice: nothing depends on it
  }
  chunks_ = new (memory) Chunk{chunks_};
  reserved_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return static_cast<char*>(memory) + sizeof(Chunk);
}

Arena::Block* Arena::NewBlock() {
  if (chunk_left_ < block_bytes_) {
    const bool huge = chunk_bytes_ == kHugePageBytes;
    chunk_at_ = NewChunk(chunk_bytes_, huge ? kHugePageBytes : alignof(std::max_align_t));
    chunk_left_ = chunk_bytes_ - sizeof(Chunk);
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
    return NewChunk(padded + sizeof(Chunk), alignof(std::max_align_t));
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
