// Requests that concern a file's attributes and bytes, and the filesystem as a whole.
#include <fcntl.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "fs/content/content.h"
#include "fs/fuse/handlers.h"
#include "fs/fuse/replies.h"
#include "fs/ops/errno_map.h"

namespace varve {

namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;
// COPY_FILE_RANGE answers with 32 bits; the kernel asks again for the rest.
constexpr size_t kCopyBytesMax = 1 * kGiB;

// The fixed part of a request, from the raw bytes: libfuse drops some of its flags.
template <typename Body>
Body BodyOf(const Channel& channel) {
  Body body = {};
  const std::span<const char> bytes = channel.current_bytes().subspan(sizeof(fuse_in_header));
  std::memcpy(&body, bytes.data(), std::min(bytes.size(), sizeof(body)));
  return body;
}

void GetAttributes(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
  FileSystem& fs = ChannelOf(request).filesystem();
  if (const auto attributes = fs.TryGetAttributes(InodeNumber(inode))) {
    ReplyAttributes(request, *attributes);
    return;
  }
  Spawn(AnswerAttributes(request, fs.GetAttributes(InodeNumber(inode))));
}

// Times are 64 bits of nanoseconds: 1677 to 2262. Others are kept as the nearest that can be said.
TimeChange TimeChangeOf(const timespec& time, bool now) {
  constexpr int64_t kSecondsMax = std::numeric_limits<int64_t>::max() / kNanosPerSecond - 1;
  const int64_t seconds = std::clamp<int64_t>(time.tv_sec, -kSecondsMax, kSecondsMax);
  return {now, now ? 0 : seconds * kNanosPerSecond + time.tv_nsec};
}

void SetAttributesHandler(fuse_req_t request, fuse_ino_t inode, struct stat* to, int which, fuse_file_info*) {
  Channel& channel = ChannelOf(request);
  SetAttributes changes;
  if ((which & FUSE_SET_ATTR_MODE) != 0) {
    changes.mode = to->st_mode & 07777U;
  }
  if ((which & FUSE_SET_ATTR_UID) != 0) {
    changes.uid = to->st_uid;
  }
  if ((which & FUSE_SET_ATTR_GID) != 0) {
    changes.gid = to->st_gid;
  }
  if ((which & FUSE_SET_ATTR_SIZE) != 0) {
    changes.size = static_cast<uint64_t>(to->st_size);
  }
  if ((which & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW)) != 0) {
    changes.atime = TimeChangeOf(to->st_atim, (which & FUSE_SET_ATTR_ATIME_NOW) != 0);
  }
  if ((which & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)) != 0) {
    changes.mtime = TimeChangeOf(to->st_mtim, (which & FUSE_SET_ATTR_MTIME_NOW) != 0);
  }
  if ((which & FUSE_SET_ATTR_CTIME) != 0) {
    changes.ctime_nanos = TimeChangeOf(to->st_ctim, false).nanos;
  }
  const uint32_t valid = BodyOf<fuse_setattr_in>(channel).valid;
  // Where somebody else than its owner is about to change a file, the kernel asks for nothing at all, and
  // takes the mode in the answer for the file's: copy_file_range and fallocate tell of it in no other way,
  // and after a write the kernel would go on with the mode that it knows.
  const bool drops_privileges = (valid & ~uint32_t{FATTR_FH | FATTR_LOCKOWNER}) == 0;
  changes.kill_suid_sgid = drops_privileges || (valid & FATTR_KILL_SUIDGID) != 0;
  Spawn(AnswerAttributes(request, channel.filesystem().ChangeAttributes(InodeNumber(inode), changes)));
}

// There is no open-file state: the kernel then sends neither OPEN nor RELEASE again.
void Open(fuse_req_t request, fuse_ino_t, fuse_file_info*) {
  fuse_reply_err(request, ENOSYS);
}

void ReplyRead(fuse_req_t request, const AnswerRoom& from, const Result<size_t>& read) {
  if (read.ok()) {
    fuse_reply_buf(request, from.bytes.data(), *read);
  } else {
    ReplyStatus(request, read.error());
  }
}

// `begun` is kept for `reading`, which may be what finishes it.
Task<void> AnswerRead(fuse_req_t request, AnswerRoom into,
                      [[maybe_unused]] std::unique_ptr<UnfinishedRead> begun, Task<Result<size_t>> reading) {
  const RequestUnderWay under_way(ChannelOf(request));
  const Result<size_t> read = co_await std::move(reading);
  ReplyRead(request, into, read);
}

void Read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, fuse_file_info*) {
  Channel& channel = ChannelOf(request);
  const auto from = static_cast<uint64_t>(offset);
  AnswerRoom into = channel.TakeAnswerRoom(size);
  std::unique_ptr<UnfinishedRead> rest;
  if (const auto read = channel.filesystem().BeginRead(InodeNumber(inode), from, into.bytes, rest,
                                                       &channel.recent_files())) {
    ReplyRead(request, into, *read);
    return;
  }
  Task<Result<size_t>> reading =
      rest != nullptr ? rest->Finish() : channel.filesystem().Read(InodeNumber(inode), from, into.bytes);
  Spawn(AnswerRead(request, std::move(into), std::move(rest), std::move(reading)));
}

Task<void> AnswerWritten(fuse_req_t request, Task<Result<size_t>> operation) {
  const RequestUnderWay under_way(ChannelOf(request));
  const Result<size_t> written = co_await std::move(operation);
  if (written.ok()) {
    fuse_reply_write(request, *written);
  } else {
    ReplyStatus(request, written.error());
  }
}

void Write(fuse_req_t request, fuse_ino_t inode, const char* data, size_t size, off_t offset,
           fuse_file_info* file) {
  Channel& channel = ChannelOf(request);
  WriteFlags flags;
  flags.durable = (file->flags & (O_SYNC | O_DSYNC)) != 0;
  flags.kill_suid_sgid = (BodyOf<fuse_write_in>(channel).write_flags & FUSE_WRITE_KILL_SUIDGID) != 0;
  Spawn(AnswerWritten(request, channel.filesystem().Write(InodeNumber(inode), static_cast<uint64_t>(offset),
                                                          {data, size}, flags)));
}

void Sync(fuse_req_t request, fuse_ino_t, int, fuse_file_info*) {
  Spawn(AnswerStatus(request, ChannelOf(request).filesystem().Sync()));
}

void Allocate(fuse_req_t request, fuse_ino_t inode, int mode, off_t offset, off_t length, fuse_file_info*) {
  Spawn(AnswerStatus(
      request, ChannelOf(request).filesystem().Allocate(
                   InodeNumber(inode), mode, static_cast<uint64_t>(offset), static_cast<uint64_t>(length))));
}

void CopyRange(fuse_req_t request, fuse_ino_t from, off_t from_offset, fuse_file_info*, fuse_ino_t to,
               off_t to_offset, fuse_file_info*, size_t length, int) {
  FileSystem& fs = ChannelOf(request).filesystem();
  Spawn(AnswerWritten(request, fs.CopyRange(InodeNumber(from), static_cast<uint64_t>(from_offset),
                                            InodeNumber(to), static_cast<uint64_t>(to_offset),
                                            std::min(length, kCopyBytesMax), WriteFlags())));
}

Task<void> AnswerSeek(fuse_req_t request, Task<Result<uint64_t>> operation) {
  const RequestUnderWay under_way(ChannelOf(request));
  const Result<uint64_t> found = co_await std::move(operation);
  if (found.ok()) {
    fuse_reply_lseek(request, static_cast<off_t>(*found));
  } else {
    ReplyStatus(request, found.error());
  }
}

void Seek(fuse_req_t request, fuse_ino_t inode, off_t offset, int whence, fuse_file_info*) {
  if (offset < 0) {
    fuse_reply_err(request, ENXIO);
    return;
  }
  Spawn(AnswerSeek(request, ChannelOf(request).filesystem().Seek(InodeNumber(inode),
                                                                 static_cast<uint64_t>(offset), whence)));
}

void StatFileSystem(fuse_req_t request, fuse_ino_t) {
  const FileSystemUsage usage = ChannelOf(request).filesystem().Usage();
  struct statvfs answer = {};
  answer.f_bsize = kBlockBytes;
  answer.f_frsize = kBlockBytes;
  answer.f_blocks = usage.blocks;
  answer.f_bfree = usage.blocks_free;
  answer.f_bavail = usage.blocks_free;
  // Inodes are not a resource of their own: 0 is what df understands as "no limit" (btrfs says so too).
  answer.f_namemax = kNameBytesMax;
  fuse_reply_statfs(request, &answer);
}

}  // namespace

void AddFileHandlers(fuse_lowlevel_ops& operations) {
  operations.getattr = GetAttributes;
  operations.setattr = SetAttributesHandler;
  operations.open = Open;
  operations.read = Read;
  operations.write = Write;
  operations.fsync = Sync;
  operations.fallocate = Allocate;
  operations.copy_file_range = CopyRange;
  operations.lseek = Seek;
  operations.statfs = StatFileSystem;
}

}  // namespace varve
