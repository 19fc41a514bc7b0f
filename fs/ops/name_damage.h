// What lies in damaged ranges of keys, by the names of files: an operator restores files, not blocks.
#pragma once

#include <string_view>
#include <vector>

#include "engine/base/key_range.h"
#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "engine/store/store.h"

namespace varve {

class DamageSink {
 public:
  virtual ~DamageSink() = default;
  // Of `path` (from the root, beginning with '/'), `part` cannot be read: "bytes 4096 to 8191".
  virtual void Damaged(std::string_view path, std::string_view part) = 0;
};

// Names what reads of `ranges` answer with kCorruption: each file whose bytes or attributes cannot be read,
// and each directory in which names may be lost. Content is tried by reading it, so that a file is named when
// and only when a part of it cannot be read; of names only the range is known. Reads all names once, and what
// lies in the ranges. Memory: about 100 bytes a directory, and the names of files in the ranges. Errors:
// kDeviceError.
Task<Status> NameDamage(Store& store, std::vector<KeyRange> ranges, DamageSink& sink);

}  // namespace varve
