// What a user may do with a mounted filesystem, whatever it holds: look at everything, then change
// everything.
#pragma once

#include "engine/ring/task.h"
#include "fs/ops/filesystem.h"

namespace varve::fuzz {

// Lists, looks up and reads from the root down. A directory that was visited is not visited again; at most
// `nodes_max` names are.
Task<void> LookAtAll(FileSystem& fs, size_t nodes_max);

// Writes, truncates, renames, links, replaces and removes the names in the root and in its directories;
// errors are taken as they come.
Task<void> ChangeAll(FileSystem& fs, size_t nodes_max);

}  // namespace varve::fuzz
