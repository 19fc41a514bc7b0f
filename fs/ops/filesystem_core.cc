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

void FileSystemCore::AddNotedAccess(Inode& inode) const {
  inode.atime_nanos = accesses.Find(inode.number).value_or(inode.atime_nanos);
}

void FileSystemCore::StageAccessDrop(Change& change, InodeNumber inode) const {
  if (accesses.Find(inode) && change.AddDroppedAccess(inode)) {
    change.batch.Delete(NamespaceKey::Access(inode));
  }
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
  attributes.atime_nanos = accesses.Find(inode.number).value_or(inode.atime_nanos);
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
    AddNotedAccess(loaded->inode());
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
      AddNotedAccess(dirent.record.embedded->inode);
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

void FileSystemCore::StageInode(Change& change, const NodeLocation& location, const Inode& inode,
                                std::string_view content_in) {
  // Kept from one call to the next: every change passes here, and most values are small.
  thread_local std::string value;
  value.clear();
  StageAccessDrop(change, inode.number);
  switch (location.place()) {
    case NodePlace::kEmbedded:
      AppendEmbeddedDirent(value, inode, content_in);
      break;
    case NodePlace::kRecord:
      AppendInode(value, inode, content_in);
      break;
    case NodePlace::kOrphanMemory: {
      const bool must_be_reaped = inode.chunked || inode.has_xattrs;
      if (!must_be_reaped && nodes.memory_orphan_bytes() + content_in.size() <= kMemoryOrphanBytesMax) {
        AppendInode(change.AddMove(inode.number, location).memory_orphan.emplace(), inode, content_in);
        return;
      }
      change.AddMove(inode.number, NodeLocation(NodePlace::kOrphanRecord));
      AppendOrphanFile(value, inode, content_in);
      break;
    }
    case NodePlace::kOrphanRecord:
      AppendOrphanFile(value, inode, content_in);
      break;
  }
  change.batch.Put(KeyOf(inode.number, location), value);
}

void FileSystemCore::StageDirent(Change& change, InodeNumber parent, std::string_view name,
                                 const Inode& inode, std::string_view content_in) {
  StageInode(change, NodeLocation::Embedded(parent, name), inode, content_in);
}

void FileSystemCore::StageReference(Change& change, InodeNumber parent, std::string_view name,
                                    const Inode& inode) {
  std::string value;
  AppendReferenceDirent(value, inode.number, inode.mode);
  change.batch.Put(NamespaceKey::Dirent(parent, name), value);
}

void FileSystemCore::StageNameLoss(Change& change, LoadedInode& loaded, int64_t now) {
  Inode& inode = loaded.inode();
  inode.ctime_nanos = now;
  const bool last = inode.is_directory() || inode.nlink <= 1;
  inode.nlink -= inode.nlink > 0 ? 1 : 0;
  if (!last) {
    StageInode(change, loaded.location, inode, loaded.record.content);
    return;
  }
  inode.nlink = 0;
  if (loaded.location.place() == NodePlace::kRecord) {
    change.batch.Delete(NamespaceKey::OfInode(inode.number));
  }
  StageAccessDrop(change, inode.number);
  // Chunks and attributes have to be removed later, by whoever finds the orphan record; the rest may go with
  // the node.
  const bool must_be_reaped = inode.chunked || inode.has_xattrs || reaper.HasStaleChunks(inode.number);
  if (must_be_reaped) {
    std::string value;
    AppendOrphanFile(value, inode, loaded.record.content);
    change.batch.Put(NamespaceKey::Orphan(inode.number), value);
    change.AddMove(inode.number, NodeLocation(NodePlace::kOrphanRecord));
  } else if (nodes.Contains(inode.number)) {
    StageInode(change, NodeLocation(NodePlace::kOrphanMemory), inode, loaded.record.content);
  }
}

Task<Status> FileSystemCore::StageLink(Change& change, LoadedInode& file, InodeNumber parent,
                                       std::string_view name, int64_t now) {
  Inode& inode = file.inode();
  if (file.location.has_name()) {
    inode.ctime_nanos = now;
    ++inode.nlink;
    if (file.location.place() == NodePlace::kEmbedded) {
      StageReference(change, file.location.parent(), file.location.name(), inode);
      change.AddMove(inode.number, NodeLocation(NodePlace::kRecord));
    }
    StageReference(change, parent, name, inode);
    StageInode(change, NodeLocation(NodePlace::kRecord), inode, file.record.content);
    co_return Status();
  }
  // The orphan record that speaks for stale chunks goes away.
  Status removed = co_await reaper.RemoveStale(inode.number, UINT64_MAX);
  if (!removed.ok()) {
    co_return removed;
  }
  if (file.location.place() == NodePlace::kOrphanRecord) {
    change.batch.Delete(NamespaceKey::Orphan(inode.number));
  }
  inode.nlink = 1;
  inode.ctime_nanos = now;
  StageDirent(change, parent, name, inode, file.record.content);
  change.AddMove(inode.number, NodeLocation::Embedded(parent, name));
  co_return Status();
}

void FileSystemCore::StageMove(Change& change, LoadedInode& loaded, InodeNumber parent, std::string_view name,
                               int64_t now) {
  Inode& inode = loaded.inode();
  inode.ctime_nanos = now;
  if (inode.is_directory()) {
    inode.parent = parent;
  }
  if (loaded.location.place() == NodePlace::kEmbedded) {
    StageDirent(change, parent, name, inode, loaded.record.content);
    change.AddMove(inode.number, NodeLocation::Embedded(parent, name));
  } else {
    StageReference(change, parent, name, inode);
    StageInode(change, loaded.location, inode, loaded.record.content);
  }
}

void FileSystemCore::StageParent(Change& change, LoadedInode& parent, int entries, int subdirectories,
                                 int64_t now) {
  Inode& inode = parent.inode();
  inode.entry_count += static_cast<uint64_t>(static_cast<int64_t>(entries));
  inode.subdirectory_count += static_cast<uint32_t>(subdirectories);
  inode.mtime_nanos = now;
  inode.ctime_nanos = now;
  StageInode(change, parent.location, inode, {});
}

Task<Status> FileSystemCore::Commit(Change& change, bool durable) {
  if (!change.batch.empty()) {
    const Durability durability = durable || options.sync ? Durability::kDurable : Durability::kInterval;
    std::optional<Status> written = store.TryWrite(change.batch, durability);
    if (!written) {
      Status waited = co_await store.Write(change.batch, durability);
      written.emplace(std::move(waited));
    }
    if (!written->ok()) {
      co_return std::move(*written);
    }
  }
  Apply(change);
  co_return Status();
}

std::optional<Status> FileSystemCore::TryCommit(Change& change) {
  std::optional<Status> written = store.TryWrite(change.batch, Durability::kInterval);
  if (written && written->ok()) {
    Apply(change);
  }
  return written;
}

void FileSystemCore::Apply(Change& change) {
  for (size_t i = 0; i < change.dropped_count; ++i) {
    accesses.Drop(change.dropped_accesses[i]);
  }
  for (size_t i = 0; i < change.move_count; ++i) {
    Change::Move& move = change.moves[i];
    if (move.to.place() == NodePlace::kOrphanMemory) {
      nodes.SetMemoryOrphan(move.inode, std::move(*move.memory_orphan));
      continue;
    }
    const bool needs_reaping = move.to.place() == NodePlace::kOrphanRecord;
    if (needs_reaping) {
      reaper.MarkOrphaned(move.inode);
    }
    if (!nodes.SetLocation(move.inode, move.to) && needs_reaping) {
      reaper.Enqueue(move.inode);  // nobody will forget what nobody knows
    }
  }
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
