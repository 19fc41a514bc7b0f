// The lock of a block device: held by whoever opens a store on it, until nothing of that opener can reach the
// device any more. O_EXCL is not enough: a mount gives that claim to the kernel, which drops it as soon as
// the connection is cut (umount -f), while the daemon still closes its store.
#pragma once

#include <sys/stat.h>

#include <string>

namespace varve {

// Takes the lock for the open file `device`, without waiting: alone to write, with other readers when
// `read_only` (`device` must be open for that). It is a lock of the open file, on one byte far behind the
// end: it passes to children, ends when the last descriptor and the last request in flight have gone, and is
// apart from the flock(2) by which udev, mkfs and partition tools agree, so it never keeps them waiting.
// Returns 0 or the error: EAGAIN when somebody else has it.
int TryLockBlockDevice(int device, bool read_only);

// The lock belongs to the node in the file system, not to the device. So that every path leads to one lock,
// the node that the kernel made is opened: "/dev/loop3" for any symbolic link to it or copy by mknod(1).
// Empty when there is no such node for the device; then only openers of the same node see each other's lock.
// Blocks: reads sysfs.
std::string KernelNodeOf(const struct stat& device);

}  // namespace varve
