// The fixed places of a store on its device (docs/on-disk/layout.md): one reserved unit at each end for the
// copies of the superblock, extents between them.
#pragma once

#include <array>
#include <cstdint>

#include "engine/base/result.h"
#include "engine/space/extent.h"

namespace varve {

// Room for two WAL segments, two manifests, and memtable-sized tables with a level above them.
inline constexpr uint64_t kDeviceBytesMin = 64 * kMiB;
inline constexpr uint64_t kDeviceBytesMax = (uint64_t{1} << 32) * kExtentUnitBytes;
inline constexpr size_t kSuperblockCopies = 2;
// The first copy lies behind the place of boot sectors and of most foreign superblocks.
inline constexpr uint64_t kFirstSuperblockOffset = 4 * kKiB;

class Layout {
 public:
  // Error kInvalidArgument when the device is too small or too large.
  static Result<Layout> ForDevice(uint64_t device_bytes);

  // Units that extents may use: [first_unit(), end_unit()).
  uint32_t first_unit() const { return 1; }
  uint32_t end_unit() const { return end_unit_; }
  uint64_t usable_bytes() const { return uint64_t{end_unit_ - first_unit()} * kExtentUnitBytes; }
  bool Holds(const Extent& extent) const {
    return extent.units > 0 && extent.first_unit >= first_unit() && extent.end_unit() <= end_unit_;
  }
  // One near the start, one near the end.
  std::array<DeviceOffset, kSuperblockCopies> superblock_offsets() const {
    return {DeviceOffset(kFirstSuperblockOffset), DeviceOffset(uint64_t{end_unit_} * kExtentUnitBytes)};
  }

 private:
  explicit Layout(uint32_t end_unit) : end_unit_(end_unit) {}

  uint32_t end_unit_;
};

}  // namespace varve
