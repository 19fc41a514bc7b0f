#include "engine/device/device_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <fstream>
#include <string_view>

namespace varve {

namespace {

// "varve" at 2^20: some 500 PB, farther out than any device reaches, and nobody else's.
constexpr off_t kLockedByte = off_t{0x7661727665} << 20;

}  // namespace

int TryLockBlockDevice(int device, bool read_only) {
  struct flock lock {};
  lock.l_type = static_cast<short>(read_only ? F_RDLCK : F_WRLCK);
  lock.l_whence = SEEK_SET;
  lock.l_start = kLockedByte;
  lock.l_len = 1;
  if (fcntl(device, F_OFD_SETLK, &lock) == 0) {
    return 0;
  }
  return errno == EACCES ? EAGAIN : errno;
}

std::string KernelNodeOf(const struct stat& device) {
  constexpr std::string_view kKey = "DEVNAME=";
  std::ifstream event(
      fmt::format("/sys/dev/block/{}:{}/uevent", major(device.st_rdev), minor(device.st_rdev)));
  for (std::string line; std::getline(event, line);) {
    if (!line.starts_with(kKey)) {
      continue;
    }
    std::string node = "/dev/" + line.substr(kKey.size());
    struct stat found {};
    const bool same =
        stat(node.c_str(), &found) == 0 && S_ISBLK(found.st_mode) && found.st_rdev == device.st_rdev;
    return same ? node : std::string();
  }
  return {};
}

}  // namespace varve
