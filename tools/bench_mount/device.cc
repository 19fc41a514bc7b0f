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
#include <optional>
#include <vector>

#include "engine/base/units.h"

namespace varve {

namespace {

// VM_READAHEAD_PAGES of linux/mm.h, 128 KiB, in sectors of 512 bytes.
constexpr unsigned long kReadAheadSectors = 256;

Error SystemError(const std::string& what) {
  return DeviceError(fmt::format("{}: {}", what, std::strerror(errno)));
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
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    const Error error = SystemError("cannot size the device's file");
    close(file);
    return error;
  }
  Result<LoopDevice> loop = LoopDevice::Attach(file, fmt::format("a file in {}", folder));
  if (!loop.ok()) {
    close(file);
    return loop.error();
  }
  return BenchDevice(bytes, file, std::move(*loop));
}

BenchDevice::~BenchDevice() {
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
  if (fsync(loop_.descriptor()) != 0 || ioctl(loop_.descriptor(), BLKFLSBUF, 0) != 0 ||
      ioctl(loop_.descriptor(), BLKRASET, kReadAheadSectors) != 0) {
    return SystemError(path());
  }
  return OkStatus();
}

bool BenchDevice::direct() const {
  loop_info64 info{};
  return ioctl(loop_.descriptor(), LOOP_GET_STATUS64, &info) == 0 &&
         (info.lo_flags & LO_FLAGS_DIRECT_IO) != 0;
}

Result<DeviceCounters> BenchDevice::Counters() const {
  const std::optional<DeviceCounters> counters = ReadDeviceCounters(DeviceStatPath(path()));
  if (!counters) {
    return DeviceError(fmt::format("there are no counters of {}", path()));
  }
  return *counters;
}

}  // namespace varve
