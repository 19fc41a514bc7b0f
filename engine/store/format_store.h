// Makes a device a store: for mkfs, and for tests.
#pragma once

#include <string>

#include "engine/base/clock.h"
#include "engine/base/result.h"
#include "engine/device/block_device.h"
#include "engine/ring/task.h"
#include "engine/space/superblock.h"

namespace varve {

struct FormatStoreOptions {
  std::string label;  // at most superblock_format::kLabelBytesMax bytes, no zero byte
  Uuid uuid{};        // MakeUuid; never that of another store
  StoreParameters parameters;
};

// Whatever the device held is lost, foreign signatures included; asking first is the caller's. Afterwards
// OpenStore finds an empty store. Errors: kInvalidArgument (the label; a device too small or too large),
// kDeviceError. `device` and `clock` must outlive the Task.
Task<Result<Superblock>> FormatStore(BlockDevice& device, const Clock& clock, FormatStoreOptions options);

}  // namespace varve
