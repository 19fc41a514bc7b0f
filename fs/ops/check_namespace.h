// The consistency of everything the filesystem has written, for fsck: every name has its inode and every
// inode its names, counts are right, bytes belong to somebody, nothing is there twice.
#pragma once

#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "engine/store/store.h"
#include "fs/ops/namespace_problem.h"

namespace varve {

// Reads the newest state once, in key order, on a store that nobody is changing (a snapshot is taken).
// Memory: about 80 bytes a name and 56 a directory; the records themselves stream. An error means that the
// check could not be finished.
Task<Result<NamespaceSummary>> CheckNamespace(Store& store, NamespaceCheckSink& sink);

}  // namespace varve
