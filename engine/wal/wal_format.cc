#include "engine/wal/wal_format.h"

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/base/counter_limit.h"

namespace varve {

namespace {

constexpr uint64_t kSegmentMagic = 0x4c41574556524156U;  // "VARVEWAL"
constexpr uint32_t kGroupMagic = 0x70726756U;            // "Vgrp"

// Offsets, as docs/on-disk/wal.md has them.
struct SegmentField {
  static constexpr size_t kMagic = 0, kStoreUuid = 8, kNumber = 24, kSegmentBytes = 32, kEpoch = 40,
                          kEpochFirstLsn = 48, kFirstLsn = 56, kSectorBytes = 64, kReserved = 68,
                          kChecksum = 72;
};
static_assert(SegmentField::kChecksum + sizeof(uint64_t) == WalSegmentHeader::kBytes);

struct GroupField {
  static constexpr size_t kMagic = 0, kRecordCount = 4, kLsn = 8, kEpoch = 16, kFlushedLsn = 24,
                          kFirstSequence = 32, kPayloadBytes = 40, kReserved = 44, kPayloadChecksum = 48,
                          kChecksum = 56;
};
static_assert(GroupField::kChecksum + sizeof(uint64_t) == WalGroupHeader::kBytes);

// Both headers fit the smallest sector: they are never torn.
static_assert(WalSegmentHeader::kBytes <= 512 && WalGroupHeader::kBytes <= 512);

uint64_t HeaderChecksum(const char* header, size_t checksum_at, uint64_t seed) {
  return Checksum64(std::string_view(header, checksum_at), seed);
}

}  // namespace

uint64_t WalSegmentSeed(const Uuid& store_uuid, uint64_t segment_number) {
  return Checksum64(std::string_view(reinterpret_cast<const char*>(store_uuid.data()), store_uuid.size()),
                    segment_number);
}

uint64_t WalPayloadChecksum(std::string_view payload, uint64_t seed, uint64_t position) {
  return Checksum64(payload, seed + position);
}

void WalSegmentHeader::Encode(char* to) const {
  StoreFixed(to + SegmentField::kMagic, kSegmentMagic);
  std::memcpy(to + SegmentField::kStoreUuid, store_uuid.data(), store_uuid.size());
  StoreFixed(to + SegmentField::kNumber, segment_number);
  StoreFixed(to + SegmentField::kSegmentBytes, segment_bytes);
  StoreFixed(to + SegmentField::kEpoch, epoch.value);
  StoreFixed(to + SegmentField::kEpochFirstLsn, epoch_first_lsn.value);
  StoreFixed(to + SegmentField::kFirstLsn, first_lsn.value);
  StoreFixed(to + SegmentField::kSectorBytes, sector_bytes);
  StoreFixed(to + SegmentField::kReserved, uint32_t{0});
  StoreFixed(to + SegmentField::kChecksum,
             HeaderChecksum(to, SegmentField::kChecksum, WalSegmentSeed(store_uuid, segment_number)));
}

WalSegmentHeader WalSegmentHeader::Of(const WalSegment& segment, const Uuid& store_uuid, Lsn first_lsn,
                                      uint32_t sector_bytes) {
  WalSegmentHeader header;
  header.store_uuid = store_uuid;
  header.segment_number = segment.number;
  header.segment_bytes = segment.extent.bytes();
  header.epoch = segment.epoch;
  header.epoch_first_lsn = segment.epoch_first_lsn;
  header.first_lsn = first_lsn;
  header.sector_bytes = sector_bytes;
  return header;
}

std::optional<WalSegmentHeader> WalSegmentHeader::Decode(std::string_view bytes, const Uuid& store_uuid,
                                                         uint64_t segment_number) {
  if (bytes.size() < kBytes) {
    return std::nullopt;
  }
  const char* const from = bytes.data();
  if (LoadFixed<uint64_t>(from + SegmentField::kMagic) != kSegmentMagic ||
      LoadFixed<uint64_t>(from + SegmentField::kNumber) != segment_number ||
      LoadFixed<uint64_t>(from + SegmentField::kChecksum) !=
          HeaderChecksum(from, SegmentField::kChecksum, WalSegmentSeed(store_uuid, segment_number))) {
    return std::nullopt;
  }
  WalSegmentHeader header;
  header.store_uuid = store_uuid;
  header.segment_number = segment_number;
  header.segment_bytes = LoadFixed<uint64_t>(from + SegmentField::kSegmentBytes);
  header.epoch = RecoveryEpoch(LoadFixed<uint64_t>(from + SegmentField::kEpoch));
  header.epoch_first_lsn = Lsn(LoadFixed<uint64_t>(from + SegmentField::kEpochFirstLsn));
  header.first_lsn = Lsn(LoadFixed<uint64_t>(from + SegmentField::kFirstLsn));
  header.sector_bytes = LoadFixed<uint32_t>(from + SegmentField::kSectorBytes);
  return header;
}

void WalGroupHeader::Encode(char* to, uint64_t seed, uint64_t position) const {
  StoreFixed(to + GroupField::kMagic, kGroupMagic);
  StoreFixed(to + GroupField::kRecordCount, record_count);
  StoreFixed(to + GroupField::kLsn, lsn.value);
  StoreFixed(to + GroupField::kEpoch, epoch.value);
  StoreFixed(to + GroupField::kFlushedLsn, flushed_lsn.value);
  StoreFixed(to + GroupField::kFirstSequence, first_sequence.value);
  StoreFixed(to + GroupField::kPayloadBytes, payload_bytes);
  StoreFixed(to + GroupField::kReserved, uint32_t{0});
  StoreFixed(to + GroupField::kPayloadChecksum, payload_checksum);
  StoreFixed(to + GroupField::kChecksum, HeaderChecksum(to, GroupField::kChecksum, seed + position));
}

std::optional<WalGroupHeader> WalGroupHeader::Decode(std::string_view bytes, uint64_t seed,
                                                     uint64_t position) {
  if (bytes.size() < kBytes) {
    return std::nullopt;
  }
  const char* const from = bytes.data();
  if (LoadFixed<uint32_t>(from + GroupField::kMagic) != kGroupMagic ||
      LoadFixed<uint64_t>(from + GroupField::kChecksum) !=
          HeaderChecksum(from, GroupField::kChecksum, seed + position)) {
    return std::nullopt;
  }
  WalGroupHeader header;
  header.record_count = LoadFixed<uint32_t>(from + GroupField::kRecordCount);
  header.lsn = Lsn(LoadFixed<uint64_t>(from + GroupField::kLsn));
  header.epoch = RecoveryEpoch(LoadFixed<uint64_t>(from + GroupField::kEpoch));
  header.flushed_lsn = Lsn(LoadFixed<uint64_t>(from + GroupField::kFlushedLsn));
  header.first_sequence = SequenceNumber(LoadFixed<uint64_t>(from + GroupField::kFirstSequence));
  header.payload_bytes = LoadFixed<uint32_t>(from + GroupField::kPayloadBytes);
  header.payload_checksum = LoadFixed<uint64_t>(from + GroupField::kPayloadChecksum);
  // A header that verifies but could not have been written: taken for none, so that nobody computes with it.
  if (header.record_count == 0 || header.payload_bytes > kWalPayloadBytesMax || header.lsn.value == 0 ||
      header.lsn.value > kCounterMax || header.flushed_lsn >= header.lsn ||
      header.first_sequence.value > kCounterMax) {
    return std::nullopt;
  }
  return header;
}

}  // namespace varve
