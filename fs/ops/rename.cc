// rename(2) and its flags.
#include <fcntl.h>
#include <stdio.h>

#include <utility>

#include "fs/ops/filesystem.h"
#include "fs/ops/filesystem_core.h"
#include "fs/ops/locked_names.h"

namespace varve {

namespace {

// Whether `directory` is `ancestor` or lies below it. The caller holds the right to move directories, so the
// way up stays as it is.
Task<Result<bool>> IsWithin(FileSystemCore& core, InodeNumber directory, InodeNumber ancestor) {
  // Deeper than any path can name, so only a damaged store has a longer way up.
  constexpr int kDepthMax = 1 << 20;
  for (int depth = 0; depth < kDepthMax; ++depth) {
    if (directory == ancestor) {
      co_return true;
    }
    if (directory == kRootInode) {
      co_return false;
    }
    Result<LoadedInode> loaded = co_await core.LoadRecord(directory);
    if (!loaded.ok()) {
      co_return loaded.error();
    }
    directory = loaded->inode().parent;
  }
  co_return Corruption("the directories above form a circle");
}

// One rename between two loaded, locked places.
struct RenameCall {
  InodeNumber parent;
  std::string_view name;
  InodeNumber new_parent;
  std::string_view new_name;
  uint32_t flags = 0;

  bool exchange() const { return (flags & RENAME_EXCHANGE) != 0; }
  bool same_parent() const { return parent == new_parent; }
};

Status CheckTarget(const RenameCall& call, const FoundDirent& source, const FoundDirent& target) {
  if (!target.exists) {
    return call.exchange() ? Status(NotFound("nothing to exchange with")) : Status();
  }
  if (call.flags & RENAME_NOREPLACE) {
    return Error(ErrorCode::kExists, "the new name exists");
  }
  const bool source_is_directory = source.record.type == S_IFDIR;
  const bool target_is_directory = target.record.type == S_IFDIR;
  if (call.exchange() || source_is_directory == target_is_directory) {
    return {};
  }
  return source_is_directory ? Error(ErrorCode::kNotDirectory, "a directory cannot replace a file")
                             : Error(ErrorCode::kIsDirectory, "a file cannot replace a directory");
}

// A directory must not get below itself.
Task<Status> CheckCircle(FileSystemCore& core, const RenameCall& call, const FoundDirent& source,
                         const FoundDirent& target) {
  if (call.same_parent()) {
    co_return Status();
  }
  if (source.record.type == S_IFDIR) {
    Result<bool> circle = co_await IsWithin(core, call.new_parent, source.record.inode);
    if (!circle.ok()) {
      co_return circle.error();
    }
    if (*circle) {
      co_return InvalidArgument("a directory cannot move below itself");
    }
  }
  if (call.exchange() && target.record.type == S_IFDIR) {
    Result<bool> circle = co_await IsWithin(core, call.parent, target.record.inode);
    if (!circle.ok()) {
      co_return circle.error();
    }
    if (*circle) {
      co_return InvalidArgument("a directory cannot move below itself");
    }
  }
  co_return Status();
}

// What each of the two directories gains and loses, and their times.
void StageParents(FileSystemCore& core, Change& change, const RenameCall& call, LoadedInode& directory,
                  LoadedInode* new_directory, bool source_is_directory, bool target_exists,
                  bool target_is_directory, int64_t now) {
  const int source_directories = source_is_directory ? 1 : 0;
  const int target_directories = target_is_directory ? 1 : 0;
  if (call.exchange()) {
    const int shift = source_directories - target_directories;
    core.StageParent(change, directory, 0, call.same_parent() ? 0 : -shift, now);
    if (new_directory != nullptr) {
      core.StageParent(change, *new_directory, 0, shift, now);
    }
    return;
  }
  const int replaced = target_exists ? 1 : 0;
  if (new_directory == nullptr) {
    core.StageParent(change, directory, -replaced, -target_directories, now);
    return;
  }
  core.StageParent(change, directory, -1, -source_directories, now);
  core.StageParent(change, *new_directory, 1 - replaced, source_directories - target_directories, now);
}

Task<Status> RenameLocked(FileSystemCore& core, const RenameCall& call, LockedNames& locked) {
  const bool target_exists = locked.second.exists;
  const bool source_is_directory = locked.first.record.type == S_IFDIR;
  const bool target_is_directory = target_exists && locked.second.record.type == S_IFDIR;
  Result<LoadedInode> directory = co_await core.LoadParentLocked(call.parent);
  if (!directory.ok()) {
    co_return directory.error();
  }
  std::optional<LoadedInode> new_directory;
  if (!call.same_parent()) {
    Result<LoadedInode> loaded = co_await core.LoadParentLocked(call.new_parent);
    if (!loaded.ok()) {
      co_return loaded.error();
    }
    new_directory.emplace(std::move(*loaded));
  }
  Status circle = co_await CheckCircle(core, call, locked.first, locked.second);
  if (!circle.ok()) {
    co_return circle;
  }
  FoundDirent source_dirent = std::move(locked.first);
  Result<LoadedInode> source =
      co_await core.LoadNamedLocked(call.parent, call.name, std::move(source_dirent));
  if (!source.ok()) {
    co_return source.error();
  }
  const int64_t now = core.Now();
  Change change;
  if (!call.exchange()) {
    change.batch.Delete(NamespaceKey::Dirent(call.parent, call.name));
  }
  if (target_exists) {
    FoundDirent target_dirent = std::move(locked.second);
    Result<LoadedInode> target =
        co_await core.LoadNamedLocked(call.new_parent, call.new_name, std::move(target_dirent));
    if (!target.ok()) {
      co_return target.error();
    }
    if (call.exchange()) {
      core.StageMove(change, *target, call.parent, call.name, now);
    } else if (target_is_directory && target->inode().entry_count > 0) {
      co_return Error(ErrorCode::kNotEmpty, "the directory to be replaced is not empty");
    } else {
      core.StageNameLoss(change, *target, now);
    }
  }
  core.StageMove(change, *source, call.new_parent, call.new_name, now);
  StageParents(core, change, call, *directory, new_directory ? &*new_directory : nullptr, source_is_directory,
               target_exists, target_is_directory, now);
  co_return co_await core.Commit(change);
}

}  // namespace

Task<Status> FileSystem::Rename(InodeNumber parent, std::string_view name, InodeNumber new_parent,
                                std::string_view new_name, uint32_t flags) {
  Status refused = core_->CheckWritable();
  if (refused.ok()) {
    refused = CheckName(name);
  }
  if (refused.ok()) {
    refused = CheckName(new_name);
  }
  if (refused.ok() && flags != 0 && flags != RENAME_NOREPLACE && flags != RENAME_EXCHANGE) {
    refused = InvalidArgument("unknown rename flags");
  }
  if (!refused.ok()) {
    co_return refused;
  }
  const RenameCall call{parent, name, new_parent, new_name, flags};
  Result<LockedNames> locked = co_await LockTwoNames(*core_, parent, name, new_parent, new_name);
  if (!locked.ok()) {
    co_return locked.error();
  }
  if (!locked->first.exists) {
    co_return NotFound("no such name");
  }
  Status allowed = CheckTarget(call, locked->first, locked->second);
  if (!allowed.ok()) {
    co_return allowed;
  }
  if (locked->second.exists && locked->first.record.inode == locked->second.record.inode) {
    co_return Status();  // two names of one file: rename(2) leaves both
  }
  co_return co_await RenameLocked(*core_, call, *locked);
}

}  // namespace varve
