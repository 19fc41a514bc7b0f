// What the filesystem knows about one file, directory or special file, apart from its name and its bytes.
#pragma once

#include <sys/stat.h>

#include <cstdint>

#include "engine/base/units.h"

namespace varve {

// Names a file for ever: never reused within a store. It is also the node id that the kernel is given.
using InodeNumber = StrongNumber<struct InodeNumberTag>;
inline constexpr InodeNumber kRootInode{1};

// The defaults were measured (docs/design/content.md). Decided by mkfs and stored with the namespace:
// chunk_bytes can never change afterwards.
struct FormatParameters {
  // Content up to this size lies in the record of the inode itself.
  uint32_t inline_bytes_max = 2 * 1024;
  // Larger content lies in chunk records of this size (a power of two, 4 KiB to 256 KiB).
  uint32_t chunk_bytes = 4 * 1024;
};

struct Inode {
  InodeNumber number;
  uint32_t mode = 0;  // type and permissions, as in st_mode
  uint32_t nlink = 1;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t rdev = 0;
  uint64_t size = 0;
  int64_t atime_nanos = 0;  // all four since the Unix epoch
  int64_t mtime_nanos = 0;
  int64_t ctime_nanos = 0;
  int64_t btime_nanos = 0;
  // True when the bytes lie in chunk records; else they are inline, `size` of them.
  bool chunked = false;
  // How many chunk records hold bytes below `size`. Fewer than size / chunk_bytes, rounded up: a sparse file.
  uint64_t chunk_count = 0;
  bool has_xattrs = false;
  // Directories only.
  InodeNumber parent;
  uint64_t entry_count = 0;
  uint32_t subdirectory_count = 0;

  bool is_directory() const { return S_ISDIR(mode); }
  bool is_regular() const { return S_ISREG(mode); }
  bool is_symlink() const { return S_ISLNK(mode); }
};

}  // namespace varve
