// Bed: the device on which engines are measured, one after the other, each on the empty device: varve raw,
// the others in a folder of an ext4 made there. Takes everything down with it, also when the process is
// killed: the mount stands in no folder and lives as long as this process holds it open, a loop device goes
// with its last user, and a file in memory has no name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/result.h"
#include "engine/base/units.h"
#include "tools/loop_device.h"

namespace varve {

struct BedOptions {
  // A block device or an image file; empty: a file of memory_bytes in memory.
  std::string device;
  uint64_t memory_bytes = 0;
  // Take a device that holds something.
  bool force = false;
  // Target of a data block's size in stores of varve.
  uint32_t block_bytes = 4 * kKiB;
};

// One thread; blocks.
class Bed {
 public:
  // An image file is attached to a loop device where that can be done, for the kernel's counters of it.
  // Errors: kInvalidArgument (the device holds something, and what), kBusy (it is in use, and by whom),
  // kDeviceError, kUnsupported (no rights to make loop devices, for peers or for memory).
  static Result<std::unique_ptr<Bed>> Make(const BedOptions& options, bool for_peers);
  ~Bed();
  Bed(const Bed&) = delete;
  Bed& operator=(const Bed&) = delete;

  // The place for a worker of this engine: everything that was on the device is discarded, and it is
  // formatted or made a filesystem.
  Result<std::string> Prepare(const std::string& engine);
  // What the engine's process left in the page cache is written and forgotten.
  Status Refresh();
  // Unmounts, and discards everything.
  Status Clear();

  // The block device, for its counters and its throttle; the image file where there is none.
  const std::string& device() const { return device_; }
  // "7:0"; empty for an image file.
  std::string device_number() const;
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  explicit Bed(uint32_t block_bytes) : block_bytes_(block_bytes) {}
  Status CheckUnused(bool force);
  Status DiscardAll();
  Status Mount();
  void Unmount();
  Status FormatVarve();

  const uint32_t block_bytes_;
  // Nothing is discarded before this is set: the device is known to hold nothing that is missed.
  bool taken_ = false;
  std::optional<LoopDevice> loop_;
  std::string device_;
  uint64_t size_bytes_ = 0;
  // The root of the mounted ext4 (fsmount(2)); negative while none is mounted.
  int mount_ = -1;
};

}  // namespace varve
