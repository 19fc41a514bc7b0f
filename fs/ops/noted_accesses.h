// The times of accesses that are noted apart from the files they belong to. The record of a small file holds
// its content too: for a new time it would be written anew, one to two KiB for each file that is read once.
// The note is some forty bytes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "engine/base/logger.h"
#include "engine/ring/task.h"
#include "engine/store/store.h"
#include "fs/namespace/inode.h"

namespace varve {

// All notes of the store are in memory, so that reading an inode needs no second record
// (FileSystemOptions::accesses_noted_max). A note is later than what the inode's own record says, until that
// is written the next time, in one batch with the removal of the note.
//
// Any thread. Who adds or drops a note holds the inode's lock.
class NotedAccesses {
 public:
  explicit NotedAccesses(size_t max) : max_(max) {}

  // Reads what the store holds. What cannot be read is left out, and said in the log: a time of an access is
  // not worth a mount.
  Task<void> Load(Store& store, Logger& logger);

  std::optional<int64_t> Find(InodeNumber inode) const;
  bool full() const { return count_.load(std::memory_order_relaxed) >= max_; }
  uint64_t size() const { return count_.load(std::memory_order_relaxed); }

  // The record has been written.
  void Add(InodeNumber inode, int64_t atime_nanos);
  // It has been deleted.
  void Drop(InodeNumber inode);

  // One at a time puts notes back into the files' records (PutBackAccesses). False: somebody does, or none is
  // to begin any more.
  bool TryBeginPutBack();
  void EndPutBack();
  bool is_stopping() const { return stopping_.load(std::memory_order_relaxed); }
  // Ends when nobody puts back and nobody will.
  Task<void> Stop();

 private:
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<uint64_t, int64_t> times;
  };
  static constexpr size_t kShards = 16;
  Shard& ShardOf(InodeNumber inode) const { return shards_[inode.value % kShards]; }

  const size_t max_;
  mutable std::array<Shard, kShards> shards_;
  std::atomic<size_t> count_{0};  // spares lookups the mutex where there are none
  std::atomic<bool> putting_back_{false};
  std::atomic<bool> stopping_{false};
};

}  // namespace varve
