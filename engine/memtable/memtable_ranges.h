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
    size_.store(tombstones_.size(), std::memory_order_release);
  }

  size_t size() const { return size_.load(std::memory_order_acquire); }
  bool any() const { return size() != 0; }
  // A memtable with so many is to take no more, however small it is: where they overlap, each may be over the
  // parts of all others, and one more edit of the manifest has to hold them.
  bool full() const { return size() >= kMost; }
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
  static constexpr size_t kMost = 1024;

  mutable std::shared_mutex mutex_;
  RangeTombstones tombstones_;  // under mutex_
  std::atomic<size_t> memory_bytes_{0};
  std::atomic<size_t> size_{0};
};

}  // namespace varve
