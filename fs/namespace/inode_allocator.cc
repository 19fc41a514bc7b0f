#include "fs/namespace/inode_allocator.h"

#include <string>

#include "fs/namespace/namespace_format.h"

namespace varve {

std::optional<InodeNumber> InodeAllocator::TryAllocate() {
  uint64_t candidate = next_.load(std::memory_order_relaxed);
  while (candidate < limit_.load(std::memory_order_acquire)) {
    if (next_.compare_exchange_weak(candidate, candidate + 1, std::memory_order_relaxed)) {
      return InodeNumber(candidate);
    }
  }
  return std::nullopt;
}

Task<Result<InodeNumber>> InodeAllocator::Allocate() {
  while (true) {
    if (const std::optional<InodeNumber> number = TryAllocate()) {
      co_return *number;
    }
    AsyncMutex::Guard guard = co_await reserving_.Lock();
    const uint64_t limit = limit_.load(std::memory_order_relaxed);
    if (next_.load(std::memory_order_relaxed) < limit) {
      continue;  // somebody else has reserved a block meanwhile
    }
    std::string value;
    AppendInodeCounter(value, InodeNumber(limit + kBlock));
    WriteBatch batch;
    batch.Put(kInodeCounterKey, value);
    Status written = co_await store_.Write(batch, Durability::kInterval);
    if (!written.ok()) {
      co_return written.error();
    }
    limit_.store(limit + kBlock, std::memory_order_release);
  }
}

}  // namespace varve
