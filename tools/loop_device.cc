#include "tools/loop_device.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace varve {

namespace {

// Another process may attach the device that the kernel named as free in between.
constexpr int kAttempts = 16;
// The kernel's own default: what reads through the page cache get.
constexpr int kReadAheadKibibytes = 128;

}  // namespace

Result<LoopDevice> LoopDevice::Attach(const std::string& file) {
  const int backing = open(file.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
  if (backing < 0) {
    return DeviceError(fmt::format("{}: {}", file, std::strerror(errno)));
  }
  Result<LoopDevice> attached = Attach(backing, file);
  close(backing);
  return attached;
}

Result<LoopDevice> LoopDevice::Attach(int file, const std::string& name) {
  const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (control < 0) {
    return Unsupported(
        fmt::format("cannot make loop devices here: /dev/loop-control: {}", std::strerror(errno)));
  }
  loop_config config{};
  config.fd = static_cast<__u32>(file);
  config.info.lo_flags = LO_FLAGS_DIRECT_IO | LO_FLAGS_AUTOCLEAR;
  int failure = EBUSY;
  int device = -1;
  std::string path;
  for (int attempt = 0; attempt < kAttempts && failure == EBUSY; ++attempt) {
    const int number = ioctl(control, LOOP_CTL_GET_FREE);
    path = fmt::format("/dev/loop{}", number);
    device = number < 0 ? -1 : open(path.c_str(), O_RDWR | O_CLOEXEC);
    failure = device < 0 || ioctl(device, LOOP_CONFIGURE, &config) != 0 ? errno : 0;
    if (failure != 0 && device >= 0) {
      close(device);
    }
  }
  close(control);
  if (failure != 0) {
    return DeviceError(fmt::format("{}: cannot attach {}: {}", path, name, std::strerror(failure)));
  }
  // The device's number may have been used, and tuned, by somebody before.
  std::ofstream(fmt::format("/sys/block/{}/queue/read_ahead_kb", path.substr(path.rfind('/') + 1)))
      << kReadAheadKibibytes;
  return LoopDevice(device, path);
}

LoopDevice::~LoopDevice() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

}  // namespace varve
