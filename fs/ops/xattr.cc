// Extended attributes: a record each; the inode knows whether it has any.
#include <sys/xattr.h>

#include <utility>

#include "fs/namespace/namespace_format.h"
#include "fs/ops/filesystem.h"
#include "fs/ops/filesystem_core.h"

namespace varve {

namespace {

Status CheckXattrName(std::string_view name) {
  if (name.empty() || name.find('\0') != name.npos) {
    return InvalidArgument("not the name of an attribute");
  }
  if (name.size() > kXattrNameBytesMax) {
    return Error(ErrorCode::kBufferTooSmall, "an attribute's name is at most 255 bytes");
  }
  // ACLs that the kernel does not enforce would be a lie.
  if (name.starts_with("system.")) {
    return Unsupported("attributes of the system namespace");
  }
  return {};
}

Task<Result<std::string>> ListNames(FileSystemCore& core, InodeNumber inode) {
  const NamespaceKey lower = NamespaceKey::Prefix(NamespaceKind::kXattr, inode);
  const NamespaceKey upper = NamespaceKey::End(NamespaceKind::kXattr, inode);
  const std::unique_ptr<StoreIterator> xattrs = core.store.NewIterator(lower, upper, ReadOptions());
  std::string names;
  if (xattrs->Seek(lower) == Step::kNeedsIo) {
    co_await xattrs->Load();
  }
  while (xattrs->Valid()) {
    names.append(xattrs->key().substr(NamespaceKey::kInodePrefixBytes));
    names.push_back('\0');
    if (xattrs->Next() == Step::kNeedsIo) {
      co_await xattrs->Load();
    }
  }
  Status ended = xattrs->status();
  if (!ended.ok()) {
    co_return ended.error();
  }
  co_return names;
}

Error NoAttribute() {
  return {ErrorCode::kNoAttribute, "no such attribute"};
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
  if (!loaded->inode().has_xattrs) {
    co_return NoAttribute();
  }
  const NamespaceKey key = NamespaceKey::Xattr(inode, name);
  Store::Lookup found = co_await core_->store.Get(key, ReadOptions());
  if (!found.ok()) {
    co_return found.error();
  }
  if (!*found) {
    co_return NoAttribute();
  }
  co_return std::string((*found)->bytes());
}

Task<Status> FileSystem::SetXattr(InodeNumber inode, std::string_view name, std::string_view value,
                                  int flags) {
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
  const NamespaceKey key = NamespaceKey::Xattr(inode, name);
  bool exists = false;
  if (loaded->inode().has_xattrs) {
    Store::Lookup found = co_await core_->store.Get(key, ReadOptions());
    if (!found.ok()) {
      co_return found.error();
    }
    exists = found->has_value();
  }
  if (exists && (flags & XATTR_CREATE)) {
    co_return Error(ErrorCode::kExists, "the attribute exists");
  }
  if (!exists && (flags & XATTR_REPLACE)) {
    co_return NoAttribute();
  }
  if (!exists && loaded->inode().has_xattrs) {
    Result<std::string> names = co_await ListNames(*core_, inode);
    if (!names.ok()) {
      co_return names.error();
    }
    if (names->size() + name.size() + 1 > kXattrListBytesMax) {
      co_return NoSpace("the names of a file's attributes are at most 64 KiB together");
    }
  }
  Change change;
  change.batch.Put(key, value);
  Inode changed = loaded->inode();
  changed.has_xattrs = true;
  changed.ctime_nanos = core_->Now();
  core_->StageInode(change, loaded->location, changed, loaded->record.content);
  co_return co_await core_->Commit(change);
}

Task<Result<std::string>> FileSystem::ListXattrs(InodeNumber inode) {
  Result<LoadedInode> loaded = co_await core_->Load(inode);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  if (!loaded->inode().has_xattrs) {
    co_return std::string();
  }
  co_return co_await ListNames(*core_, inode);
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
  if (!loaded->inode().has_xattrs) {
    co_return NoAttribute();
  }
  const NamespaceKey key = NamespaceKey::Xattr(inode, name);
  {
    // Not held while the change waits for space (unpin.h).
    const Store::Lookup found = co_await core_->store.Get(key, ReadOptions());
    if (!found.ok()) {
      co_return found.error();
    }
    if (!*found) {
      co_return NoAttribute();
    }
  }
  Result<std::string> names = co_await ListNames(*core_, inode);
  if (!names.ok()) {
    co_return names.error();
  }
  Change change;
  change.batch.MarkFreesSpace();
  change.batch.Delete(key);
  Inode changed = loaded->inode();
  changed.has_xattrs = names->size() > name.size() + 1;
  changed.ctime_nanos = core_->Now();
  core_->StageInode(change, loaded->location, changed, loaded->record.content);
  co_return co_await core_->Commit(change);
}

}  // namespace varve
