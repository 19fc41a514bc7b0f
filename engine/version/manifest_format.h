// How the manifest lies on the device. Format and its reasons: docs/on-disk/manifest.md.
//
// The manifest is a byte space over the extents that the superblock names: a snapshot, then edits, one record
// each. A record is one or more whole sectors. Every sector begins with a header that says which record and
// which part of it it is, and has a checksum bound to the store, to this manifest and to the sector's place.
// The extents are zeroed before the superblock names them, and each sector is written once (the last
// record again by recovery, the same bytes): so a sector is either zero (never written), or good, or damaged.
// That tells a torn record, which was never acknowledged, from a damaged one, which was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/coding.h"
#include "engine/space/superblock.h"

namespace varve::manifest_format {

// The header of a sector.
inline constexpr size_t kChecksumAt = 0;  // u64, XXH3 of the rest of the sector
inline constexpr size_t kRecordAt = 8;    // u32, number of the record in this manifest, from 0
inline constexpr size_t kPartAt = 12;     // u16, which sector of the record this is, from 0
inline constexpr size_t kPartsAt = 14;    // u16, how many sectors the record has; never 0
inline constexpr size_t kSectorHeaderBytes = 16;

// The sectors' contents, one behind the other, are the record: a header, the payload, zeros.
inline constexpr size_t kPayloadBytesAt = 0;  // u32
inline constexpr size_t kKindAt = 4;          // u8, then three zero bytes
inline constexpr size_t kRecordHeaderBytes = 8;

enum class RecordKind : uint8_t {
  kSnapshot = 1,  // a version edit that builds a part of the snapshot
  kEdit = 2,      // a version edit
};

inline constexpr size_t kPartsMax = 0xffff;

// What every checksum of one manifest is seeded with.
uint64_t Seed(const Uuid& store, uint64_t manifest_number);

// The largest payload of one record.
inline constexpr size_t PayloadBytesMax(size_t sector_bytes) {
  return kPartsMax * (sector_bytes - kSectorHeaderBytes) - kRecordHeaderBytes;
}
// What a record takes on the device.
inline constexpr uint64_t RecordBytes(size_t payload_bytes, size_t sector_bytes) {
  return CeilDiv(kRecordHeaderBytes + payload_bytes, sector_bytes - kSectorHeaderBytes) * sector_bytes;
}

// The sectors of a record that begins at byte `position` of the manifest. Precondition: the payload fits.
std::string EncodeRecord(uint64_t seed, uint64_t position, uint32_t record, RecordKind kind,
                         std::string_view payload, size_t sector_bytes);

struct Sector {
  enum class State : uint8_t { kUnwritten, kGood, kDamaged };
  State state = State::kDamaged;
  // The rest: of a good sector.
  uint64_t checksum = 0;
  uint32_t record = 0;
  uint16_t part = 0;
  uint16_t parts = 0;
  std::string_view content;
};
Sector DecodeSector(uint64_t seed, uint64_t position, std::string_view bytes);

}  // namespace varve::manifest_format
