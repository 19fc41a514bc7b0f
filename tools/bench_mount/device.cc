#include "tools/bench_mount/device.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "engine/base/units.h"

namespace varve {

namespace {

// Others may take the number that the kernel named free.
constexpr int kAttempts = 16;
// The kernel's counters are in these, whatever the device's own sector.
constexpr uint64_t kCounterSectorBytes = 512;
// VM_READAHEAD_PAGES of linux/mm.h, 128 KiB, in sectors of 512 bytes.
constexpr unsigned long kReadAheadSectors = 256;

Error SystemError(const std::string& what) {
  return DeviceError(fmt::format("{}: {}", what, std::strerror(errno)));
}

// The number of a loop device bound to `file`, opened as `device`.
Result<int> Bind(int control, int file, int& device) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int number = ioctl(control, LOOP_CTL_GET_FREE);
    if (number < 0) {
      return SystemError("no free loop device");
    }
    device = open(fmt::format("/dev/loop{}", number).c_str(), O_RDWR | O_CLOEXEC);
    if (device < 0) {
      return SystemError(fmt::format("/dev/loop{}", number));
    }
    loop_config config{};
    config.fd = static_cast<uint32_t>(file);
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
    if (ioctl(device, LOOP_CONFIGURE, &config) == 0) {
      return number;
    }
    const int failure = errno;
    close(device);
    device = -1;
    errno = failure;
    if (failure != EBUSY) {
      break;
    }
  }
  return SystemError("cannot set up a loop device");
}

bool UsesDirectIo(int device) {
  loop_info64 info{};
  return ioctl(device, LOOP_GET_STATUS64, &info) == 0 && (info.lo_flags & LO_FLAGS_DIRECT_IO) != 0;
}

Status WriteAll(int file, const std::vector<char>& bytes, uint64_t offset, uint64_t end) {
  while (offset < end) {
    const size_t size = std::min<uint64_t>(bytes.size(), end - offset);
    const ssize_t written = pwrite(file, bytes.data(), size, static_cast<off_t>(offset));
    if (written <= 0) {
      return SystemError("cannot fill the device's file");
    }
    offset += static_cast<uint64_t>(written);
  }
  return OkStatus();
}

}  // namespace

Result<BenchDevice> BenchDevice::Make(const std::string& folder, uint64_t bytes) {
  const int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) {
    return SystemError(fmt::format("cannot make a file in {}", folder));
  }
  const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  int device = -1;
  if (control < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    const Error error = SystemError(control < 0 ? "/dev/loop-control" : "cannot size the device's file");
    close(file);
    return error;
  }
  const Result<int> number = Bind(control, file, device);
  close(control);
  if (!number.ok()) {
    close(file);
    return number.error();
  }
  return BenchDevice(fmt::format("/dev/loop{}", *number), bytes, UsesDirectIo(device), file, device);
}

BenchDevice::~BenchDevice() {
  if (device_ >= 0) {
    close(device_);
  }
  if (file_ >= 0) {
    close(file_);
  }
}

Status BenchDevice::FillHoles() {
  const std::vector<char> content(kMiB, 'v');
  off_t hole = lseek(file_, 0, SEEK_HOLE);
  while (hole >= 0 && static_cast<uint64_t>(hole) < bytes_) {
    const off_t data = lseek(file_, hole, SEEK_DATA);
    const uint64_t end = data < 0 ? bytes_ : static_cast<uint64_t>(data);
    if (Status filled = WriteAll(file_, content, static_cast<uint64_t>(hole), end); !filled.ok()) {
      return filled;
    }
    hole = lseek(file_, static_cast<off_t>(end), SEEK_HOLE);
  }
  return fsync(file_) == 0 ? OkStatus() : SystemError("cannot fill the device's file");
}

Status BenchDevice::Refresh() {
  if (fsync(device_) != 0 || ioctl(device_, BLKFLSBUF, 0) != 0 ||
      ioctl(device_, BLKRASET, kReadAheadSectors) != 0) {
    return SystemError(path_);
  }
  return OkStatus();
}

Result<BenchDeviceCounters> BenchDevice::Counters() const {
  const std::string name = path_.substr(path_.find_last_of('/') + 1);
  std::ifstream stat("/sys/block/" + name + "/stat");
  uint64_t merged = 0;
  uint64_t milliseconds = 0;
  BenchDeviceCounters counters;
  stat >> counters.reads >> merged >> counters.read_bytes >> milliseconds;
  stat >> counters.writes >> merged >> counters.written_bytes >> milliseconds;
  if (!stat) {
    return DeviceError(fmt::format("there are no counters of {}", path_));
  }
  counters.read_bytes *= kCounterSectorBytes;
  counters.written_bytes *= kCounterSectorBytes;
  return counters;
}

}  // namespace varve
