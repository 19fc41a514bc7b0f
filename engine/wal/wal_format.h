// How the write-ahead log lies on the device: docs/on-disk/wal.md.
//
// A segment begins with one sector of segment header. Commit groups follow, each at a sector boundary, LSN by
// LSN, until the next one does not fit; the log goes on in the next segment. Nothing in a group depends on
// the segment header: a group says itself where it belongs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/base/size_limits.h"
#include "engine/base/units.h"
#include "engine/space/superblock.h"
#include "engine/wal/wal_segment.h"

namespace varve {

// What every checksum of a segment starts from: store and segment number, so that groups of another store, of
// an earlier use of the space, or written to the wrong segment do not verify. A group adds its position.
uint64_t WalSegmentSeed(const Uuid& store_uuid, uint64_t segment_number);

struct WalSegmentHeader {
  static constexpr size_t kBytes = 80;

  Uuid store_uuid{};
  uint64_t segment_number = 0;
  uint64_t segment_bytes = 0;
  RecoveryEpoch epoch;
  Lsn epoch_first_lsn;
  Lsn first_lsn;  // of the group that was written with it
  uint32_t sector_bytes = 0;

  // Of `segment`, whose first group is `first_lsn`.
  static WalSegmentHeader Of(const WalSegment& segment, const Uuid& store_uuid, Lsn first_lsn,
                             uint32_t sector_bytes);
  // `to` holds at least kBytes.
  void Encode(char* to) const;
  // nullopt: no header of this store's segment `number`.
  static std::optional<WalSegmentHeader> Decode(std::string_view bytes, const Uuid& store_uuid,
                                                uint64_t segment_number);
};

struct WalGroupHeader {
  static constexpr size_t kBytes = 64;

  Lsn lsn;
  RecoveryEpoch epoch;
  // Every group up to this one was durable when this header was made: a gap at or below it is damage, not the
  // end.
  Lsn flushed_lsn;
  // The records take the numbers from here on.
  SequenceNumber first_sequence;
  uint32_t record_count = 0;
  uint32_t payload_bytes = 0;
  uint64_t payload_checksum = 0;

  SequenceNumber last_sequence() const { return SequenceNumber(first_sequence.value + record_count - 1); }
  uint64_t bytes_on_device(uint32_t sector_bytes) const {
    return RoundUp(kBytes + payload_bytes, sector_bytes);
  }

  // `position` is in the segment; `seed` is WalSegmentSeed.
  void Encode(char* to, uint64_t seed, uint64_t position) const;
  // nullopt: no header of a group at this place.
  static std::optional<WalGroupHeader> Decode(std::string_view bytes, uint64_t seed, uint64_t position);
};

uint64_t WalPayloadChecksum(std::string_view payload, uint64_t seed, uint64_t position);

// One batch always fits one group.
inline constexpr size_t kWalPayloadBytesMax = kBatchBytesMax;
inline constexpr size_t kWalGroupBytesMax = RoundUp(WalGroupHeader::kBytes + kWalPayloadBytesMax, 4096);

}  // namespace varve
