// Locks for operations on names: which inode must be locked is known only once the name has been read.
#pragma once

#include <string_view>

#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "fs/ops/filesystem_core.h"

namespace varve {

// Parents and what their names refer to, read under all their locks.
struct LockedNames {
  AsyncMutex::Guard directory_moves;  // released after the inodes, being declared first
  InodeLocks::Guard inodes;
  FoundDirent first;
  FoundDirent second;
};

// Locks the parent, what `name` refers to if it exists, and `also` (0: nothing).
Task<Result<LockedNames>> LockName(FileSystemCore& core, InodeNumber parent, std::string_view name,
                                   InodeNumber also);
// Locks both parents and what the two names refer to, and the right to move directories when one of them is a
// directory that may change its parent.
Task<Result<LockedNames>> LockTwoNames(FileSystemCore& core, InodeNumber parent, std::string_view name,
                                       InodeNumber second_parent, std::string_view second_name);

}  // namespace varve
