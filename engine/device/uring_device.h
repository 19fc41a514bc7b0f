// The device of production: a block device or an image file, opened with O_DIRECT, read and written through
// the ring of the reactor that runs the calling coroutine.
#pragma once

#include <memory>
#include <string>

#include "engine/base/result.h"
#include "engine/device/block_device.h"

namespace varve {

enum class DeviceClaim : uint8_t {
  // Nobody else may hold it as long as this device is open: O_EXCL and a lock on a block device, a lock on a
  // file, and both ways for a file that is attached to a loop device.
  kExclusive,
  // For a fuseblk mount, which claims a block device in the kernel: O_EXCL until ReleaseClaim(). The locks,
  // which hinder no mount, stay as long as this device is open.
  kExclusiveUntilMount,
  // For looking at a device that is in use: no claim, read_only.
  kNone,
};

struct UringDeviceOptions {
  bool read_only = false;
  DeviceClaim claim = DeviceClaim::kExclusive;
};

// Its operations run only in coroutines of a Reactor; any number of reactors at once.
class ClaimedDevice : public BlockDevice {
 public:
  // Lets go of O_EXCL on a block device, keeping it open and locked, so that the kernel can claim it for a
  // mount. Precondition: opened with kExclusiveUntilMount. Blocks shortly.
  virtual Status ReleaseClaim() = 0;
  // True for a block device, false for an image file.
  virtual bool is_block_device() const = 0;

 protected:
  using BlockDevice::BlockDevice;
};

// Blocks for the opening system calls. Errors: kNotFound; kBusy (somebody holds it; the message says who, as
// far as /proc tells); kInvalidArgument (neither block device nor file; a size or sector size that cannot be
// used); kReadOnly (a write-protected device without read_only); kUnsupported (O_DIRECT is refused here);
// kDeviceError.
Result<std::unique_ptr<ClaimedDevice>> OpenUringDevice(const std::string& path,
                                                       const UringDeviceOptions& options);

}  // namespace varve
