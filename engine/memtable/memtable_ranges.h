// The range tombstones of a memtable: few, and looked at by every read of it while there are any.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <utility>

#include "engine/base/range_tombstones.h"

namespace varve {

// Threads: any, but Complete. The mutex is held for a search or an insertion.
class MemtableRanges {
 public:
  void Add(RangeTombstone tombstone) {
    const std::lock_guard lock(mutex_);
    tombstones_.Add(std::move(tombstone));
    memory_bytes_.store(tombstones_.memory_bytes(), std::memory_order_relaxed);
    any_.store(true, std::memory_order_release);
  }

  bool any() const { return any_.load(std::memory_order_acquire); }
  size_t memory_bytes() const { return memory_bytes_.load(std::memory_order_relaxed); }

  SequenceNumber NewestAt(std::string_view user_key, SequenceNumber at) const {
    const std::shared_lock lock(mutex_);
    return tombstones_.NewestAt(user_key, at);
  }
  RangeCover CoverAt(std::string_view user_key, SequenceNumber at) const {
    const std::shared_lock lock(mutex_);
    return tombstones_.CoverAt(user_key, at);
  }
  // Precondition: nobody adds any more.
  const RangeTombstones& Complete() const { return tombstones_; }

 private:
  mutable std::shared_mutex mutex_;
  RangeTombstones tombstones_;  // under mutex_
  std::atomic<size_t> memory_bytes_{0};
  std::atomic<bool> any_{false};
};

}  // namespace varve
