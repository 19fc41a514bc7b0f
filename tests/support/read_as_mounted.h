// Reads as a mount does: what memory has at once, what was begun goes on from there, else anew.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "fs/content/content.h"
#include "fs/ops/filesystem.h"

namespace varve {

inline Task<Result<size_t>> ReadAsMounted(FileSystem& fs, InodeNumber inode, uint64_t offset,
                                          std::span<char> into, RecentFiles* recent = nullptr) {
  std::unique_ptr<UnfinishedRead> rest;
  const std::optional<Result<size_t>> at_once = fs.BeginRead(inode, offset, into, rest, recent);
  if (at_once) {
    co_return *at_once;
  }
  if (rest == nullptr) {
    co_return co_await fs.Read(inode, offset, into);
  }
  co_return co_await rest->Finish();
}

}  // namespace varve
