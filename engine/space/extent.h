// Extent: a run of allocation units on the device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/coding.h"
#include "engine/base/units.h"

namespace varve {

// The unit of allocation. Large enough that the free map of a terabyte is small and that a device erases or
// moves about in it efficiently; small enough that a table of a few MiB wastes at most some percent in its
// last unit.
inline constexpr uint64_t kExtentUnitBytes = 64 * kKiB;

struct Extent {
  // Unit n begins at byte n * kExtentUnitBytes of the device. 32 bits: devices up to 256 TiB.
  uint32_t first_unit = 0;
  uint32_t units = 0;

  uint64_t end_unit() const { return uint64_t{first_unit} + units; }
  DeviceOffset offset() const { return DeviceOffset(first_unit * kExtentUnitBytes); }
  uint64_t bytes() const { return units * kExtentUnitBytes; }

  friend bool operator==(const Extent&, const Extent&) = default;
};

uint64_t TotalBytes(std::span<const Extent> extents);
// "units 12+4, 80+1"
std::string DescribeExtents(std::span<const Extent> extents);

// Where byte `position` of the bytes that `extents` hold, in their order, lies on the device, and how many
// bytes follow it in one piece. nullopt beyond their end.
struct DevicePiece {
  DeviceOffset offset;
  uint64_t bytes = 0;
};
std::optional<DevicePiece> PieceAt(std::span<const Extent> extents, uint64_t position);

// A varint count, then for each extent two varints: first unit and units.
void AppendExtents(std::string& to, std::span<const Extent> extents);
// nullopt when the bytes are no such list, or hold an empty extent or one that ends beyond 2^32 units.
std::optional<std::vector<Extent>> DecodeExtents(Decoder& from);

}  // namespace varve
