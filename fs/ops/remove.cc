// Operations that take names away.
#include <utility>

#include "fs/ops/filesystem.h"
#include "fs/ops/filesystem_core.h"
#include "fs/ops/locked_names.h"

namespace varve {

namespace {

Task<Status> Remove(FileSystemCore& core, InodeNumber parent, std::string_view name, bool directory_wanted) {
  Status refused = core.CheckWritable();
  if (refused.ok()) {
    refused = CheckName(name);
  }
  if (!refused.ok()) {
    co_return refused;
  }
  Result<LockedNames> locked = co_await LockName(core, parent, name, InodeNumber());
  if (!locked.ok()) {
    co_return locked.error();
  }
  if (!locked->first.exists) {
    co_return NotFound("no such name");
  }
  const bool is_directory = locked->first.record.type == S_IFDIR;
  if (directory_wanted && !is_directory) {
    co_return Error(ErrorCode::kNotDirectory, "not a directory");
  }
  if (!directory_wanted && is_directory) {
    co_return Error(ErrorCode::kIsDirectory, "is a directory");
  }
  Result<LoadedInode> directory = co_await core.LoadParentLocked(parent);
  if (!directory.ok()) {
    co_return directory.error();
  }
  FoundDirent dirent = std::move(locked->first);
  Result<LoadedInode> target = co_await core.LoadNamedLocked(parent, name, std::move(dirent));
  if (!target.ok()) {
    co_return target.error();
  }
  if (is_directory && target->inode().entry_count > 0) {
    co_return Error(ErrorCode::kNotEmpty, "the directory is not empty");
  }
  const int64_t now = core.Now();
  Change change;
  change.batch.MarkFreesSpace();
  change.batch.Delete(NamespaceKey::Dirent(parent, name));
  core.StageNameLoss(change, *target, now);
  core.StageParent(change, *directory, -1, is_directory ? -1 : 0, now);
  co_return co_await core.Commit(change);
}

}  // namespace

Task<Status> FileSystem::Unlink(InodeNumber parent, std::string_view name) {
  co_return co_await Remove(*core_, parent, name, false);
}

Task<Status> FileSystem::RemoveDirectory(InodeNumber parent, std::string_view name) {
  co_return co_await Remove(*core_, parent, name, true);
}

Task<Status> FileSystem::Replace(InodeNumber inode, InodeNumber parent, std::string_view name) {
  Status refused = core_->CheckWritable();
  if (refused.ok()) {
    refused = CheckName(name);
  }
  if (!refused.ok()) {
    co_return refused;
  }
  Result<LockedNames> locked = co_await LockName(*core_, parent, name, inode);
  if (!locked.ok()) {
    co_return locked.error();
  }
  Result<LoadedInode> file = co_await core_->LoadLocked(inode);
  if (!file.ok()) {
    co_return file.error();
  }
  if (file->location.has_name()) {
    co_return InvalidArgument("the file has a name");
  }
  Result<LoadedInode> directory = co_await core_->LoadParentLocked(parent);
  if (!directory.ok()) {
    co_return directory.error();
  }
  const int64_t now = core_->Now();
  const bool replaces = locked->first.exists;
  Change change;
  if (replaces) {
    FoundDirent dirent = std::move(locked->first);
    Result<LoadedInode> target = co_await core_->LoadNamedLocked(parent, name, std::move(dirent));
    if (!target.ok()) {
      co_return target.error();
    }
    if (target->inode().is_directory()) {
      co_return Error(ErrorCode::kIsDirectory, "a directory has the name");
    }
    core_->StageNameLoss(change, *target, now);
  }
  Status staged = co_await core_->StageLink(change, *file, parent, name, now);
  if (!staged.ok()) {
    co_return staged;
  }
  core_->StageParent(change, *directory, replaces ? 0 : 1, 0, now);
  co_return co_await core_->Commit(change);
}

}  // namespace varve
