// Open directories: each shows its entries as they were when it was opened, in name order, by ordinal.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "engine/store/store.h"
#include "fs/ops/filesystem.h"

namespace varve {

// One caller at a time. Memory: the iterator's, and one name for every 1,024 entries that were passed.
class DirectoryStream {
 public:
  static constexpr uint64_t kCheckpointEvery = 1024;

  DirectoryStream(Store& store, InodeNumber inode);

  InodeNumber inode() const { return inode_; }
  // Forgets everything and pins the directory as it is now.
  void Restart();
  // False until the first MoveTo: nothing has been shown of what was pinned.
  bool moved() const { return iterator_ != nullptr; }
  // To the entry of this ordinal (0: the first after "." and ".."), or to the end. Costs nothing where the
  // stream stands already, and at most kCheckpointEvery steps where it has been.
  Task<Status> MoveTo(uint64_t ordinal);
  Task<Status> Next();
  bool Valid() const { return iterator_ != nullptr && iterator_->Valid(); }
  // The next three: precondition Valid().
  uint64_t ordinal() const { return ordinal_; }
  std::string_view name() const;
  std::string_view value() const { return iterator_->value(); }

 private:
  // Passes over names that no file may have: a damaged store must not show them.
  Task<void> SkipImpossible();
  void NoteCheckpoint();

  Store& store_;
  const InodeNumber inode_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::unique_ptr<StoreIterator> iterator_;
  uint64_t ordinal_ = 0;                  // where the iterator stands
  std::vector<std::string> checkpoints_;  // the names of the entries 0, 1024, 2048, …
};

// Any thread.
class DirectoryStreams {
 public:
  DirectoryHandle Add(std::shared_ptr<DirectoryStream> stream);
  // nullptr: no such handle.
  std::shared_ptr<DirectoryStream> Find(DirectoryHandle handle) const;
  void Remove(DirectoryHandle handle);
  // All of them: the store is about to close.
  void Clear();

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<DirectoryStream>> streams_;
  uint64_t next_ = 1;
};

}  // namespace varve
