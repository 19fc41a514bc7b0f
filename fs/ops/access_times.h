// When a read is worth a write: the time of the last access, as mount(8) knows it.
#pragma once

#include "fs/ops/filesystem_core.h"

namespace varve {

// Whether reading `inode` now is to be noted.
bool AccessIsDue(const FileSystemCore& core, const Inode& inode);
// Notes that the file was read: apart from it (NotedAccesses) where it lies in a dirent, else in its inode
// record. Never waits for space and never fails: a read is not refused for want of its time. The caller holds
// no lock.
Task<void> NoteAccess(FileSystemCore& core, InodeNumber inode);
// The same at once; false, and without effect, when it would have to wait for another or for the device.
bool TryNoteAccess(FileSystemCore& core, InodeNumber inode);

}  // namespace varve
