// The consistency of everything the filesystem has written, for fsck: every name has its inode and every
// inode its names, counts are right, bytes belong to somebody, nothing is there twice.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "engine/store/store.h"
#include "fs/namespace/inode.h"

namespace varve {

class NamespaceCheckSink {
 public:
  virtual ~NamespaceCheckSink() = default;
  // Something is wrong with `inode` (0: with none in particular). `what` is one sentence for the operator.
  virtual void Problem(InodeNumber inode, std::string_view what) = 0;
  // Now and then: how many records have been looked at.
  virtual void Progress(uint64_t records) = 0;
};

struct NamespaceSummary {
  uint64_t names = 0;
  uint64_t files = 0;  // regular ones
  uint64_t directories = 0;
  uint64_t others = 0;
  uint64_t chunks = 0;
  uint64_t xattrs = 0;
  // Files without a name and truncations that the next mount will finish: no problem.
  uint64_t orphans = 0;
  uint64_t problems = 0;
};

// Reads the newest state once, in key order, on a store that nobody is changing (a snapshot is taken).
// Memory: about 80 bytes a name and 56 a directory; the records themselves stream. An error means that the
// check could not be finished.
Task<Result<NamespaceSummary>> CheckNamespace(Store& store, NamespaceCheckSink& sink);

}  // namespace varve
