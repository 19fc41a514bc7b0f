// chmod, chown, utimensat, truncate: setattr in one batch.
#include <utility>

#include "fs/ops/filesystem.h"
#include "fs/ops/filesystem_core.h"
#include "fs/ops/xattr_records.h"

namespace varve {

namespace {

int64_t TimeOf(const TimeChange& change, int64_t now) {
  return change.now ? now : change.nanos;
}

void ApplyOwnerAndMode(Inode& inode, const SetAttributes& changes) {
  if (changes.mode) {
    inode.mode = (inode.mode & S_IFMT) | (*changes.mode & 07777);
  }
  inode.uid = changes.uid.value_or(inode.uid);
  inode.gid = changes.gid.value_or(inode.gid);
  if (changes.kill_suid_sgid && inode.is_regular()) {
    KillSetIds(inode);
  }
}

void ApplyTimes(Inode& inode, const SetAttributes& changes, int64_t now) {
  inode.ctime_nanos = changes.ctime_nanos.value_or(now);
  if (changes.size) {
    inode.mtime_nanos = now;
  }
  if (changes.atime) {
    inode.atime_nanos = TimeOf(*changes.atime, now);
  }
  if (changes.mtime) {
    inode.mtime_nanos = TimeOf(*changes.mtime, now);
  }
}

Status CheckSize(const Inode& inode, uint64_t size) {
  if (inode.is_directory()) {
    return Error(ErrorCode::kIsDirectory, "is a directory");
  }
  if (!inode.is_regular()) {
    return InvalidArgument("not a regular file");
  }
  return size > kFileBytesMax ? Status(Error(ErrorCode::kTooLarge, "beyond the largest file")) : Status();
}

// Stages the new size, and what is left to be deleted afterwards.
Task<Status> StageSize(FileSystemCore& core, FileImage& file, uint64_t size, bool is_orphan, Change& change,
                       StaleChunks& stale) {
  const InodeNumber inode = file.inode.number;
  if (size < file.inode.size) {
    change.batch.MarkFreesSpace();
  } else if (core.reaper.HasStaleChunks(inode)) {
    Status removed = co_await core.reaper.RemoveStale(inode, core.content.ChunksIn(size));
    if (!removed.ok()) {
      co_return removed;
    }
  }
  Status staged = co_await core.content.StageTruncate(file, size, change.batch, stale);
  if (staged.ok() && !stale.empty()) {
    core.reaper.StageStale(inode, is_orphan, stale, change.batch);
  }
  co_return staged;
}

}  // namespace

Task<Result<Attributes>> FileSystem::ChangeAttributes(InodeNumber inode, SetAttributes changes) {
  Status refused = core_->CheckWritable();
  if (!refused.ok()) {
    co_return refused.error();
  }
  const InodeLocks::Guard guard = co_await core_->locks.Lock(inode);
  Result<LoadedInode> loaded = co_await core_->LoadLocked(inode);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  FileImage file{loaded->inode(), std::string(loaded->record.content)};
  const bool is_orphan = !loaded->location.has_name();
  Change change;
  StaleChunks stale;
  if (changes.size) {
    Status allowed = CheckSize(file.inode, *changes.size);
    if (!allowed.ok()) {
      co_return allowed.error();
    }
    Status staged = co_await StageSize(*core_, file, *changes.size, is_orphan, change, stale);
    if (!staged.ok()) {
      co_return staged.error();
    }
  }
  ApplyOwnerAndMode(file.inode, changes);
  if (changes.mode) {
    Status staged = co_await StageModeInAcl(*core_, change, file.inode);
    if (!staged.ok()) {
      co_return staged.error();
    }
  }
  ApplyTimes(file.inode, changes, core_->Now());
  core_->StageInode(change, loaded->location, file.inode, file.content);
  Status written = co_await core_->Commit(change);
  if (!written.ok()) {
    co_return written.error();
  }
  if (!stale.empty()) {
    core_->reaper.AddStale(inode, is_orphan, stale);
  }
  co_return core_->AttributesOf(file.inode);
}

}  // namespace varve
