// What the files that implement FileSystem share: where inodes lie, how one is loaded, changed and written.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/check.h"
#include "engine/ring/async_mutex.h"
#include "fs/content/content.h"
#include "fs/namespace/inode_allocator.h"
#include "fs/namespace/namespace_format.h"
#include "fs/ops/directory_streams.h"
#include "fs/ops/filesystem.h"
#include "fs/ops/inode_locks.h"
#include "fs/ops/node_table.h"
#include "fs/ops/noted_accesses.h"
#include "fs/ops/reaper.h"

namespace varve {

// An inode as it was read. The record's content points into `pin`. What an operation holds while it writes is
// unpinned (LoadLocked, FindDirent): a write may wait for space, which merges cannot give back while a table
// that they replaced is pinned.
struct LoadedInode {
  NodeLocation location;
  InodeRecord record;
  PinnedValue pin;

  Inode& inode() { return record.inode; }
  const Inode& inode() const { return record.inode; }
};

struct FoundDirent {
  bool exists = false;
  DirentRecord record;
  PinnedValue pin;
};

// One operation's batch, and which nodes change their place once it is written: a rename moves one file and
// may unlink another, or exchanges two.
struct Change {
  struct Move {
    InodeNumber inode;
    NodeLocation to;
    std::optional<std::string> memory_orphan;  // the record, when that place is kOrphanMemory
  };

  Move& AddMove(InodeNumber inode, const NodeLocation& to) {
    Check(move_count < moves.size(), "an operation moves more than two nodes");
    moves[move_count].inode = inode;
    moves[move_count].to = to;
    return moves[move_count++];
  }

  // The batch deletes the note of the inode's last access. False: it does so already.
  bool AddDroppedAccess(InodeNumber inode) {
    const auto end = dropped_accesses.begin() + dropped_count;
    if (std::find(dropped_accesses.begin(), end, inode) != end) {
      return false;
    }
    Check(dropped_count < dropped_accesses.size(), "an operation changes more than four inodes");
    dropped_accesses[dropped_count++] = inode;
    return true;
  }

  WriteBatch batch;
  std::array<Move, 2> moves;
  size_t move_count = 0;
  std::array<InodeNumber, InodeLocks::kInodesMax> dropped_accesses;
  size_t dropped_count = 0;
};

// Any thread, as FileSystem.
class FileSystemCore {
 public:
  // Unlinked files that only memory knows may take so much of it; more go to orphan records.
  static constexpr size_t kMemoryOrphanBytesMax = 8 * kMiB;

  FileSystemCore(FileSystemEnvironment environment, FileSystemOptions options, FormatParameters format,
                 InodeNumber next_inode);

  Status CheckWritable() const {
    return options.read_only ? Status(ReadOnly("the filesystem is mounted read-only")) : Status();
  }
  int64_t Now() const { return clock.WallNanos(); }
  Attributes AttributesOf(const Inode& inode) const;
  // The time that is noted apart, where one is. Inodes that are loaded here, or found with a dirent, have it
  // already.
  int64_t AccessTimeOf(const Inode& inode) const;

  // Where the inode lies now. Disengaged when the answer needs the device, or when the inode moves at this
  // moment.
  std::optional<Result<LoadedInode>> TryLoad(InodeNumber inode);
  // The caller holds no lock of the inode.
  Task<Result<LoadedInode>> Load(InodeNumber inode);
  // The caller holds the inode's lock: nobody moves or changes it.
  Task<Result<LoadedInode>> LoadLocked(InodeNumber inode);
  // A directory that still has a name, for a change of its entries. The caller holds its lock.
  Task<Result<LoadedInode>> LoadParentLocked(InodeNumber parent);
  // The inode record of an inode that is known to have one.
  Task<Result<LoadedInode>> LoadRecord(InodeNumber inode);
  Task<Result<FoundDirent>> FindDirent(InodeNumber parent, std::string_view name);
  // The inode that a dirent names. The caller holds the locks of the parent and of the inode.
  Task<Result<LoadedInode>> LoadNamedLocked(InodeNumber parent, std::string_view name, FoundDirent dirent);
  // At one snapshot; nullopt when the inode lay elsewhere then.
  Task<Result<std::optional<LoadedInode>>> LoadAt(InodeNumber inode, const Snapshot& snapshot);

  // Puts the inode where it lies, and removes the note of its last access: the inode says it now.
  void StageInode(Change& change, const NodeLocation& location, const Inode& inode, std::string_view content);
  void StageDirent(Change& change, InodeNumber parent, std::string_view name, const Inode& inode,
                   std::string_view content);
  void StageReference(Change& change, InodeNumber parent, std::string_view name, const Inode& inode);
  // Takes one name of `loaded` away; the caller deletes or replaces the dirent. Its last one: what is in use,
  // or has something to be removed, becomes an orphan.
  void StageNameLoss(Change& change, LoadedInode& loaded, int64_t now);
  // Gives `file` one more name, its first one if it is an orphan. May remove stale chunks, in batches of
  // their own. The caller holds both locks and puts the parent.
  Task<Status> StageLink(Change& change, LoadedInode& file, InodeNumber parent, std::string_view name,
                         int64_t now);
  // Gives `loaded` the name (parent, name) in place of its old one, which the caller deletes or replaces.
  void StageMove(Change& change, LoadedInode& loaded, InodeNumber parent, std::string_view name, int64_t now);
  // Counts an entry of the parent in (+1) or out (-1), and puts it.
  void StageParent(Change& change, LoadedInode& parent, int entries, int subdirectories, int64_t now);
  // Removes the note of the inode's last access, where there is one.
  void StageAccessDrop(Change& change, InodeNumber inode) const;
  Task<Status> Commit(Change& change, bool durable);
  Task<Status> Commit(Change& change) { return Commit(change, false); }
  // Without waiting; nullopt, and without effect, where that cannot be. Durable at the end of the interval,
  // even if the filesystem is mounted with -o sync.
  std::optional<Status> TryCommit(Change& change);

  // Gives lookups back, and starts the removal of what nobody needs any more.
  void Forget(InodeNumber inode, uint64_t lookups);

  Task<Result<InodeNumber>> NewInodeNumber();

  Store& store;
  const Clock& clock;
  Logger& logger;
  Executor& background;
  const FileSystemOptions options;
  Content content;
  InodeAllocator allocator;
  InodeLocks locks;
  NodeTable nodes;
  NotedAccesses accesses;
  DirectoryStreams streams;
  KeptListings listings;
  Reaper reaper;
  // One directory moves to another parent at a time: no two moves can make a circle together. Taken before
  // inode locks.
  AsyncMutex directory_moves;

 private:
  // What follows from the change, once its batch is written.
  void Apply(Change& change);
  static NamespaceKey KeyOf(InodeNumber inode, const NodeLocation& location);
  // nullopt: another inode, or none, lies there.
  static Result<std::optional<InodeRecord>> DecodeAt(InodeNumber inode, const NodeLocation& location,
                                                     std::string_view value);
  Result<std::optional<LoadedInode>> Decoded(InodeNumber inode, const NodeLocation& location,
                                             std::optional<PinnedValue> value);
  std::optional<Result<LoadedInode>> TryLoadMemoryOrphan(InodeNumber inode);
};

// Clears set-user-id, and set-group-id where the group may execute.
void KillSetIds(Inode& inode);

}  // namespace varve
