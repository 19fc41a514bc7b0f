// Removes, in the background and in small batches, what an operation left behind: the chunks and attributes
// of files without a name, and the chunks beyond the end of truncated files.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "engine/base/logger.h"
#include "engine/ring/executor.h"
#include "engine/ring/task.h"
#include "engine/store/store.h"
#include "fs/content/content.h"
#include "fs/ops/inode_locks.h"
#include "fs/ops/node_table.h"

namespace varve {

// Any thread. Its own work runs on the background executor; each batch takes the inode's lock.
//
// A truncated file may have stale chunks in [from, end), all beyond its size. Whoever makes the file longer
// over them first removes them (RemoveStale): so nobody ever reads one.
class Reaper {
 public:
  // All must outlive this.
  Reaper(Store& store, const Content& content, Logger& logger, Executor& background, InodeLocks& locks,
         const NodeTable& nodes);
  ~Reaper();

  // A file that has an orphan record and no node: everything of it goes.
  void Enqueue(InodeNumber inode);

  bool HasStaleChunks(InodeNumber inode) const;
  // Adds to `batch` the record that keeps a truncation's rest through a crash, unless an orphan record does
  // that already. The caller holds the inode's lock, and calls AddStale when the batch is written.
  void StageStale(InodeNumber inode, bool is_orphan, StaleChunks stale, WriteBatch& batch) const;
  void AddStale(InodeNumber inode, bool is_orphan, StaleChunks stale);
  // The truncated file has become an orphan, whose record now speaks for its chunks too.
  void MarkOrphaned(InodeNumber inode);
  // Removes what is stale, where that begins below chunk `below`. The caller holds the inode's lock.
  Task<Status> RemoveStale(InodeNumber inode, uint64_t below);

  // Finds in the store what was not finished before. Unless `start`, it only learns which chunks are stale.
  Task<Status> Recover(bool start);
  // Ends after the batch that is being written.
  Task<void> Stop();
  // Waits until nothing is left to do.
  Task<Status> Finish();

  uint64_t waiting() const;
  // Records of deletes; one that deletes a range of chunks counts once.
  uint64_t deletes_written() const { return deletes_written_.load(std::memory_order_relaxed); }

 private:
  struct Stale {
    StaleChunks chunks;
    bool is_orphan = false;
  };
  struct Work {
    InodeNumber inode;
    // Left by an earlier mount: chunks of a truncation may lie beyond the file's size, and nobody knows of
    // them.
    bool found_at_open = false;
  };
  void Push(const Work& work);
  std::optional<Work> Pop();
  std::optional<Stale> FindStale(InodeNumber inode) const;
  void SetStale(InodeNumber inode, Stale stale);
  Task<void> Run();
  // True when it is to be done again: something else is left of the file.
  Task<Result<bool>> DoBatch(Work work);
  Task<Status> RemoveOrphan(Work work);
  // Deletes the chunks in [from, end): few one by one, many as a range.
  Task<Status> StageChunkDeletes(InodeNumber inode, uint64_t from, uint64_t end, WriteBatch& batch) const;
  // The same without a search, of a file that has all its chunks. False: it may have others, or not all.
  bool StageKnownChunks(const Work& work, const Inode& file, WriteBatch& batch) const;
  Task<Status> StageXattrDeletes(InodeNumber inode, WriteBatch& batch) const;
  Task<Status> Write(WriteBatch& batch);

  Store& store_;
  const Content& content_;
  Logger& logger_;
  Executor& background_;
  InodeLocks& locks_;
  const NodeTable& nodes_;

  mutable std::mutex mutex_;  // guards what follows, for a few instructions
  std::deque<Work> queue_;
  std::unordered_map<uint64_t, Stale> stale_;
  bool running_ = false;
  bool stopping_ = false;
  Status failure_;

  std::atomic<size_t> stale_files_{0};  // spares the hot paths the mutex
  std::atomic<uint64_t> deletes_written_{0};
};

}  // namespace varve
