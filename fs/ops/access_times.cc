#include "fs/ops/access_times.h"

namespace varve {

namespace {

// What relatime(mount(8)) lets an old time stand for.
constexpr int64_t kDayNanos = int64_t{24} * 3600 * 1'000'000'000;

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
  if (!loaded.ok() || !loaded->location.has_name() || !AccessIsDue(core, loaded->inode())) {
    co_return;
  }
  Inode changed = loaded->inode();
  changed.atime_nanos = core.Now();
  Change change;
  core.StageInode(change, loaded->location, changed, loaded->record.content);
  const std::optional<Status> written = core.store.TryWrite(change.batch, Durability::kInterval);
  if (written && !written->ok()) {
    core.logger.Log(LogLevel::kDebug, "the time of an access was not noted: " + written->ToString());
  }
}

}  // namespace varve
