// WrittenRoom: how much of the block cache `delete` gives to what flushes and merges of level 0 write, so
// that merges do not read it from the device. Follows the mix of operations as the thresholds of deletes do:
// a byte that is reserved spares one read of a byte each time that level 0 fills; a byte of blocks spares
// what gets find there (docs/design/deletes.md, "What merges find in memory").
#pragma once

#include <cstdint>

#include "engine/tree/delete_adaptation.h"

namespace varve {

class BlockCache;

// What was flushed in a window, and what the levels may hold after it.
struct WrittenLevels {
  uint64_t flushes = 0;
  uint64_t flushed_bytes = 0;
  // That gather in level 0 before they are merged.
  uint32_t level0_tables = 0;
  // 0: what merges write into level 1 is not for merges soon.
  uint64_t level1_bytes = 0;
};

// What the cache did for users in the window.
struct CacheUse {
  uint64_t capacity_bytes = 0;
  // Hits of data blocks, and what these take.
  uint64_t data_hits = 0;
  uint64_t data_bytes = 0;
  // What indexes and filters take.
  uint64_t guide_bytes = 0;
};

// More than 1: reserving pays. Infinite where no get has found anything.
double WorthOfReserve(const WrittenLevels& levels, const CacheUse& use);
// How many bytes, where it pays.
uint64_t ReserveFor(const WrittenLevels& levels, const CacheUse& use);

// One thread at a time.
class WrittenRoom {
 public:
  // `cache` must outlive it.
  explicit WrittenRoom(BlockCache& cache) : cache_(cache) {}

  // The end of a window: from now on so much is reserved.
  void OnWindow(const WrittenLevels& levels);

  uint64_t reserved_bytes() const { return reserved_bytes_; }

 private:
  CacheUse TakeUse();

  BlockCache& cache_;
  bool reserves_ = false;
  uint64_t reserved_bytes_ = 0;
  uint64_t data_hits_ = 0;
  Steadiness steadiness_;
};

}  // namespace varve
