// Superblock: what a store is, and where its manifest lies. Bytes to fields and back; no I/O.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/units.h"
#include "engine/space/extent.h"
#include "engine/space/superblock_format.h"

namespace varve {

using Uuid = std::array<uint8_t, 16>;
// "6f0c…-…" in lower case, as in /dev/disk/by-uuid.
std::string FormatUuid(const Uuid& uuid);
// A random one (RFC 4122, version 4) made of 128 random bits.
Uuid MakeUuid(uint64_t random_high, uint64_t random_low);

// Where the manifest begins. Opaque here: what the bytes are is engine/version's.
struct ManifestLocation {
  uint64_t number = 0;          // which manifest of this store's life: higher is later
  std::vector<Extent> extents;  // at most superblock_format::kExtentsMax
  uint64_t bytes = 0;           // how many of them hold what `checksum` covers
  uint64_t checksum = 0;

  friend bool operator==(const ManifestLocation&, const ManifestLocation&) = default;
};

// Decided by mkfs, for ever. What the namespace decides for ever lies in a record of its own
// (fs/namespace/namespace_format.h).
struct StoreParameters {
  static constexpr uint32_t kDataBlockBytesMin = 1 * kKiB;
  static constexpr uint32_t kDataBlockBytesMax = 64 * kKiB;

  uint32_t data_block_bytes = 4 * kKiB;  // target of a table's data blocks

  friend bool operator==(const StoreParameters&, const StoreParameters&) = default;
};

struct Superblock {
  uint32_t format_version = superblock_format::kFormatVersion;
  uint64_t compat_features = 0;
  uint64_t read_only_features = 0;
  uint64_t incompat_features = 0;
  Uuid uuid{};
  std::string label;  // at most superblock_format::kLabelBytesMax bytes, no zero byte
  uint64_t device_bytes = 0;
  uint32_t sector_bytes = 0;
  int64_t created_wall_nanos = 0;
  // Rises by one with each update: the copy with the highest is the valid one.
  uint64_t generation = 0;
  StoreParameters parameters;
  ManifestLocation manifest;

  friend bool operator==(const Superblock&, const Superblock&) = default;
};

// Precondition: the label and the manifest's extents fit. Exactly superblock_format::kBytes.
std::string EncodeSuperblock(const Superblock& superblock, uint32_t copy);

// Errors: kNotFound (no varve magic here), kCorruption (damaged, or another copy's bytes), kUnsupported (its
// format version or an incompatible feature is unknown). Precondition: `bytes` is superblock_format::kBytes
// long.
Result<Superblock> DecodeSuperblock(std::string_view bytes, uint32_t copy);

// Why this version may not write to the store, though it can read it; success when it may.
Status CheckWritable(const Superblock& superblock);

}  // namespace varve
