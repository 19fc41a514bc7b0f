// Reading, writing and allocating the bytes of files.
#include <linux/falloc.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "fs/ops/access_times.h"
#include "fs/ops/filesystem.h"
#include "fs/ops/filesystem_core.h"

namespace varve {

namespace {

Status CheckRegular(const Inode& inode) {
  if (inode.is_directory()) {
    return Error(ErrorCode::kIsDirectory, "is a directory");
  }
  return inode.is_regular() ? Status() : Status(InvalidArgument("not a regular file"));
}

// A regular file for a change, and the locked inode it came from.
Task<Result<LoadedInode>> LoadFileLocked(FileSystemCore& core, InodeNumber inode) {
  Result<LoadedInode> loaded = co_await core.LoadLocked(inode);
  if (!loaded.ok()) {
    co_return loaded;
  }
  Status regular = CheckRegular(loaded->inode());
  if (!regular.ok()) {
    co_return regular.error();
  }
  co_return loaded;
}

FileImage ImageOf(const LoadedInode& loaded) {
  return {loaded.inode(), std::string(loaded.record.content)};
}

}  // namespace

void KillSetIds(Inode& inode) {
  inode.mode &= ~static_cast<uint32_t>(S_ISUID);
  if (inode.mode & S_IXGRP) {
    inode.mode &= ~static_cast<uint32_t>(S_ISGID);
  }
}

std::optional<Result<size_t>> FileSystem::BeginRead(InodeNumber inode, uint64_t offset, std::span<char> into,
                                                    std::unique_ptr<UnfinishedRead>& rest,
                                                    RecentFiles* recent) {
  const uint64_t version = core_->locks.Version(inode);
  const RecentFiles::Known* const known = recent != nullptr ? recent->Find(inode) : nullptr;
  std::optional<Result<LoadedInode>> loaded;
  const Inode* file = nullptr;
  std::string_view inline_bytes;
  if (known != nullptr && known->version == version) {
    // Whoever changes an inode holds its lock, and leaves another version behind.
    file = &known->inode;
  } else {
    loaded = core_->TryLoad(inode);
    if (!loaded) {
      return std::nullopt;
    }
    if (!loaded->ok()) {
      return loaded->error();
    }
    file = &(*loaded)->inode();
    inline_bytes = (*loaded)->record.content;
    const Status regular = CheckRegular(*file);
    if (!regular.ok()) {
      return regular.error();
    }
    if (recent != nullptr && file->chunked && core_->locks.Unchanged(inode, version)) {
      recent->Keep(*file, version);
    }
  }
  if (AccessIsDue(*core_, *file) && !TryNoteAccess(*core_, inode)) {
    return std::nullopt;
  }
  std::unique_ptr<UnfinishedRead> unfinished;
  std::optional<Result<size_t>> read =
      core_->content.BeginRead(*file, inline_bytes, offset, into, ReadOptions(), unfinished);
  if (file->chunked && !core_->locks.Unchanged(inode, version)) {
    return std::nullopt;  // the inode and its chunks may be of different moments
  }
  rest = std::move(unfinished);
  return read;
}

Task<Result<size_t>> FileSystem::Read(InodeNumber inode, uint64_t offset, std::span<char> into) {
  bool access_is_due = false;
  Result<size_t> read = co_await ReadBytes(inode, offset, into, access_is_due);
  // Before the answer: the kernel asks for the time afterwards, and keeps what it is told.
  if (access_is_due && read.ok()) {
    co_await NoteAccess(*core_, inode);
  }
  co_return read;
}

Task<Result<size_t>> FileSystem::ReadBytes(InodeNumber inode, uint64_t offset, std::span<char> into,
                                           bool& access_is_due) {
  const std::shared_ptr<const Snapshot> snapshot = core_->store.GetSnapshot();
  Result<std::optional<LoadedInode>> at = co_await core_->LoadAt(inode, *snapshot);
  if (!at.ok()) {
    co_return at.error();
  }
  if (*at) {
    const LoadedInode& file = **at;
    Status regular = CheckRegular(file.inode());
    if (!regular.ok()) {
      co_return regular.error();
    }
    access_is_due = AccessIsDue(*core_, file.inode());
    const ReadOptions options{snapshot.get(), true};
    co_return co_await core_->content.Read(file.inode(), file.record.content, offset, into, options);
  }
  const InodeLocks::Guard guard = co_await core_->locks.Lock(inode);
  Result<LoadedInode> file = co_await LoadFileLocked(*core_, inode);
  if (!file.ok()) {
    co_return file.error();
  }
  access_is_due = AccessIsDue(*core_, file->inode());
  const ReadOptions newest;
  co_return co_await core_->content.Read(file->inode(), file->record.content, offset, into, newest);
}

Task<Result<size_t>> FileSystem::Write(InodeNumber inode, uint64_t offset, std::string_view data,
                                       WriteFlags flags) {
  Status refused = core_->CheckWritable();
  if (!refused.ok()) {
    co_return refused.error();
  }
  if (data.size() > kWriteBytesMax) {
    co_return InvalidArgument("a write is at most 1 MiB");
  }
  if (offset > kFileBytesMax || data.size() > kFileBytesMax - offset) {
    co_return Error(ErrorCode::kTooLarge, "beyond the largest file");
  }
  const InodeLocks::Guard guard = co_await core_->locks.Lock(inode);
  Result<LoadedInode> loaded = co_await LoadFileLocked(*core_, inode);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  if (data.empty()) {
    co_return size_t{0};
  }
  FileImage file = ImageOf(*loaded);
  if (core_->reaper.HasStaleChunks(inode)) {
    Status removed = co_await core_->reaper.RemoveStale(inode, core_->content.ChunksIn(offset + data.size()));
    if (!removed.ok()) {
      co_return removed.error();
    }
  }
  Change change;
  Status staged = co_await core_->content.StageWrite(file, offset, data, change.batch);
  if (!staged.ok()) {
    co_return staged.error();
  }
  file.inode.mtime_nanos = file.inode.ctime_nanos = core_->Now();
  if (flags.kill_suid_sgid) {
    KillSetIds(file.inode);
  }
  core_->StageInode(change, loaded->location, file.inode, file.content);
  Status written = co_await core_->Commit(change, flags.durable);
  if (written.ok() && flags.durable && change.batch.empty()) {
    // A small file without a name has no record; what was done before is to be durable all the same.
    written = co_await core_->store.Sync();
  }
  if (!written.ok()) {
    co_return written.error();
  }
  co_return data.size();
}

Task<Status> FileSystem::Allocate(InodeNumber inode, int mode, uint64_t offset, uint64_t length) {
  Status refused = core_->CheckWritable();
  if (!refused.ok()) {
    co_return refused;
  }
  const bool keep_size = (mode & FALLOC_FL_KEEP_SIZE) != 0;
  const int what = mode & ~FALLOC_FL_KEEP_SIZE;
  if (what != 0 && what != FALLOC_FL_ZERO_RANGE && !(what == FALLOC_FL_PUNCH_HOLE && keep_size)) {
    co_return Unsupported("this kind of fallocate");
  }
  if (length == 0) {
    co_return InvalidArgument("an empty range");
  }
  if (offset > kFileBytesMax || length > kFileBytesMax - offset) {
    co_return Error(ErrorCode::kTooLarge, "beyond the largest file");
  }
  const uint64_t end = offset + length;
  const InodeLocks::Guard guard = co_await core_->locks.Lock(inode);
  bool first = true;
  // Zeros go in pieces that fit a batch; the last batch sets the size as well.
  for (uint64_t from = offset; first || from < end; first = false) {
    Result<LoadedInode> loaded = co_await LoadFileLocked(*core_, inode);
    if (!loaded.ok()) {
      co_return loaded.error();
    }
    FileImage file = ImageOf(*loaded);
    Change change;
    uint64_t to = end;
    if (what != 0 && from < file.inode.size) {
      // A hole costs nothing, however large it is.
      Result<uint64_t> stored = co_await core_->content.NextStored(file.inode, from, end);
      if (!stored.ok()) {
        co_return stored.error();
      }
      from = *stored;
    }
    if (what != 0 && from < std::min(end, file.inode.size)) {
      const uint64_t chunk_bytes = core_->content.format().chunk_bytes;
      to = std::min(end, RoundDown(from, chunk_bytes) + Content::kPunchChunksMax * chunk_bytes);
      change.batch.MarkFreesSpace();
      Status punched = co_await core_->content.StagePunch(file, from, to, change.batch);
      if (!punched.ok()) {
        co_return punched;
      }
      to = to >= file.inode.size ? end : to;
    }
    from = to;
    if (from == end && !keep_size && end > file.inode.size) {
      Status removed = co_await core_->reaper.RemoveStale(inode, core_->content.ChunksIn(end));
      if (!removed.ok()) {
        co_return removed;
      }
      StaleChunks none;
      Status grown = co_await core_->content.StageTruncate(file, end, change.batch, none);
      if (!grown.ok()) {
        co_return grown;
      }
    }
    file.inode.mtime_nanos = file.inode.ctime_nanos = core_->Now();
    core_->StageInode(change, loaded->location, file.inode, file.content);
    Status written = co_await core_->Commit(change);
    if (!written.ok()) {
      co_return written;
    }
  }
  co_return Status();
}

Task<Result<uint64_t>> FileSystem::Seek(InodeNumber inode, uint64_t offset, int whence) {
  if (whence != SEEK_DATA && whence != SEEK_HOLE) {
    co_return InvalidArgument("only SEEK_DATA and SEEK_HOLE are asked of a filesystem");
  }
  const InodeLocks::Guard guard = co_await core_->locks.Lock(inode);
  Result<LoadedInode> loaded = co_await LoadFileLocked(*core_, inode);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  co_return co_await core_->content.Seek(loaded->inode(), offset,
                                         whence == SEEK_DATA ? SeekFor::kData : SeekFor::kHole);
}

Task<Result<size_t>> FileSystem::CopyRange(InodeNumber from, uint64_t from_offset, InodeNumber to,
                                           uint64_t to_offset, size_t length, WriteFlags flags) {
  // One batch at a time, as write(2); the caller goes on where this ends.
  std::string piece(std::min<size_t>(length, kWriteBytesMax), '\0');
  Result<size_t> read = co_await Read(from, from_offset, std::span<char>(piece));
  if (!read.ok()) {
    co_return read.error();
  }
  const std::string_view data = std::string_view(piece).substr(0, *read);
  co_return co_await Write(to, to_offset, data, flags);
}

}  // namespace varve
