// RecentFiles: what a reader of large files knows of those that it read last, so that a read of one does not
// search for its inode again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "fs/namespace/inode.h"

namespace varve {

// Of one filesystem, on one thread; a few KiB.
class RecentFiles {
 public:
  struct Known {
    Inode inode;
    // Of its lock (InodeLocks::Version) when it was read: true while that is still the same.
    uint64_t version = 0;
  };

  // nullptr: unknown. Valid until the next Keep.
  const Known* Find(InodeNumber inode) const {
    const Known& known = files_[PlaceOf(inode)];
    return known.inode.number == inode && inode.value != 0 ? &known : nullptr;
  }
  // In place of another, perhaps.
  void Keep(const Inode& inode, uint64_t version) { files_[PlaceOf(inode.number)] = {inode, version}; }

 private:
  static constexpr size_t kFiles = 16;
  static size_t PlaceOf(InodeNumber inode) { return inode.value % kFiles; }

  std::array<Known, kFiles> files_;
};

}  // namespace varve
