// Where each field of a superblock copy lies: docs/on-disk/superblock.md; where the copies lie:
// docs/on-disk/layout.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace varve::superblock_format {

// One copy is one 4096-byte block whatever the sector size, so that the layout does not depend on it.
inline constexpr size_t kBytes = 4096;

// The control characters tell damage by text-mode transfers, as in PNG's signature.
inline constexpr std::string_view kMagic{"varve\x1a\r\n", 8};

inline constexpr size_t kMagicAt = 0;
inline constexpr size_t kChecksumAt = 8;  // u64, XXH3 of everything behind it, seeded with the copy's number
inline constexpr size_t kFormatVersionAt = 16;     // u32
inline constexpr size_t kCopyAt = 20;              // u32, which copy this is
inline constexpr size_t kGenerationAt = 24;        // u64
inline constexpr size_t kCompatFeaturesAt = 32;    // u64
inline constexpr size_t kReadOnlyFeaturesAt = 40;  // u64
inline constexpr size_t kIncompatFeaturesAt = 48;  // u64
inline constexpr size_t kUuidAt = 56;              // 16 bytes
inline constexpr size_t kDeviceBytesAt = 72;       // u64
inline constexpr size_t kSectorBytesAt = 80;       // u32
inline constexpr size_t kDataBlockBytesAt = 84;    // u32
inline constexpr size_t kCreatedAt = 96;           // i64, nanoseconds since the epoch
inline constexpr size_t kLabelAt = 104;            // 64 bytes, zero-padded
inline constexpr size_t kLabelBytesMax = 64;
inline constexpr size_t kManifestNumberAt = 168;    // u64
inline constexpr size_t kManifestBytesAt = 176;     // u64
inline constexpr size_t kManifestChecksumAt = 184;  // u64
inline constexpr size_t kManifestExtentsAt = 192;   // u32, how many of the following are used
inline constexpr size_t kExtentTableAt = 2048;      // (u32 first unit, u32 units) each
inline constexpr size_t kExtentBytes = 8;
inline constexpr size_t kExtentsMax = 256;
static_assert(kLabelAt + kLabelBytesMax == kManifestNumberAt);
static_assert(kExtentTableAt + kExtentsMax * kExtentBytes == kBytes);

inline constexpr uint32_t kFormatVersion = 4;
// The two before are used as they are: who knows no later one finds what he knows (docs/on-disk/table.md).
inline constexpr uint32_t kFormatVersionWithoutOutlines = 3;
inline constexpr uint32_t kFormatVersionOfWholeKeys = 2;
// Features that this version knows. A store with other bits may be used in spite of them (compat), read only
// (read-only compat), or not at all (incompat).
inline constexpr uint64_t kReadOnlyFeaturesKnown = 0;
inline constexpr uint64_t kIncompatFeaturesKnown = 0;

}  // namespace varve::superblock_format
