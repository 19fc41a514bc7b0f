// A small store with a filesystem in it, as it lies on the device: what the image target changes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/support/memory_device.h"

namespace varve::fuzz {

// A run of bytes of the device.
struct Piece {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// The bytes of one kind of structure, as pieces.
class Region {
 public:
  // Only sectors of the range that hold anything are taken.
  void Add(const MemoryDevice& device, Piece range);
  uint64_t bytes() const { return bytes_; }
  // Where byte `position` of the region lies. Precondition: position < bytes().
  uint64_t DeviceOffsetOf(uint64_t position) const;

 private:
  std::vector<Piece> pieces_;
  uint64_t bytes_ = 0;
};

struct BaseImage {
  MemoryDevice::Contents contents;
  uint32_t sector_bytes = 0;
  // Superblock, manifest, log, data and index blocks, footers; none is empty.
  std::vector<Region> regions;
};

// With a log to be replayed, or closed in good order.
BaseImage MakeBaseImage(uint32_t sector_bytes, bool closed);

}  // namespace varve::fuzz
