#include "fs/ops/xattr_records.h"

#include <utility>

#include "fs/namespace/namespace_format.h"
#include "fs/ops/posix_acl.h"

namespace varve {

namespace {

Error DamagedAcl() {
  return Corruption("a stored access control list is damaged");
}

}  // namespace

Task<Result<std::optional<std::string>>> ReadXattr(FileSystemCore& core, const Inode& inode,
                                                   std::string_view name) {
  std::optional<std::string> value;
  if (!inode.has_xattrs) {
    co_return value;
  }
  const NamespaceKey key = NamespaceKey::Xattr(inode.number, name);
  const Store::Lookup found = co_await core.store.Get(key, ReadOptions());
  if (!found.ok()) {
    co_return found.error();
  }
  if (*found) {
    value.emplace((*found)->bytes());
  }
  co_return value;
}

Task<Result<std::string>> ListXattrNames(FileSystemCore& core, const Inode& inode) {
  std::string names;
  if (!inode.has_xattrs) {
    co_return names;
  }
  const NamespaceKey lower = NamespaceKey::Prefix(NamespaceKind::kXattr, inode.number);
  const NamespaceKey upper = NamespaceKey::End(NamespaceKind::kXattr, inode.number);
  const std::unique_ptr<StoreIterator> xattrs = core.store.NewIterator(lower, upper, ReadOptions());
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

void StageXattr(Change& change, Inode& inode, std::string_view name, std::string_view value) {
  change.batch.Put(NamespaceKey::Xattr(inode.number, name), value);
  inode.has_xattrs = true;
}

Task<Result<bool>> StageXattrRemoval(FileSystemCore& core, Change& change, Inode& inode,
                                     std::string_view name) {
  Result<std::optional<std::string>> value = co_await ReadXattr(core, inode, name);
  if (!value.ok()) {
    co_return value.error();
  }
  if (!*value) {
    co_return false;
  }
  Result<std::string> names = co_await ListXattrNames(core, inode);
  if (!names.ok()) {
    co_return names.error();
  }
  change.batch.Delete(NamespaceKey::Xattr(inode.number, name));
  inode.has_xattrs = names->size() > name.size() + 1;
  co_return true;
}

Task<Status> StageModeInAcl(FileSystemCore& core, Change& change, Inode& inode) {
  Result<std::optional<std::string>> value = co_await ReadXattr(core, inode, kAccessAclName);
  if (!value.ok()) {
    co_return value.error();
  }
  if (!*value) {
    co_return Status();
  }
  Result<PosixAcl> acl = PosixAcl::Decode(**value);
  if (!acl.ok()) {
    co_return DamagedAcl();
  }
  acl->SetMode(inode.mode);
  StageXattr(change, inode, kAccessAclName, acl->Encode());
  co_return Status();
}

Task<Status> StageInheritedAcl(FileSystemCore& core, Change& change, const Inode& parent, uint32_t umask,
                               Inode& inode) {
  if (inode.is_symlink()) {
    co_return Status();
  }
  Result<std::optional<std::string>> value = co_await ReadXattr(core, parent, kDefaultAclName);
  if (!value.ok()) {
    co_return value.error();
  }
  if (!*value) {
    inode.mode &= ~(umask & ACCESSPERMS);
    co_return Status();
  }
  Result<PosixAcl> acl = PosixAcl::Decode(**value);
  if (!acl.ok()) {
    co_return DamagedAcl();
  }
  inode.mode = acl->RestrictTo(inode.mode);
  if (!acl->IsJustMode()) {
    StageXattr(change, inode, kAccessAclName, acl->Encode());
  }
  if (inode.is_directory()) {
    StageXattr(change, inode, kDefaultAclName, **value);
  }
  co_return Status();
}

}  // namespace varve
