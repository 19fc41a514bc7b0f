// Which varve filesystems are mounted, by the kernel's own list: works when the daemon is dead or hangs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace varve {

struct MountedEntry {
  std::string source;
  std::string directory;
};

// Finds `what`, a mount point or a device, in text of the form of /proc/self/mountinfo; of several mounts on
// one another the topmost.
std::optional<MountedEntry> FindVarveMount(std::string_view mountinfo, std::string_view what);

// The same in this process's list. `what` may be relative, and a symbolic link where it can be resolved.
std::optional<MountedEntry> FindVarveMount(const std::string& what);

}  // namespace varve
