// Extended attributes, and those through which the daemon itself answers (live_attributes.h).
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

#include "fs/fuse/handlers.h"
#include "fs/fuse/live_attributes.h"
#include "fs/fuse/replies.h"
#include "fs/ops/errno_map.h"

namespace varve {

namespace {

// `size` 0 asks for the length only.
void ReplyBytes(fuse_req_t request, const std::string& bytes, size_t size) {
  if (size == 0) {
    fuse_reply_xattr(request, bytes.size());
  } else if (size < bytes.size()) {
    fuse_reply_err(request, ERANGE);
  } else {
    fuse_reply_buf(request, bytes.data(), bytes.size());
  }
}

bool IsLive(fuse_ino_t inode, std::string_view name) {
  return inode == kRootInode.value && name.starts_with(kLiveAttributePrefix);
}

std::optional<std::string> LiveAttribute(MountOwner& owner, std::string_view name) {
  if (name == kStatisticsAttribute) {
    return owner.StatisticsJson();
  }
  if (name == kProcessAttribute) {
    return std::to_string(getpid());
  }
  if (name == kSourceAttribute) {
    return owner.source();
  }
  if (name == kScrubReportAttribute) {
    return owner.ScrubReport();
  }
  if (name == kScrubStartAttribute) {
    return owner.StartScrub();
  }
  if (name == kScrubStopAttribute) {
    return owner.StopScrub();
  }
  return std::nullopt;
}

void GetLive(fuse_req_t request, std::string_view name, size_t size) {
  const Caller caller = CallerOf(request);
  if (caller.uid != 0 && caller.uid != geteuid()) {
    fuse_reply_err(request, EACCES);
    return;
  }
  const std::optional<std::string> value = LiveAttribute(ChannelOf(request).owner(), name);
  if (value.has_value()) {
    ReplyBytes(request, *value, size);
  } else {
    fuse_reply_err(request, ENODATA);
  }
}

Task<void> AnswerBytes(fuse_req_t request, Task<Result<std::string>> operation, size_t size) {
  const RequestUnderWay under_way(ChannelOf(request));
  const Result<std::string> bytes = co_await std::move(operation);
  if (bytes.ok()) {
    ReplyBytes(request, *bytes, size);
  } else {
    ReplyStatus(request, bytes.error());
  }
}

void GetXattr(fuse_req_t request, fuse_ino_t inode, const char* name, size_t size) {
  if (IsLive(inode, name)) {
    GetLive(request, name, size);
    return;
  }
  Spawn(AnswerBytes(request, ChannelOf(request).filesystem().GetXattr(InodeNumber(inode), name), size));
}

void SetXattr(fuse_req_t request, fuse_ino_t inode, const char* name, const char* value, size_t size,
              int flags) {
  if (IsLive(inode, name)) {
    fuse_reply_err(request, EPERM);
    return;
  }
  Channel& channel = ChannelOf(request);
  const XattrFlags how = {flags, (channel.current_setxattr_flags() & FUSE_SETXATTR_ACL_KILL_SGID) != 0};
  Spawn(AnswerStatus(request, channel.filesystem().SetXattr(InodeNumber(inode), name, {value, size}, how)));
}

void ListXattrs(fuse_req_t request, fuse_ino_t inode, size_t size) {
  Spawn(AnswerBytes(request, ChannelOf(request).filesystem().ListXattrs(InodeNumber(inode)), size));
}

void RemoveXattr(fuse_req_t request, fuse_ino_t inode, const char* name) {
  if (IsLive(inode, name)) {
    fuse_reply_err(request, EPERM);
    return;
  }
  Spawn(AnswerStatus(request, ChannelOf(request).filesystem().RemoveXattr(InodeNumber(inode), name)));
}

}  // namespace

void AddXattrHandlers(fuse_lowlevel_ops& operations) {
  operations.getxattr = GetXattr;
  operations.setxattr = SetXattr;
  operations.listxattr = ListXattrs;
  operations.removexattr = RemoveXattr;
}

}  // namespace varve
