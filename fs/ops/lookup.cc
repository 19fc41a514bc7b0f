// From names to inodes, and back the other way for directories.
#include <utility>

#include "fs/ops/access_times.h"
#include "fs/ops/filesystem.h"
#include "fs/ops/filesystem_core.h"

namespace varve {

namespace {

bool IsDots(std::string_view name) {
  return name == "." || name == "..";
}

// "." and "..": directories, which lie in records of their own.
Task<Result<Attributes>> LookupDots(FileSystemCore& core, InodeNumber directory, std::string_view name) {
  Result<LoadedInode> loaded = co_await core.Load(directory);
  if (loaded.ok() && name == "..") {
    const InodeNumber parent = loaded->inode().parent;
    loaded = co_await core.LoadRecord(parent);
  }
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  if (!loaded->inode().is_directory()) {
    co_return Error(ErrorCode::kNotDirectory, "not a directory");
  }
  core.nodes.Acquire(loaded->inode().number, NodeLocation(NodePlace::kRecord));
  co_return core.AttributesOf(loaded->inode());
}

}  // namespace

std::optional<Result<Attributes>> FileSystem::TryAcquireEmbedded(InodeNumber parent, std::string_view name,
                                                                 const Inode& inode, uint64_t version) {
  // The node may be given this place only if nothing has moved since: a rename mends the nodes it finds.
  const auto unchanged = [&] { return core_->locks.Unchanged(parent, version); };
  if (!core_->nodes.AcquireIf(inode.number, NodeLocation::Embedded(parent, name), unchanged)) {
    return std::nullopt;
  }
  Attributes attributes = core_->AttributesOf(inode);
  attributes.atime_nanos = core_->AccessTimeOf(inode);
  return attributes;
}

std::optional<Result<Attributes>> FileSystem::TryLookup(InodeNumber parent, std::string_view name) {
  if (IsDots(name)) {
    return std::nullopt;
  }
  const Status valid = CheckName(name);
  if (!valid.ok()) {
    return valid.error();
  }
  const uint64_t version = core_->locks.Version(parent);
  std::optional<Store::Lookup> found = core_->store.TryGet(NamespaceKey::Dirent(parent, name), ReadOptions());
  if (!found) {
    return std::nullopt;
  }
  if (!found->ok()) {
    return found->error();
  }
  if (!**found) {
    return NotFound("no such name");
  }
  const Result<DirentRecord> dirent = DecodeDirent((**found)->bytes());
  if (!dirent.ok()) {
    return dirent.error();
  }
  if (dirent->embedded) {
    return TryAcquireEmbedded(parent, name, dirent->embedded->inode, version);
  }
  const auto unchanged = [&] { return core_->locks.Unchanged(parent, version); };
  std::optional<Store::Lookup> record =
      core_->store.TryGet(NamespaceKey::OfInode(dirent->inode), ReadOptions());
  if (!record || (record->ok() && !**record)) {
    return std::nullopt;
  }
  if (!record->ok()) {
    return record->error();
  }
  const Result<InodeRecord> inode = DecodeInode((**record)->bytes());
  if (!inode.ok()) {
    return inode.error();
  }
  if (inode->inode.number != dirent->inode) {
    return Corruption("an inode lies under the key of another");
  }
  if (!core_->nodes.AcquireIf(dirent->inode, NodeLocation(NodePlace::kRecord), unchanged)) {
    return std::nullopt;
  }
  return core_->AttributesOf(inode->inode);
}

Task<Result<Attributes>> FileSystem::Lookup(InodeNumber parent, std::string_view name) {
  if (std::optional<Result<Attributes>> hit = TryLookup(parent, name)) {
    co_return std::move(*hit);
  }
  if (IsDots(name)) {
    co_return co_await LookupDots(*core_, parent, name);
  }
  // Reads from the device run side by side; only where something has changed meanwhile is the lock needed.
  for (int attempt = 0; attempt < 2; ++attempt) {
    const bool locked = attempt == 1;
    InodeLocks::Guard guard;
    if (locked) {
      guard = co_await core_->locks.Lock(parent);
    }
    const uint64_t version = core_->locks.Version(parent);
    Result<FoundDirent> dirent = co_await core_->FindDirent(parent, name);
    if (!dirent.ok()) {
      co_return dirent.error();
    }
    if (!dirent->exists) {
      co_return NotFound("no such name");
    }
    FoundDirent named = std::move(*dirent);
    Result<LoadedInode> loaded = co_await core_->LoadNamedLocked(parent, name, std::move(named));
    const auto still_true = [&] { return locked || core_->locks.Unchanged(parent, version); };
    if (loaded.ok()) {
      if (core_->nodes.AcquireIf(loaded->inode().number, loaded->location, still_true)) {
        co_return core_->AttributesOf(loaded->inode());
      }
    } else if (still_true()) {
      co_return loaded.error();
    }
  }
  co_return Busy("unreachable: a lookup that holds the lock always ends");
}

Task<Result<Attributes>> FileSystem::GetAttributes(InodeNumber inode) {
  Result<LoadedInode> loaded = co_await core_->Load(inode);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  co_return core_->AttributesOf(loaded->inode());
}

std::optional<Result<Attributes>> FileSystem::TryGetAttributes(InodeNumber inode) {
  const std::optional<Result<LoadedInode>> loaded = core_->TryLoad(inode);
  if (!loaded) {
    return std::nullopt;
  }
  if (!loaded->ok()) {
    return loaded->error();
  }
  return core_->AttributesOf((*loaded)->inode());
}

Task<Result<std::string>> FileSystem::ReadSymlink(InodeNumber inode) {
  Result<LoadedInode> loaded = co_await core_->Load(inode);
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  if (!loaded->inode().is_symlink()) {
    co_return InvalidArgument("not a symbolic link");
  }
  if (AccessIsDue(*core_, loaded->inode())) {
    co_await NoteAccess(*core_, inode);
  }
  co_return std::string(loaded->record.content);
}

}  // namespace varve
