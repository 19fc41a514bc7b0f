// Extended attributes: a record each; the inode knows whether it has any.
#include <sys/xattr.h>

#include <utility>

#include "fs/ops/filesystem.h"
#include "fs/ops/filesystem_core.h"
#include "fs/ops/posix_acl.h"
#include "fs/ops/xattr_records.h"

namespace varve {

namespace {

bool IsAclName(std::string_view name) {
  return name == kAccessAclName || name == kDefaultAclName;
}

Status CheckXattrName(std::string_view name) {
  if (name.empty() || name.find('\0') != name.npos) {
    return InvalidArgument("not the name of an attribute");
  }
  if (name.size() > kXattrNameBytesMax) {
    return Error(ErrorCode::kBufferTooSmall, "an attribute's name is at most 255 bytes");
  }
  if (name.starts_with("system.") && !IsAclName(name)) {
    return Unsupported("attributes of the system namespace other than access control lists");
  }
  return {};
}

Error NoAttribute() {
  return {ErrorCode::kNoAttribute, "no such attribute"};
}

// An access list sets the mode; one that says no more than the mode does is not kept. `keep`: the list is to
// be stored.
Status ApplyAcl(std::string_view name, std::string_view value, bool kill_sgid, Inode& inode, bool& keep) {
  Result<PosixAcl> acl = PosixAcl::Decode(value);
  if (!acl.ok()) {
    return acl.error();
  }
  keep = true;
  if (name == kDefaultAclName) {
    return inode.is_directory() ? OkStatus()
                                : Status(Error(ErrorCode::kAccess, "only directories have a default list"));
  }
  inode.mode = (inode.mode & ~uint32_t{ACCESSPERMS}) | acl->ModeBits();
  if (kill_sgid) {
    inode.mode &= ~uint32_t{S_ISGID};
  }
  keep = !acl->IsJustMode();
  return OkStatus();
}

}  // namespace

Task<Result<std::string>> FileSystem::GetXattr(InodeNumber inode, std::string_view name) {
  Status valid = CheckXattrName(name);
  if (!valid.ok()) {
    co_return valid.error();
  }
  Result<LoadedInode> loaded = co_await core_->Load(inode);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  Result<std::optional<std::string>> value = co_await ReadXattr(*core_, loaded->inode(), name);
  if (!value.ok()) {
    co_return value.error();
  }
  if (!*value) {
    co_return NoAttribute();
  }
  co_return std::move(**value);
}

Task<Status> FileSystem::SetXattr(InodeNumber inode, std::string_view name, std::string_view value,
                                  XattrFlags flags) {
  Status refused = core_->CheckWritable();
  if (refused.ok()) {
    refused = CheckXattrName(name);
  }
  if (refused.ok() && value.size() > kXattrValueBytesMax) {
    refused = Error(ErrorCode::kNoSpace, "an attribute's value is at most 64 KiB");
  }
  if (!refused.ok()) {
    co_return refused;
  }
  const InodeLocks::Guard guard = co_await core_->locks.Lock(inode);
  Result<LoadedInode> loaded = co_await core_->LoadLocked(inode);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  Inode changed = loaded->inode();
  Result<std::optional<std::string>> existing = co_await ReadXattr(*core_, changed, name);
  if (!existing.ok()) {
    co_return existing.error();
  }
  const bool exists = existing->has_value();
  if (exists && (flags.of_setxattr & XATTR_CREATE)) {
    co_return Error(ErrorCode::kExists, "the attribute exists");
  }
  if (!exists && (flags.of_setxattr & XATTR_REPLACE)) {
    co_return NoAttribute();
  }
  if (!exists && changed.has_xattrs) {
    Result<std::string> names = co_await ListXattrNames(*core_, changed);
    if (!names.ok()) {
      co_return names.error();
    }
    if (names->size() + name.size() + 1 > kXattrListBytesMax) {
      co_return NoSpace("the names of a file's attributes are at most 64 KiB together");
    }
  }
  bool keep = true;
  if (IsAclName(name)) {
    Status applied = ApplyAcl(name, value, flags.kill_sgid, changed, keep);
    if (!applied.ok()) {
      co_return applied;
    }
  }
  Change change;
  if (keep) {
    StageXattr(change, changed, name, value);
  } else {
    Result<bool> removed = co_await StageXattrRemoval(*core_, change, changed, name);
    if (!removed.ok()) {
      co_return removed.error();
    }
  }
  changed.ctime_nanos = core_->Now();
  core_->StageInode(change, loaded->location, changed, loaded->record.content);
  co_return co_await core_->Commit(change);
}

Task<Result<std::string>> FileSystem::ListXattrs(InodeNumber inode) {
  Result<LoadedInode> loaded = co_await core_->Load(inode);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  co_return co_await ListXattrNames(*core_, loaded->inode());
}

Task<Status> FileSystem::RemoveXattr(InodeNumber inode, std::string_view name) {
  Status refused = core_->CheckWritable();
  if (refused.ok()) {
    refused = CheckXattrName(name);
  }
  if (!refused.ok()) {
    co_return refused;
  }
  const InodeLocks::Guard guard = co_await core_->locks.Lock(inode);
  Result<LoadedInode> loaded = co_await core_->LoadLocked(inode);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  Change change;
  change.batch.MarkFreesSpace();
  Inode changed = loaded->inode();
  Result<bool> removed = co_await StageXattrRemoval(*core_, change, changed, name);
  if (!removed.ok()) {
    co_return removed.error();
  }
  if (!*removed) {
    // To take away a list that is not there is what chacl(1) and setfacl(1) do, and is no mistake.
    co_return IsAclName(name) ? Status() : Status(NoAttribute());
  }
  changed.ctime_nanos = core_->Now();
  core_->StageInode(change, loaded->location, changed, loaded->record.content);
  co_return co_await core_->Commit(change);
}

}  // namespace varve
