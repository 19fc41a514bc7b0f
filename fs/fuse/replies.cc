#include "fs/fuse/replies.h"

#include <utility>

#include "fs/ops/errno_map.h"

namespace varve {

namespace {

// Every change goes through this mount, so what the kernel knows stays true. A year stands for ever.
constexpr double kCacheSeconds = 365.0 * 24 * 3600;
// The C library reads a directory by as much as its st_blksize says, and the kernel (6.16) asks us for as
// much: three thousand names a request in place of eight hundred.
constexpr blksize_t kListingBytes = 128 * 1024;
constexpr int64_t kNanosPerSecond = 1'000'000'000;

timespec TimeOf(int64_t nanos) {
  int64_t seconds = nanos / kNanosPerSecond;
  int64_t rest = nanos % kNanosPerSecond;
  if (rest < 0) {
    rest += kNanosPerSecond;
    --seconds;
  }
  return {seconds, rest};
}

}  // namespace

Channel& ChannelOf(fuse_req_t request) {
  return *static_cast<Channel*>(fuse_req_userdata(request));
}

Caller CallerOf(fuse_req_t request) {
  const fuse_ctx& context = *fuse_req_ctx(request);
  return {context.uid, context.gid, static_cast<uint32_t>(context.pid), static_cast<uint32_t>(context.umask)};
}

int ErrnoOf(const Status& status) {
  return status.ok() ? 0 : ErrnoOf(status.error().code());
}

struct stat StatOf(const Attributes& attributes) {
  struct stat stat = {};
  stat.st_ino = attributes.inode.value;
  stat.st_mode = attributes.mode;
  stat.st_nlink = attributes.nlink;
  stat.st_uid = attributes.uid;
  stat.st_gid = attributes.gid;
  stat.st_rdev = attributes.rdev;
  stat.st_size = static_cast<off_t>(attributes.size);
  stat.st_blocks = static_cast<blkcnt_t>(attributes.blocks);
  stat.st_blksize = S_ISDIR(attributes.mode) ? kListingBytes : kBlockBytes;
  stat.st_atim = TimeOf(attributes.atime_nanos);
  stat.st_mtim = TimeOf(attributes.mtime_nanos);
  stat.st_ctim = TimeOf(attributes.ctime_nanos);
  return stat;
}

fuse_entry_param EntryOf(const Attributes& attributes) {
  fuse_entry_param entry = {};
  entry.ino = attributes.inode.value;
  entry.generation = attributes.generation;
  entry.attr = StatOf(attributes);
  entry.attr_timeout = kCacheSeconds;
  entry.entry_timeout = kCacheSeconds;
  return entry;
}

void ReplyStatus(fuse_req_t request, const Status& status) {
  fuse_reply_err(request, ErrnoOf(status));
}

void ReplyEntry(fuse_req_t request, const Result<Attributes>& found) {
  if (!found.ok()) {
    fuse_reply_err(request, ErrnoOf(found.error().code()));
    return;
  }
  Channel& channel = ChannelOf(request);
  const fuse_entry_param entry = EntryOf(*found);
  if (fuse_reply_entry(request, &entry) != 0) {
    channel.filesystem().Forget(found->inode, 1);
  }
}

void ReplyAttributes(fuse_req_t request, const Result<Attributes>& attributes) {
  if (!attributes.ok()) {
    fuse_reply_err(request, ErrnoOf(attributes.error().code()));
    return;
  }
  const struct stat stat = StatOf(*attributes);
  fuse_reply_attr(request, &stat, kCacheSeconds);
}

Task<void> AnswerStatus(fuse_req_t request, Task<Status> operation) {
  const RequestUnderWay under_way(ChannelOf(request));
  const Status status = co_await std::move(operation);
  ReplyStatus(request, status);
}

Task<void> AnswerEntry(fuse_req_t request, Task<Result<Attributes>> operation) {
  const RequestUnderWay under_way(ChannelOf(request));
  const Result<Attributes> made = co_await std::move(operation);
  ReplyEntry(request, made);
}

Task<void> AnswerLookup(fuse_req_t request, Task<Result<Attributes>> operation) {
  const RequestUnderWay under_way(ChannelOf(request));
  const Result<Attributes> found = co_await std::move(operation);
  ReplyLookup(request, found);
}

Task<void> AnswerAttributes(fuse_req_t request, Task<Result<Attributes>> operation) {
  const RequestUnderWay under_way(ChannelOf(request));
  const Result<Attributes> attributes = co_await std::move(operation);
  ReplyAttributes(request, attributes);
}

void ReplyLookup(fuse_req_t request, const Result<Attributes>& found) {
  if (found.Is(ErrorCode::kNotFound)) {
    fuse_entry_param absent = {};
    absent.entry_timeout = kCacheSeconds;
    fuse_reply_entry(request, &absent);
    return;
  }
  ReplyEntry(request, found);
}

}  // namespace varve
