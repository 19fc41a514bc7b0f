// A block device for a bench: a loop device over a nameless file of its own, so that nothing is left of
// either, however the process ends.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "engine/base/result.h"

namespace varve {

// What a device has done since it was made; the kernel's counters (Documentation/block/stat.rst).
struct BenchDeviceCounters {
  uint64_t reads = 0;
  uint64_t read_bytes = 0;
  uint64_t writes = 0;
  uint64_t written_bytes = 0;

  BenchDeviceCounters operator-(const BenchDeviceCounters& earlier) const {
    return {reads - earlier.reads, read_bytes - earlier.read_bytes, writes - earlier.writes,
            written_bytes - earlier.written_bytes};
  }
};

// Moves like a unique_ptr. Needs root.
class BenchDevice {
 public:
  // A device of `bytes` over a file in `folder`. It reads and writes the file with direct I/O where the
  // file's filesystem can.
  static Result<BenchDevice> Make(const std::string& folder, uint64_t bytes);
  BenchDevice(BenchDevice&& other) noexcept
      : path_(std::move(other.path_)),
        bytes_(other.bytes_),
        direct_(other.direct_),
        file_(std::exchange(other.file_, -1)),
        device_(std::exchange(other.device_, -1)) {}
  BenchDevice& operator=(BenchDevice&&) = delete;
  ~BenchDevice();

  const std::string& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }
  bool direct() const { return direct_; }

  // Writes where the file has holes (made by a discard, or never written), so that whoever uses the device
  // next does not pay for the file's growth.
  Status FillHoles();
  // As a fresh device: the kernel's page cache of it is written out and forgotten, and its read-ahead is the
  // kernel's default again (whoever mounted it may have set its own). The device must not be mounted.
  Status Refresh();
  Result<BenchDeviceCounters> Counters() const;

 private:
  BenchDevice(std::string path, uint64_t bytes, bool direct, int file, int device)
      : path_(std::move(path)), bytes_(bytes), direct_(direct), file_(file), device_(device) {}

  std::string path_;
  uint64_t bytes_;
  bool direct_;
  int file_;
  // While it is open the device stays; at its last close the kernel takes it away (LO_FLAGS_AUTOCLEAR).
  int device_;
};

}  // namespace varve
