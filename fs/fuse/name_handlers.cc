// Requests that concern names.
#include <cerrno>

#include "fs/fuse/handlers.h"
#include "fs/fuse/replies.h"

namespace varve {

namespace {

void Lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  FileSystem& fs = ChannelOf(request).filesystem();
  if (const auto found = fs.TryLookup(InodeNumber(parent), name)) {
    ReplyLookup(request, *found);
    return;
  }
  Spawn(AnswerLookup(request, fs.Lookup(InodeNumber(parent), name)));
}

// The control directory's name is not to be had.
bool RefusesName(fuse_req_t request, fuse_ino_t parent, const char* name) {
  const bool taken = ControlDirectory::IsName(parent, name);
  if (taken) {
    fuse_reply_err(request, EPERM);
  }
  return taken;
}

void Forget(fuse_req_t request, fuse_ino_t inode, uint64_t lookups) {
  ChannelOf(request).filesystem().Forget(InodeNumber(inode), lookups);
  fuse_reply_none(request);
}

void ForgetMany(fuse_req_t request, size_t count, fuse_forget_data* forgets) {
  Channel& channel = ChannelOf(request);
  for (size_t i = 0; i < count; ++i) {
    if (ControlDirectory::IsNode(forgets[i].ino)) {
      channel.control().Forget(forgets[i].ino, forgets[i].nlookup);
    } else {
      channel.filesystem().Forget(InodeNumber(forgets[i].ino), forgets[i].nlookup);
    }
  }
  fuse_reply_none(request);
}

void MakeNode(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, dev_t device) {
  if (RefusesName(request, parent, name)) {
    return;
  }
  FileSystem& fs = ChannelOf(request).filesystem();
  Spawn(AnswerEntry(request, fs.MakeNode(InodeNumber(parent), name, mode, static_cast<uint32_t>(device),
                                         CallerOf(request))));
}

void MakeDirectory(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  if (RefusesName(request, parent, name)) {
    return;
  }
  FileSystem& fs = ChannelOf(request).filesystem();
  Spawn(AnswerEntry(request, fs.MakeDirectory(InodeNumber(parent), name, mode, CallerOf(request))));
}

void MakeSymlink(fuse_req_t request, const char* target, fuse_ino_t parent, const char* name) {
  if (RefusesName(request, parent, name)) {
    return;
  }
  FileSystem& fs = ChannelOf(request).filesystem();
  Spawn(AnswerEntry(request, fs.MakeSymlink(InodeNumber(parent), name, target, CallerOf(request))));
}

void Link(fuse_req_t request, fuse_ino_t inode, fuse_ino_t parent, const char* name) {
  if (RefusesName(request, parent, name)) {
    return;
  }
  FileSystem& fs = ChannelOf(request).filesystem();
  Spawn(AnswerEntry(request, fs.Link(InodeNumber(inode), InodeNumber(parent), name)));
}

Task<void> AnswerTemporary(fuse_req_t request, Task<Result<Attributes>> operation) {
  Channel& channel = ChannelOf(request);
  const RequestUnderWay under_way(channel);
  const Result<Attributes> made = co_await std::move(operation);
  if (!made.ok()) {
    ReplyStatus(request, made.error());
    co_return;
  }
  const fuse_entry_param entry = EntryOf(*made);
  fuse_file_info file = {};
  file.keep_cache = 1;
  if (fuse_reply_create(request, &entry, &file) != 0) {
    channel.filesystem().Forget(made->inode, 1);
  }
}

// Only for O_TMPFILE. A refused CREATE makes the kernel send MKNOD, and then there is no OPEN, FLUSH or
// RELEASE.
void Create(fuse_req_t request, fuse_ino_t parent, const char*, mode_t mode, fuse_file_info*) {
  Channel& channel = ChannelOf(request);
  if (!channel.current_is_temporary_file()) {
    fuse_reply_err(request, ENOSYS);
    return;
  }
  Spawn(AnswerTemporary(request,
                        channel.filesystem().MakeTemporary(InodeNumber(parent), mode, CallerOf(request))));
}

void Unlink(fuse_req_t request, fuse_ino_t parent, const char* name) {
  if (RefusesName(request, parent, name)) {
    return;
  }
  Spawn(AnswerStatus(request, ChannelOf(request).filesystem().Unlink(InodeNumber(parent), name)));
}

void RemoveDirectory(fuse_req_t request, fuse_ino_t parent, const char* name) {
  if (RefusesName(request, parent, name)) {
    return;
  }
  Spawn(AnswerStatus(request, ChannelOf(request).filesystem().RemoveDirectory(InodeNumber(parent), name)));
}

void Rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
            const char* new_name, unsigned flags) {
  if (RefusesName(request, parent, name) || RefusesName(request, new_parent, new_name)) {
    return;
  }
  FileSystem& fs = ChannelOf(request).filesystem();
  Spawn(
      AnswerStatus(request, fs.Rename(InodeNumber(parent), name, InodeNumber(new_parent), new_name, flags)));
}

Task<void> AnswerTarget(fuse_req_t request, Task<Result<std::string>> operation) {
  const RequestUnderWay under_way(ChannelOf(request));
  const Result<std::string> target = co_await std::move(operation);
  if (target.ok()) {
    fuse_reply_readlink(request, target->c_str());
  } else {
    ReplyStatus(request, target.error());
  }
}

void ReadSymlink(fuse_req_t request, fuse_ino_t inode) {
  Spawn(AnswerTarget(request, ChannelOf(request).filesystem().ReadSymlink(InodeNumber(inode))));
}

}  // namespace

void AddNameHandlers(fuse_lowlevel_ops& operations) {
  operations.lookup = Lookup;
  operations.forget = Forget;
  operations.forget_multi = ForgetMany;
  operations.mknod = MakeNode;
  operations.mkdir = MakeDirectory;
  operations.symlink = MakeSymlink;
  operations.link = Link;
  operations.create = Create;
  operations.unlink = Unlink;
  operations.rmdir = RemoveDirectory;
  operations.rename = Rename;
  operations.readlink = ReadSymlink;
}

}  // namespace varve
