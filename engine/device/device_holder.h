// Who holds a device or an image file, for messages: as far as /proc tells, which depends on the caller's
// rights.
#pragma once

#include <sys/stat.h>

#include <string>

namespace varve {

// The process other than this one that has a lock on it (flock(2), or of open files by fcntl(2)); 0 when none
// is found. Blocks: walks /proc.
int LockHolderOf(const struct stat& device);

// "mounted on /mnt", "held by varve (process 1234)", or empty when nothing is found. Blocks: walks /proc.
std::string DescribeHolder(const struct stat& device);

}  // namespace varve
