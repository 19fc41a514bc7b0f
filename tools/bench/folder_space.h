// What the files of a peer's folder take on its filesystem.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/result.h"

namespace varve {

// Blocks allocated to the files directly in `folder`, in bytes. Blocks. Files that vanish meanwhile count
// nothing.
uint64_t AllocatedBytesIn(const std::string& folder);

// syncfs(2): everything written to the filesystem of `folder` is on its device when this ends.
Status SyncFilesystemOf(const std::string& folder);

}  // namespace varve
