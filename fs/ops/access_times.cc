#include "fs/ops/access_times.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/ring/spawn_on.h"

namespace varve {

namespace {

// What relatime(mount(8)) lets an old time stand for.
constexpr int64_t kDayNanos = int64_t{24} * 3600 * 1'000'000'000;

// Of putting back, in which nothing else of the background runs.
constexpr int kNotesASlice = 32;

// Puts the time that is noted into the file that `access` names. False: it cannot be done now. The caller
// holds no lock.
Task<bool> PutBack(FileSystemCore& core, InodeNumber inode, InodeNumber parent, std::string name) {
  const InodeLocks::Guard guard = co_await core.locks.Lock(inode);
  if (!core.accesses.Find(inode)) {
    co_return true;
  }
  Result<FoundDirent> dirent = co_await core.FindDirent(parent, name);
  if (!dirent.ok()) {
    co_return false;
  }
  Change change;
  if (dirent->exists && dirent->record.embedded && dirent->record.inode == inode) {
    core.StageDirent(change, parent, name, dirent->record.embedded->inode, dirent->record.embedded->content);
  } else {
    // Nobody leaves such a note behind, but one that a damaged store holds must not come again.
    core.StageAccessDrop(change, inode);
  }
  const Status written = co_await core.Commit(change);
  co_return written.ok();
}

// All notes into the records of their files, in the background, when no more may be noted.
Task<void> PutBackAccesses(FileSystemCore& core) {
  const NamespaceKey end = NamespaceKey::KindStart(static_cast<uint8_t>(NamespaceKind::kAccess) + 1);
  NamespaceKey next = NamespaceKey::KindStart(static_cast<uint8_t>(NamespaceKind::kAccess));
  std::vector<std::pair<InodeNumber, std::string>> slice;  // the values
  bool goes_on = true;
  while (goes_on && !core.accesses.is_stopping()) {
    slice.clear();
    {
      // Not held while something is written: it would keep the place of tables that are replaced.
      const std::unique_ptr<StoreIterator> notes = core.store.NewIterator(next, end, {nullptr, false});
      for (Step step = notes->Seek(next); slice.size() < kNotesASlice; step = notes->Next()) {
        if (step == Step::kNeedsIo) {
          co_await notes->Load();
        }
        if (!notes->Valid()) {
          break;
        }
        if (const std::optional<ParsedKey> key = ParseNamespaceKey(notes->key())) {
          slice.emplace_back(key->inode, notes->value());
        }
      }
    }
    goes_on = !slice.empty();
    for (size_t i = 0; goes_on && i < slice.size(); ++i) {
      const Result<AccessRecord> note = DecodeAccess(slice[i].second);
      if (note.ok()) {
        goes_on = co_await PutBack(core, slice[i].first, note->parent, std::string(note->name));
      }
      next = NamespaceKey::Access(slice[i].first.Next());
    }
    co_await Executor::Current().Yield();
  }
  core.accesses.EndPutBack();
}

bool Write(FileSystemCore& core, Change& change) {
  const std::optional<Status> written = core.TryCommit(change);
  if (written && !written->ok()) {
    core.logger.Log(LogLevel::kDebug, "the time of an access was not noted: " + written->ToString());
  }
  return written && written->ok();
}

// Of an inode that is locked.
void NoteLocked(FileSystemCore& core, const LoadedInode& loaded) {
  if (!loaded.location.has_name() || !AccessIsDue(core, loaded.inode())) {
    return;
  }
  const InodeNumber inode = loaded.inode().number;
  const int64_t now = core.Now();
  const bool apart = loaded.location.place() == NodePlace::kEmbedded;
  Change change;
  if (apart && (core.accesses.Find(inode) || !core.accesses.full())) {
    std::string note;
    AppendAccess(note, {now, loaded.location.parent(), loaded.location.name()});
    change.batch.Put(NamespaceKey::Access(inode), note);
    if (Write(core, change)) {
      core.accesses.Add(inode, now);
    }
    return;
  }
  Inode changed = loaded.inode();
  changed.atime_nanos = now;
  core.StageInode(change, loaded.location, changed, loaded.record.content);
  Write(core, change);
  if (apart && core.accesses.TryBeginPutBack()) {
    SpawnOn(core.background, PutBackAccesses(core));
  }
}

}  // namespace

bool AccessIsDue(const FileSystemCore& core, const Inode& inode) {
  if (core.options.read_only || (inode.is_directory() && !core.options.directory_access_times)) {
    return false;
  }
  switch (core.options.access_times) {
    case AccessTimes::kNever:
      return false;
    case AccessTimes::kAlways:
      return true;
    case AccessTimes::kRelative:
      break;
  }
  const int64_t now = core.Now();
  return inode.atime_nanos <= inode.mtime_nanos || inode.atime_nanos <= inode.ctime_nanos ||
         (now > inode.atime_nanos && now - inode.atime_nanos >= kDayNanos);
}

Task<void> NoteAccess(FileSystemCore& core, InodeNumber inode) {
  const InodeLocks::Guard guard = co_await core.locks.Lock(inode);
  Result<LoadedInode> loaded = co_await core.LoadLocked(inode);
  if (loaded.ok()) {
    NoteLocked(core, *loaded);
  }
}

bool TryNoteAccess(FileSystemCore& core, InodeNumber inode) {
  const std::optional<InodeLocks::Guard> guard = core.locks.TryLock(inode);
  if (!guard) {
    return false;
  }
  std::optional<Result<LoadedInode>> loaded = core.TryLoad(inode);
  if (!loaded) {
    return false;
  }
  if (loaded->ok()) {
    NoteLocked(core, **loaded);
  }
  return true;
}

}  // namespace varve
