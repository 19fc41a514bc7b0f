// The filesystem by path, for tools on a store that is not mounted: keys are paths. Components are separated
// by '/'; leading, trailing and doubled ones are ignored; "." and ".." are refused (kInvalidArgument);
// symbolic links are not followed. Paths, sources, sinks and visitors must outlive the Task.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "fs/ops/filesystem.h"

namespace varve {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Up to into.size() bytes; 0 at the end.
  virtual Result<size_t> Read(std::span<char> into) = 0;
};

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual Status Write(std::string_view bytes) = 0;
};

class PathVisitor {
 public:
  virtual ~PathVisitor() = default;
  // `path` and `attributes` are valid until the Task ends; `path` has no leading '/'. False ends the walk,
  // successfully. The visitor may call the filesystem (a scan that reads values does).
  virtual Task<bool> Visit(std::string_view path, const Attributes& attributes) = 0;
};

// What `path` names. No lookup stays counted.
Task<Result<Attributes>> StatPath(FileSystem& fs, std::string_view path);

// The bytes of a regular file, or the target of a symbolic link, in pieces. kIsDirectory for a directory.
Task<Status> ReadWhole(FileSystem& fs, std::string_view path, ByteSink& to);

struct WriteWholeOptions {
  uint32_t mode = 0644;         // of a new file
  bool make_parents = true;     // missing directories are made, with mode 0755
  Caller caller;                // who owns what is made
  bool fail_if_exists = false;  // kExists instead of replacing the content
};
// Makes or replaces the content of a regular file. Values larger than kWriteBytesMax take several batches:
// the new content is written beside the old one, without a name, and gets the name when it is complete.
Task<Status> WriteWhole(FileSystem& fs, std::string_view path, ByteSource& from, WriteWholeOptions options);

// Removes a name. A directory must be empty unless `recursive`.
Task<Status> RemovePath(FileSystem& fs, std::string_view path, bool recursive);

// The names in a directory, in bytewise order, or the file itself. Visits bare names.
Task<Status> ListPath(FileSystem& fs, std::string_view path, PathVisitor& visitor);

// Every path that begins with `prefix`, in bytewise order of whole paths, directories included (without a
// trailing
// '/'). Reads as it goes: memory does not grow with the number of paths.
Task<Status> ScanPaths(FileSystem& fs, std::string_view prefix, PathVisitor& visitor);

}  // namespace varve
