#include "tools/bench/folder_space.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace varve {

uint64_t AllocatedBytesIn(const std::string& folder) {
  constexpr uint64_t kStatBlockBytes = 512;  // stat(2)
  uint64_t bytes = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    struct stat file {};
    if (stat(at->path().c_str(), &file) == 0 && S_ISREG(file.st_mode)) {
      bytes += static_cast<uint64_t>(file.st_blocks) * kStatBlockBytes;
    }
  }
  return bytes;
}

Status SyncFilesystemOf(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    return DeviceError(fmt::format("{}: {}", folder, std::strerror(errno)));
  }
  const bool synced = syncfs(descriptor) == 0;
  const int failure = errno;
  close(descriptor);
  if (!synced) {
    return DeviceError(fmt::format("{}: {}", folder, std::strerror(failure)));
  }
  return OkStatus();
}

}  // namespace varve
