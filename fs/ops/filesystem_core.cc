#include "fs/ops/filesystem_core.h"

#include <utility>

#include "engine/ring/spawn_on.h"
#include "fs/ops/trim_heap.h"
#include "fs/ops/unpin.h"

namespace varve {

FileSystemCore::FileSystemCore(FileSystemEnvironment environment, FileSystemOptions options_in,
                               FormatParameters format, InodeNumber next_inode)
    : store(environment.store),
      clock(environment.clock),
      logger(environment.logger),
      background(environment.background),
      options(options_in),
      content(environment.store, format),
      allocator(environment.store, next_inode),
      accesses(options_in.accesses_noted_max),
      reaper(environment.store, content, environment.logger, environment.background, locks, nodes) {
  // Nobody looks the root up, and nobody forgets it.
  nodes.Acquire(kRootInode, NodeLocation(NodePlace::kRecord));
}

int64_t FileSystemCore::AccessTimeOf(const Inode& inode) const {
  return accesses.Find(inode.number).value_or(inode.atime_nanos);
}

Attributes FileSystemCore::AttributesOf(const Inode& inode) const {
  Attributes attributes;
  attributes.inode = inode.number;
  attributes.mode = inode.mode;
  attributes.nlink = inode.nlink;
  attributes.uid = inode.uid;
  attributes.gid = inode.gid;
  attributes.rdev = inode.rdev;
  attributes.size = inode.size;
  attributes.blocks = content.BlocksOf(inode);
  attributes.atime_nanos = inode.atime_nanos;
  attributes.mtime_nanos = inode.mtime_nanos;
  attributes.ctime_nanos = inode.ctime_nanos;
  attributes.btime_nanos = inode.btime_nanos;
  if (inode.is_directory()) {
    attributes.nlink = inode.nlink == 0 ? 0 : 2 + inode.subdirectory_count;
    attributes.size = kBlockBytes;
  }
  return attributes;
}

NamespaceKey FileSystemCore::KeyOf(InodeNumber inode, const NodeLocation& location) {
  switch (location.place()) {
    case NodePlace::kEmbedded:
      return NamespaceKey::Dirent(location.parent(), location.name());
    case NodePlace::kOrphanRecord:
    case NodePlace::kOrphanMemory:
      return NamespaceKey::Orphan(inode);
    case NodePlace::kRecord:
      break;
  }
  return NamespaceKey::OfInode(inode);
}

Result<std::optional<InodeRecord>> FileSystemCore::DecodeAt(InodeNumber inode, const NodeLocation& location,
                                                            std::string_view value) {
  std::optional<InodeRecord> record;
  if (location.place() == NodePlace::kEmbedded) {
    Result<DirentRecord> dirent = DecodeDirent(value);
    if (!dirent.ok()) {
      return dirent.error();
    }
    if (dirent->inode != inode || !dirent->embedded) {
      return std::optional<InodeRecord>();
    }
    record = dirent->embedded;
  } else if (location.place() == NodePlace::kOrphanRecord) {
    Result<OrphanRecord> orphan = DecodeOrphan(value);
    if (!orphan.ok()) {
      return orphan.error();
    }
    record = orphan->file;
  } else {
    Result<InodeRecord> decoded = DecodeInode(value);
    if (!decoded.ok()) {
      return decoded.error();
    }
    record = *decoded;
  }
  if (record && record->inode.number != inode) {
    return Corruption("an inode lies under the key of another");
  }
  return record;
}

Result<std::optional<LoadedInode>> FileSystemCore::Decoded(InodeNumber inode, const NodeLocation& location,
                                                           std::optional<PinnedValue> value) {
  std::optional<LoadedInode> loaded;
  if (!value) {
    return loaded;
  }
  Result<std::optional<InodeRecord>> record = DecodeAt(inode, location, value->bytes());
  if (!record.ok()) {
    return record.error();
  }
  if (*record) {
    loaded.emplace(LoadedInode{location, **record, std::move(*value)});
    loaded->inode().atime_nanos = AccessTimeOf(loaded->inode());
  }
  return loaded;
}

std::optional<Result<LoadedInode>> FileSystemCore::TryLoadMemoryOrphan(InodeNumber inode) {
  std::optional<std::string> record = nodes.MemoryOrphan(inode);
  if (!record) {
    return std::nullopt;
  }
  auto owner = std::make_shared<const std::string>(std::move(*record));
  const std::string_view bytes = *owner;
  Result<std::optional<LoadedInode>> loaded =
      Decoded(inode, NodeLocation(NodePlace::kOrphanMemory), PinnedValue(bytes, std::move(owner)));
  if (!loaded.ok()) {
    return loaded.error();
  }
  return std::move(**loaded);
}

std::optional<Result<LoadedInode>> FileSystemCore::TryLoad(InodeNumber inode) {
  const std::optional<NodeLocation> location = nodes.Find(inode);
  if (!location) {
    return Error(ErrorCode::kStale, "no such node");
  }
  if (location->place() == NodePlace::kOrphanMemory) {
    return TryLoadMemoryOrphan(inode);
  }
  std::optional<Store::Lookup> found = store.TryGet(KeyOf(inode, *location), ReadOptions());
  if (!found) {
    return std::nullopt;
  }
  if (!found->ok()) {
    return found->error();
  }
  Result<std::optional<LoadedInode>> loaded = Decoded(inode, *location, std::move(**found));
  if (!loaded.ok()) {
    return loaded.error();
  }
  if (!*loaded) {
    return std::nullopt;
  }
  return std::move(**loaded);
}

Task<Result<LoadedInode>> FileSystemCore::Load(InodeNumber inode) {
  std::optional<Result<LoadedInode>> hit = TryLoad(inode);
  if (hit) {
    co_return std::move(*hit);
  }
  const std::optional<NodeLocation> location = nodes.Find(inode);
  if (location && location->place() != NodePlace::kOrphanMemory) {
    const NamespaceKey key = KeyOf(inode, *location);
    Store::Lookup found = co_await store.Get(key, ReadOptions());
    if (!found.ok()) {
      co_return found.error();
    }
    Result<std::optional<LoadedInode>> loaded = Decoded(inode, *location, std::move(*found));
    if (!loaded.ok()) {
      co_return loaded.error();
    }
    if (*loaded) {
      co_return std::move(**loaded);
    }
  }
  const InodeLocks::Guard guard = co_await locks.Lock(inode);
  co_return co_await LoadLocked(inode);
}

Task<Result<LoadedInode>> FileSystemCore::LoadLocked(InodeNumber inode) {
  std::optional<Result<LoadedInode>> hit = TryLoad(inode);
  if (hit) {
    if (hit->ok()) {
      Unpin((*hit)->record.content, (*hit)->pin);
    }
    co_return std::move(*hit);
  }
  const std::optional<NodeLocation> location = nodes.Find(inode);
  if (!location) {
    co_return Error(ErrorCode::kStale, "no such node");
  }
  const NamespaceKey key = KeyOf(inode, *location);
  Store::Lookup found = co_await store.Get(key, ReadOptions());
  if (!found.ok()) {
    co_return found.error();
  }
  Result<std::optional<LoadedInode>> loaded = Decoded(inode, *location, std::move(*found));
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  if (!*loaded) {
    co_return Corruption("an inode is not where its name says");
  }
  Unpin((*loaded)->record.content, (*loaded)->pin);
  co_return std::move(**loaded);
}

Task<Result<std::optional<LoadedInode>>> FileSystemCore::LoadAt(InodeNumber inode, const Snapshot& snapshot) {
  const std::optional<NodeLocation> location = nodes.Find(inode);
  if (!location) {
    co_return Error(ErrorCode::kStale, "no such node");
  }
  if (location->place() == NodePlace::kOrphanMemory) {
    co_return std::optional<LoadedInode>();
  }
  const NamespaceKey key = KeyOf(inode, *location);
  const ReadOptions read{&snapshot, true};
  Store::Lookup found = co_await store.Get(key, read);
  if (!found.ok()) {
    co_return found.error();
  }
  co_return Decoded(inode, *location, std::move(*found));
}

Task<Result<LoadedInode>> FileSystemCore::LoadRecord(InodeNumber inode) {
  const NamespaceKey key = NamespaceKey::OfInode(inode);
  Store::Lookup found = co_await store.Get(key, ReadOptions());
  if (!found.ok()) {
    co_return found.error();
  }
  Result<std::optional<LoadedInode>> loaded =
      Decoded(inode, NodeLocation(NodePlace::kRecord), std::move(*found));
  if (!loaded.ok()) {
    co_return loaded.error();
  }
  if (!*loaded) {
    co_return Corruption("a name refers to an inode that does not exist");
  }
  Unpin((*loaded)->record.content, (*loaded)->pin);
  co_return std::move(**loaded);
}

Task<Result<LoadedInode>> FileSystemCore::LoadParentLocked(InodeNumber parent) {
  Result<LoadedInode> loaded = co_await LoadLocked(parent);
  if (!loaded.ok()) {
    co_return loaded;
  }
  if (!loaded->inode().is_directory()) {
    co_return Error(ErrorCode::kNotDirectory, "the parent is not a directory");
  }
  if (!loaded->location.has_name()) {
    co_return NotFound("the directory has been removed");
  }
  co_return loaded;
}

Task<Result<FoundDirent>> FileSystemCore::FindDirent(InodeNumber parent, std::string_view name) {
  const NamespaceKey key = NamespaceKey::Dirent(parent, name);
  Store::Lookup found = co_await store.Get(key, ReadOptions());
  if (!found.ok()) {
    co_return found.error();
  }
  FoundDirent dirent;
  if (*found) {
    Result<DirentRecord> record = DecodeDirent((*found)->bytes());
    if (!record.ok()) {
      co_return record.error();
    }
    dirent.exists = true;
    dirent.record = *record;
    dirent.pin = std::move(**found);
    std::string_view nothing;
    if (dirent.record.embedded) {
      Inode& inode = dirent.record.embedded->inode;
      inode.atime_nanos = AccessTimeOf(inode);
    }
    Unpin(dirent.record.embedded ? dirent.record.embedded->content : nothing, dirent.pin);
  }
  co_return dirent;
}

Task<Result<LoadedInode>> FileSystemCore::LoadNamedLocked(InodeNumber parent, std::string_view name,
                                                          FoundDirent dirent) {
  if (!dirent.record.embedded) {
    Result<LoadedInode> loaded = co_await LoadRecord(dirent.record.inode);
    const bool agrees = !loaded.ok() || (loaded->inode().mode & S_IFMT) == dirent.record.type;
    co_return agrees ? std::move(loaded) : Corruption("a name and its inode disagree about what it is");
  }
  co_return LoadedInode{NodeLocation::Embedded(parent, name), *dirent.record.embedded, std::move(dirent.pin)};
}

void FileSystemCore::Forget(InodeNumber inode, uint64_t lookups) {
  if (inode == kRootInode) {
    return;
  }
  const std::optional<NodePlace> place = nodes.Forget(inode, lookups);
  if (place == NodePlace::kOrphanRecord) {
    reaper.Enqueue(inode);
  }
  if (place && nodes.TakeManyForgotten()) {
    SpawnOn(background, TrimHeap());
  }
}

Task<Result<InodeNumber>> FileSystemCore::NewInodeNumber() {
  if (const std::optional<InodeNumber> number = allocator.TryAllocate()) {
    co_return *number;
  }
  co_return co_await allocator.Allocate();
}

}  // namespace varve
