#include "engine/space/layout.h"

#include <fmt/core.h>

namespace varve {

Result<Layout> Layout::ForDevice(uint64_t device_bytes) {
  if (device_bytes < kDeviceBytesMin) {
    return InvalidArgument(fmt::format("the device holds {} bytes; a store needs {} MiB at least",
                                       device_bytes, kDeviceBytesMin / kMiB));
  }
  if (device_bytes > kDeviceBytesMax) {
    return InvalidArgument(fmt::format("the device holds {} bytes; a store can use {} TiB at most",
                                       device_bytes, kDeviceBytesMax / kTiB));
  }
  return Layout(static_cast<uint32_t>(device_bytes / kExtentUnitBytes - 1));
}

}  // namespace varve
