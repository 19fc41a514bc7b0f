// What else lies on a device: mkfs refuses to overwrite it unasked, and errors name it.
#pragma once

#include <optional>
#include <string>

#include "engine/base/result.h"
#include "engine/device/block_device.h"
#include "engine/ring/task.h"

namespace varve {

struct ForeignContent {
  std::string kind;   // "filesystem", "partition table", "raid", "swap area", …
  std::string type;   // libblkid's name: "ext4", "gpt"
  std::string label;  // may be empty

  // "an ext4 filesystem labelled \"backup\""
  std::string Describe() const;
};

// Asks libblkid about the device or image file at `path`; nullopt when it recognises nothing. Blocks; opens
// and closes the path. Error kDeviceError when it cannot be read.
Result<std::optional<ForeignContent>> ProbeForeignContent(const std::string& path);

// Zeroes the places where other filesystems, RAIDs and partition tables keep their signatures (the first and
// the last MiB), so that nothing takes the device for what it was before. For mkfs, before the superblock is
// written.
Task<Status> WipeForeignContent(BlockDevice& device);

}  // namespace varve
