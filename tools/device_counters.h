// The kernel's own count of what a block device read and wrote (Documentation/block/stat.rst).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace varve {

struct DeviceCounters {
  uint64_t reads = 0;
  uint64_t read_bytes = 0;
  uint64_t writes = 0;
  uint64_t written_bytes = 0;

  DeviceCounters Since(const DeviceCounters& earlier) const {
    return {reads - earlier.reads, read_bytes - earlier.read_bytes, writes - earlier.writes,
            written_bytes - earlier.written_bytes};
  }
};

// "/sys/dev/block/7:0/stat" for a block device; empty for anything else.
std::string DeviceStatPath(const std::string& device);

// nullopt when `stat_path` is empty or cannot be read.
std::optional<DeviceCounters> ReadDeviceCounters(const std::string& stat_path);

}  // namespace varve
