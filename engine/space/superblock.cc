#include "engine/space/superblock.h"

#include <fmt/core.h>

#include <bit>

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/base/counter_limit.h"
#include "engine/space/layout.h"

namespace varve {

namespace format = superblock_format;

namespace {

uint64_t ChecksumOf(std::string_view block, uint32_t copy) {
  return Checksum64(block.substr(format::kFormatVersionAt), copy);
}

Status CheckFields(const Superblock& superblock) {
  const Result<Layout> layout = Layout::ForDevice(superblock.device_bytes);
  if (!layout.ok()) {
    return Corruption("superblock: impossible device size: " + layout.error().message());
  }
  if (!std::has_single_bit(superblock.sector_bytes) || superblock.sector_bytes < 512 ||
      superblock.sector_bytes > format::kBytes) {
    return Corruption(fmt::format("superblock: impossible sector size {}", superblock.sector_bytes));
  }
  for (const Extent& extent : superblock.manifest.extents) {
    if (!layout->Holds(extent)) {
      return Corruption("superblock: the manifest lies outside the device: " +
                        DescribeExtents(superblock.manifest.extents));
    }
  }
  // Overlapping ones would make a reader go over the device again and again.
  if (TotalBytes(superblock.manifest.extents) > layout->usable_bytes()) {
    return Corruption("superblock: the manifest's extents overlap");
  }
  if (superblock.manifest.bytes > TotalBytes(superblock.manifest.extents)) {
    return Corruption("superblock: the manifest is larger than its extents");
  }
  if (superblock.generation > kCounterMax || superblock.manifest.number > kCounterMax) {
    return Corruption("superblock: a number that no store reaches");
  }
  const uint32_t block_bytes = superblock.parameters.data_block_bytes;
  if (block_bytes < StoreParameters::kDataBlockBytesMin ||
      block_bytes > StoreParameters::kDataBlockBytesMax) {
    return Corruption(fmt::format("superblock: impossible size of data blocks {}", block_bytes));
  }
  return OkStatus();
}

}  // namespace

std::string FormatUuid(const Uuid& uuid) {
  std::string text;
  for (size_t i = 0; i < uuid.size(); ++i) {
    text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
  }
  return text;
}

Uuid MakeUuid(uint64_t random_high, uint64_t random_low) {
  Uuid uuid;
  for (size_t i = 0; i < 8; ++i) {
    uuid[i] = static_cast<uint8_t>(random_high >> (8 * i));
    uuid[8 + i] = static_cast<uint8_t>(random_low >> (8 * i));
  }
  uuid[6] = static_cast<uint8_t>((uuid[6] & 0x0f) | 0x40);
  uuid[8] = static_cast<uint8_t>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

std::string EncodeSuperblock(const Superblock& superblock, uint32_t copy) {
  Check(superblock.label.size() <= format::kLabelBytesMax, "a label was not checked");
  Check(superblock.manifest.extents.size() <= format::kExtentsMax, "a manifest of too many extents");
  std::string block(format::kBytes, '\0');
  char* at = block.data();
  format::kMagic.copy(at + format::kMagicAt, format::kMagic.size());
  StoreFixed(at + format::kFormatVersionAt, superblock.format_version);
  StoreFixed(at + format::kCopyAt, copy);
  StoreFixed(at + format::kGenerationAt, superblock.generation);
  StoreFixed(at + format::kCompatFeaturesAt, superblock.compat_features);
  StoreFixed(at + format::kReadOnlyFeaturesAt, superblock.read_only_features);
  StoreFixed(at + format::kIncompatFeaturesAt, superblock.incompat_features);
  StoreFixed(at + format::kUuidAt, superblock.uuid);
  StoreFixed(at + format::kDeviceBytesAt, superblock.device_bytes);
  StoreFixed(at + format::kSectorBytesAt, superblock.sector_bytes);
  StoreFixed(at + format::kDataBlockBytesAt, superblock.parameters.data_block_bytes);
  StoreFixed(at + format::kCreatedAt, superblock.created_wall_nanos);
  superblock.label.copy(at + format::kLabelAt, superblock.label.size());
  StoreFixed(at + format::kManifestNumberAt, superblock.manifest.number);
  StoreFixed(at + format::kManifestBytesAt, superblock.manifest.bytes);
  StoreFixed(at + format::kManifestChecksumAt, superblock.manifest.checksum);
  StoreFixed(at + format::kManifestExtentsAt, static_cast<uint32_t>(superblock.manifest.extents.size()));
  char* entry = at + format::kExtentTableAt;
  for (const Extent& extent : superblock.manifest.extents) {
    StoreFixed(entry, extent.first_unit);
    StoreFixed(entry + 4, extent.units);
    entry += format::kExtentBytes;
  }
  StoreFixed(at + format::kChecksumAt, ChecksumOf(block, copy));
  return block;
}

Result<Superblock> DecodeSuperblock(std::string_view bytes, uint32_t copy) {
  Check(bytes.size() == format::kBytes, "a superblock copy is one block");
  const char* at = bytes.data();
  if (bytes.substr(format::kMagicAt, format::kMagic.size()) != format::kMagic) {
    return NotFound("no varve superblock");
  }
  if (LoadFixed<uint64_t>(at + format::kChecksumAt) != ChecksumOf(bytes, copy)) {
    return Corruption("superblock: checksum differs");
  }
  if (LoadFixed<uint32_t>(at + format::kCopyAt) != copy) {
    return Corruption("superblock: these are another copy's bytes");
  }
  Superblock superblock;
  superblock.format_version = LoadFixed<uint32_t>(at + format::kFormatVersionAt);
  superblock.incompat_features = LoadFixed<uint64_t>(at + format::kIncompatFeaturesAt);
  if (superblock.format_version > format::kFormatVersion ||
      superblock.format_version < format::kFormatVersionOfWholeKeys) {
    return Unsupported(
        fmt::format("the store has format {}, this varve knows formats {} to {}: use the varve that wrote it",
                    superblock.format_version, format::kFormatVersionOfWholeKeys, format::kFormatVersion));
  }
  const uint64_t unknown = superblock.incompat_features & ~format::kIncompatFeaturesKnown;
  if (unknown != 0) {
    return Unsupported(
        fmt::format("the store uses features unknown to this varve ({:#x}): use a newer one", unknown));
  }
  superblock.compat_features = LoadFixed<uint64_t>(at + format::kCompatFeaturesAt);
  superblock.read_only_features = LoadFixed<uint64_t>(at + format::kReadOnlyFeaturesAt);
  superblock.uuid = LoadFixed<Uuid>(at + format::kUuidAt);
  const std::string_view label = bytes.substr(format::kLabelAt, format::kLabelBytesMax);
  superblock.label = label.substr(0, label.find('\0'));
  superblock.device_bytes = LoadFixed<uint64_t>(at + format::kDeviceBytesAt);
  superblock.sector_bytes = LoadFixed<uint32_t>(at + format::kSectorBytesAt);
  superblock.created_wall_nanos = LoadFixed<int64_t>(at + format::kCreatedAt);
  superblock.generation = LoadFixed<uint64_t>(at + format::kGenerationAt);
  superblock.parameters.data_block_bytes = LoadFixed<uint32_t>(at + format::kDataBlockBytesAt);
  superblock.manifest.number = LoadFixed<uint64_t>(at + format::kManifestNumberAt);
  superblock.manifest.bytes = LoadFixed<uint64_t>(at + format::kManifestBytesAt);
  superblock.manifest.checksum = LoadFixed<uint64_t>(at + format::kManifestChecksumAt);
  const auto extents = LoadFixed<uint32_t>(at + format::kManifestExtentsAt);
  if (extents > format::kExtentsMax) {
    return Corruption("superblock: too many manifest extents");
  }
  for (uint32_t i = 0; i < extents; ++i) {
    const char* entry = at + format::kExtentTableAt + i * format::kExtentBytes;
    superblock.manifest.extents.push_back({LoadFixed<uint32_t>(entry), LoadFixed<uint32_t>(entry + 4)});
  }
  Status fields = CheckFields(superblock);
  if (!fields.ok()) {
    return fields.error();
  }
  return superblock;
}

Status CheckWritable(const Superblock& superblock) {
  const uint64_t unknown = superblock.read_only_features & ~format::kReadOnlyFeaturesKnown;
  if (unknown != 0) {
    return Unsupported(
        fmt::format("the store uses features that this varve can only read ({:#x}): mount it with -o ro, or "
                    "use a newer varve",
                    unknown));
  }
  return OkStatus();
}

}  // namespace varve
