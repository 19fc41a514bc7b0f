// Listings that went from a directory's first name to its last, kept while the directory stays as it is: who
// lists it again is answered from memory, and the kernel may keep what it was told.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/units.h"
#include "fs/ops/filesystem.h"
#include "fs/ops/packed_entries.h"

namespace varve {

// What one pass over a directory showed, "." and ".." left out; entries are numbered from 0. While it is made
// it belongs to the pass; once it is complete it never changes, and any thread may read it.
class Listing {
 public:
  // A longer one is not kept.
  static constexpr size_t kBytesMax = 1 * kMiB;
  // Of the Listing itself and what KeptListings needs to find it.
  static constexpr size_t kOverheadBytes = 256;

  // Of the directory at that version (InodeLocks).
  Listing(InodeNumber directory, uint64_t version) : directory_(directory), version_(version) {}

  InodeNumber directory() const { return directory_; }
  uint64_t version() const { return version_; }
  uint64_t size() const { return size_; }
  // The file of the first name. Precondition: size() != 0.
  InodeNumber first_inode() const;
  size_t bytes() const {
    return kOverheadBytes + entries_.memory_bytes() + marks_.capacity() * sizeof(marks_[0]);
  }

  // False: it would be too long, and the entry is not in it.
  [[nodiscard]] bool Append(const DirectoryEntry& entry);
  void Complete();
  bool is_complete() const { return is_complete_; }

  // Shows the entries from `first` on, as many as the sink takes.
  void Show(uint64_t first, DirectorySink& sink) const;
  // Precondition: ordinal < size(). Valid until the next change.
  std::string_view Name(uint64_t ordinal) const;
  // A request was answered from it, or made part of it.
  void CountRequest() { requests_.fetch_add(1, std::memory_order_relaxed); }
  // Whether it was asked for often enough that the kernel may well keep it: that costs the next listing as
  // much as all these requests took.
  bool IsWorthKeeping() const {
    return requests_.load(std::memory_order_relaxed) * kEntriesARequest >= size_;
  }
  // Whether the kernel was told that it may keep what this says; from now on, it was.
  bool ExchangeOffered() { return offered_.exchange(true, std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kMarkEvery = 16;
  // The kernel copies so many entries, each by itself, into pages of the directory in the time of one request
  // that is answered from memory.
  static constexpr uint64_t kEntriesARequest = 64;

  PackedEntries::Place PlaceOf(uint64_t ordinal) const;

  const InodeNumber directory_;
  const uint64_t version_;
  uint64_t size_ = 0;
  bool is_complete_ = false;
  PackedEntries entries_;
  size_t entry_bytes_ = 0;
  std::vector<PackedEntries::Place> marks_;  // of the entries 0, 16, 32, …
  std::atomic<uint64_t> requests_{0};
  std::atomic<bool> offered_{false};
};

// Any thread. What was asked for longest ago makes room.
class KeptListings {
 public:
  static constexpr size_t kBytesMax = 8 * kMiB;

  // nullptr: none of the directory at that version. One of an older version is let go.
  std::shared_ptr<Listing> Find(InodeNumber directory, uint64_t version);
  // Precondition: it is complete.
  void Keep(std::shared_ptr<Listing> listing);
  // Without those that only open directories still hold.
  size_t bytes() const;

 private:
  using Order = std::list<std::shared_ptr<Listing>>;

  // Into `removed`, which the caller empties once it has let go of the mutex.
  void RemoveLocked(Order::iterator listing, Order& removed);

  mutable std::mutex mutex_;
  Order order_;  // the front was asked for last
  std::unordered_map<uint64_t, Order::iterator> by_directory_;
  size_t bytes_ = 0;
};

}  // namespace varve
