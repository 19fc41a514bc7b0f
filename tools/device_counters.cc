#include "tools/device_counters.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fstream>

namespace varve {

std::string DeviceStatPath(const std::string& device) {
  struct stat place {};
  if (stat(device.c_str(), &place) != 0 || !S_ISBLK(place.st_mode)) {
    return {};
  }
  return fmt::format("/sys/dev/block/{}:{}/stat", major(place.st_rdev), minor(place.st_rdev));
}

std::optional<DeviceCounters> ReadDeviceCounters(const std::string& stat_path) {
  constexpr uint64_t kSectorBytes = 512;  // of the counters, whatever the device's sectors are
  if (stat_path.empty()) {
    return std::nullopt;
  }
  DeviceCounters counters;
  std::ifstream file(stat_path);
  uint64_t merged = 0;
  uint64_t milliseconds = 0;
  uint64_t read_sectors = 0;
  uint64_t written_sectors = 0;
  if (!(file >> counters.reads >> merged >> read_sectors >> milliseconds >> counters.writes >> merged >>
        written_sectors)) {
    return std::nullopt;
  }
  counters.read_bytes = read_sectors * kSectorBytes;
  counters.written_bytes = written_sectors * kSectorBytes;
  return counters;
}

}  // namespace varve
