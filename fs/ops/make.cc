// Operations that add names.
#include <utility>

#include "fs/ops/filesystem.h"
#include "fs/ops/filesystem_core.h"
#include "fs/ops/xattr_records.h"

namespace varve {

namespace {

Inode NewInode(InodeNumber number, uint32_t mode, const Inode& parent, Caller caller, int64_t now) {
  Inode inode;
  inode.number = number;
  inode.mode = mode;
  inode.uid = caller.uid;
  inode.gid = caller.gid;
  if (parent.mode & S_ISGID) {
    // Files take the group of a set-group-id directory; directories also pass the bit on.
    inode.gid = parent.gid;
    inode.mode |= S_ISDIR(mode) ? S_ISGID : 0;
  }
  inode.mtime_nanos = now;
  inode.atime_nanos = inode.ctime_nanos = inode.btime_nanos = now;
  return inode;
}

// A file that lies in its only name's record leaves it for a record of its own: whoever looks that name up
// meanwhile must see that something has changed.
Task<InodeLocks::Guard> LockForLink(FileSystemCore& core, InodeNumber inode, InodeNumber parent) {
  const auto lies_in = [&] {
    const std::optional<NodeLocation> location = core.nodes.Find(inode);
    const bool embedded = location && location->place() == NodePlace::kEmbedded;
    return embedded ? location->parent() : InodeNumber();
  };
  while (true) {
    const InodeNumber old_parent = lies_in();
    InodeLocks::Guard guard = co_await core.locks.Lock(inode, parent, old_parent);
    // It may have moved before its lock was had.
    if (lies_in() == old_parent) {
      co_return guard;
    }
  }
}

// A new name for a new inode: `mode` with its type, `rdev` for devices, `target` for symbolic links.
Task<Result<Attributes>> Make(FileSystemCore& core, InodeNumber parent, std::string_view name, uint32_t mode,
                              uint32_t rdev, std::string_view target, Caller caller) {
  Status refused = core.CheckWritable();
  if (refused.ok()) {
    refused = CheckName(name);
  }
  if (!refused.ok()) {
    co_return refused.error();
  }
  Result<InodeNumber> number = co_await core.NewInodeNumber();
  if (!number.ok()) {
    co_return number.error();
  }
  const InodeLocks::Guard guard = co_await core.locks.Lock(parent);
  Result<LoadedInode> directory = co_await core.LoadParentLocked(parent);
  if (!directory.ok()) {
    co_return directory.error();
  }
  Result<FoundDirent> existing = co_await core.FindDirent(parent, name);
  if (!existing.ok()) {
    co_return existing.error();
  }
  if (existing->exists) {
    co_return Error(ErrorCode::kExists, "the name exists");
  }
  const bool is_directory = S_ISDIR(mode);
  if (is_directory && directory->inode().subdirectory_count >= UINT32_MAX - 2) {
    co_return Error(ErrorCode::kTooManyLinks, "the directory has too many subdirectories");
  }
  const int64_t now = core.Now();
  Inode inode = NewInode(*number, mode, directory->inode(), caller, now);
  inode.rdev = rdev;
  inode.size = target.size();
  inode.parent = is_directory ? parent : InodeNumber();
  Change change;
  Status inherited = co_await StageInheritedAcl(core, change, directory->inode(), caller.umask, inode);
  if (!inherited.ok()) {
    co_return inherited.error();
  }
  NodeLocation location(NodePlace::kRecord);
  if (is_directory) {
    core.StageReference(change, parent, name, inode);
  } else {
    location = NodeLocation::Embedded(parent, name);
  }
  core.StageInode(change, location, inode, target);
  core.StageParent(change, *directory, 1, is_directory ? 1 : 0, now);
  Status written = co_await core.Commit(change);
  if (!written.ok()) {
    co_return written.error();
  }
  core.nodes.Acquire(inode.number, location);
  co_return core.AttributesOf(inode);
}

}  // namespace

Task<Result<Attributes>> FileSystem::MakeNode(InodeNumber parent, std::string_view name, uint32_t mode,
                                              uint32_t rdev, Caller caller) {
  const uint32_t type = (mode & S_IFMT) == 0 ? uint32_t{S_IFREG} : mode & S_IFMT;
  const bool is_device = type == S_IFCHR || type == S_IFBLK;
  if (type != S_IFREG && type != S_IFIFO && type != S_IFSOCK && !is_device) {
    co_return InvalidArgument("mknod makes files, fifos, sockets and devices");
  }
  const std::string_view no_target;
  co_return co_await Make(*core_, parent, name, type | (mode & 07777), is_device ? rdev : 0, no_target,
                          caller);
}

Task<Result<Attributes>> FileSystem::MakeDirectory(InodeNumber parent, std::string_view name, uint32_t mode,
                                                   Caller caller) {
  const std::string_view no_target;
  co_return co_await Make(*core_, parent, name, S_IFDIR | (mode & 07777), 0, no_target, caller);
}

Task<Result<Attributes>> FileSystem::MakeSymlink(InodeNumber parent, std::string_view name,
                                                 std::string_view target, Caller caller) {
  if (target.empty()) {
    co_return NotFound("an empty target");
  }
  if (target.size() > kSymlinkBytesMax) {
    co_return Error(ErrorCode::kNameTooLong, "the target is too long");
  }
  co_return co_await Make(*core_, parent, name, S_IFLNK | 0777, 0, target, caller);
}

Task<Result<Attributes>> FileSystem::MakeTemporary(InodeNumber parent, uint32_t mode, Caller caller) {
  Status refused = core_->CheckWritable();
  if (!refused.ok()) {
    co_return refused.error();
  }
  Result<LoadedInode> directory = co_await core_->Load(parent);
  if (!directory.ok()) {
    co_return directory.error();
  }
  if (!directory->inode().is_directory()) {
    co_return Error(ErrorCode::kNotDirectory, "not a directory");
  }
  Result<InodeNumber> number = co_await core_->NewInodeNumber();
  if (!number.ok()) {
    co_return number.error();
  }
  Inode inode = NewInode(*number, S_IFREG | (mode & 07777), directory->inode(), caller, core_->Now());
  inode.nlink = 0;
  Change change;
  Status inherited = co_await StageInheritedAcl(*core_, change, directory->inode(), caller.umask, inode);
  if (!inherited.ok()) {
    co_return inherited.error();
  }
  // It begins as a file that was unlinked already. Nothing of it is in the store until it has chunks or
  // attributes.
  const bool in_memory = !inode.has_xattrs;
  core_->nodes.Acquire(inode.number, NodeLocation(in_memory ? NodePlace::kRecord : NodePlace::kOrphanRecord));
  if (in_memory) {
    std::string record;
    AppendInode(record, inode, {});
    core_->nodes.SetMemoryOrphan(inode.number, std::move(record));
    co_return core_->AttributesOf(inode);
  }
  core_->StageInode(change, NodeLocation(NodePlace::kOrphanRecord), inode, {});
  Status written = co_await core_->Commit(change);
  if (!written.ok()) {
    core_->Forget(inode.number, 1);
    co_return written.error();
  }
  co_return core_->AttributesOf(inode);
}

Task<Result<Attributes>> FileSystem::Link(InodeNumber inode, InodeNumber parent, std::string_view name) {
  Status refused = core_->CheckWritable();
  if (refused.ok()) {
    refused = CheckName(name);
  }
  if (!refused.ok()) {
    co_return refused.error();
  }
  const InodeLocks::Guard guard = co_await LockForLink(*core_, inode, parent);
  Result<LoadedInode> file = co_await core_->LoadLocked(inode);
  if (!file.ok()) {
    co_return file.error();
  }
  if (file->inode().is_directory()) {
    co_return Error(ErrorCode::kPermission, "directories have one name");
  }
  if (file->inode().nlink >= kLinksMax) {
    co_return Error(ErrorCode::kTooManyLinks, "the file has too many names");
  }
  Result<LoadedInode> directory = co_await core_->LoadParentLocked(parent);
  if (!directory.ok()) {
    co_return directory.error();
  }
  Result<FoundDirent> existing = co_await core_->FindDirent(parent, name);
  if (!existing.ok()) {
    co_return existing.error();
  }
  if (existing->exists) {
    co_return Error(ErrorCode::kExists, "the name exists");
  }
  const int64_t now = core_->Now();
  Change change;
  Status staged = co_await core_->StageLink(change, *file, parent, name, now);
  if (!staged.ok()) {
    co_return staged.error();
  }
  core_->StageParent(change, *directory, 1, 0, now);
  Status written = co_await core_->Commit(change);
  if (!written.ok()) {
    co_return written.error();
  }
  core_->nodes.Acquire(inode, change.move_count > 0 ? change.moves[0].to : file->location);
  co_return core_->AttributesOf(file->inode());
}

}  // namespace varve
