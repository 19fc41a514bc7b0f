// How an operation's changes become one batch, and what follows once it is written.
#include <utility>

#include "fs/ops/filesystem_core.h"

namespace varve {

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

void FileSystemCore::StageAccessDrop(Change& change, InodeNumber inode) const {
  if (accesses.Find(inode) && change.AddDroppedAccess(inode)) {
    change.batch.Delete(NamespaceKey::Access(inode));
  }
}

}  // namespace varve
