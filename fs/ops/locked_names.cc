#include "fs/ops/locked_names.h"

#include <utility>

namespace varve {

namespace {

InodeNumber InodeOf(const FoundDirent& dirent) {
  return dirent.exists ? dirent.record.inode : InodeNumber();
}

}  // namespace

Task<Result<LockedNames>> LockName(FileSystemCore& core, InodeNumber parent, std::string_view name,
                                   InodeNumber also) {
  LockedNames locked;
  while (true) {
    const SequenceNumber as_of = core.store.visible_sequence();
    Result<FoundDirent> before = co_await core.FindDirent(parent, name);
    if (!before.ok()) {
      co_return before.error();
    }
    locked.inodes = co_await core.locks.Lock(parent, also, InodeOf(*before));
    if (core.store.visible_sequence() == as_of) {
      // Nobody wrote anything meanwhile.
      locked.first = std::move(*before);
      co_return locked;
    }
    Result<FoundDirent> now = co_await core.FindDirent(parent, name);
    if (!now.ok()) {
      co_return now.error();
    }
    if (InodeOf(*now) == InodeOf(*before)) {
      locked.first = std::move(*now);
      co_return locked;
    }
    // Somebody changed the name in between: the wrong inode is locked.
    locked.inodes.Unlock();
  }
}

Task<Result<LockedNames>> LockTwoNames(FileSystemCore& core, InodeNumber parent, std::string_view name,
                                       InodeNumber second_parent, std::string_view second_name) {
  LockedNames locked;
  while (true) {
    const SequenceNumber as_of = core.store.visible_sequence();
    Result<FoundDirent> first = co_await core.FindDirent(parent, name);
    if (!first.ok()) {
      co_return first.error();
    }
    Result<FoundDirent> second = co_await core.FindDirent(second_parent, second_name);
    if (!second.ok()) {
      co_return second.error();
    }
    const bool moves_directory =
        parent != second_parent && (first->record.type == S_IFDIR || second->record.type == S_IFDIR);
    if (moves_directory) {
      locked.directory_moves = co_await core.directory_moves.Lock();
    }
    locked.inodes = co_await core.locks.Lock(parent, second_parent, InodeOf(*first), InodeOf(*second));
    if (core.store.visible_sequence() == as_of) {
      locked.first = std::move(*first);
      locked.second = std::move(*second);
      co_return locked;
    }
    Result<FoundDirent> first_now = co_await core.FindDirent(parent, name);
    if (!first_now.ok()) {
      co_return first_now.error();
    }
    Result<FoundDirent> second_now = co_await core.FindDirent(second_parent, second_name);
    if (!second_now.ok()) {
      co_return second_now.error();
    }
    if (InodeOf(*first_now) == InodeOf(*first) && InodeOf(*second_now) == InodeOf(*second)) {
      locked.first = std::move(*first_now);
      locked.second = std::move(*second_now);
      co_return locked;
    }
    locked.inodes.Unlock();
    locked.directory_moves.Unlock();
  }
}

}  // namespace varve
