// A block device for a bench: a loop device over a nameless file of its own, so that nothing is left of
// either, however the process ends.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "engine/base/result.h"
#include "tools/device_counters.h"
#include "tools/loop_device.h"

namespace varve {

// Moves like a unique_ptr. Needs root.
class BenchDevice {
 public:
  // A device of `bytes` over a file in `folder`. It reads and writes the file with direct I/O where the
  // file's filesystem can.
  static Result<BenchDevice> Make(const std::string& folder, uint64_t bytes);
  BenchDevice(BenchDevice&& other) noexcept
      : bytes_(other.bytes_), file_(std::exchange(other.file_, -1)), loop_(std::move(other.loop_)) {}
  BenchDevice& operator=(BenchDevice&&) = delete;
  ~BenchDevice();

  const std::string& path() const { return loop_.path(); }
  uint64_t bytes() const { return bytes_; }
  bool direct() const;

  // Writes where the file has holes (made by a discard, or never written), so that whoever uses the device
  // next does not pay for the file's growth.
  Status FillHoles();
  // As a fresh device: the kernel's page cache of it is written out and forgotten, and its read-ahead is the
  // kernel's default again (whoever mounted it may have set its own). The device must not be mounted.
  Status Refresh();
  Result<DeviceCounters> Counters() const;

 private:
  BenchDevice(uint64_t bytes, int file, LoopDevice loop)
      : bytes_(bytes), file_(file), loop_(std::move(loop)) {}

  uint64_t bytes_;
  int file_;
  LoopDevice loop_;
};

}  // namespace varve
