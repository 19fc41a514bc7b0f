// Input: log start and the tables' sequence number (2 bytes each), the number of segments (1), for each its
// epoch and that epoch's first LSN (1 byte each); the rest is cut into equal pieces, the bytes of the
// segments.
#include "engine/base/batch_records.h"
#include "engine/space/layout.h"
#include "engine/wal/wal_reader.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/memory_device.h"

namespace varve::fuzz {

namespace {

constexpr uint32_t kSectorBytes = 512;
constexpr uint32_t kSegmentUnits = 2;
constexpr size_t kSegmentsMax = 4;

Task<void> ReadWhole(BlockDevice& device, WalReaderOptions options) {
  WalReader reader(device, std::move(options));
  while (true) {
    const Result<std::optional<WalGroup>> group = co_await reader.Next();
    if (!group.ok()) {
      co_return;
    }
    if (!group->has_value()) {
      (void)reader.end();
      co_return;
    }
    BatchRecordReader records((*group)->records);
    while (records.Next()) {
    }
    (void)CheckBatchRecords((*group)->records);
  }
}

struct SeedGroup {
  uint64_t lsn;
  uint64_t epoch;
  uint64_t flushed;
  uint64_t first_sequence;
};

// Two records each, behind the segment's header.
std::string SegmentOf(uint64_t number, const std::vector<SeedGroup>& groups) {
  WalSegmentHeader segment;
  segment.segment_number = number;
  segment.segment_bytes = uint64_t{kSegmentUnits} * kExtentUnitBytes;
  segment.sector_bytes = kSectorBytes;
  std::string bytes(kSectorBytes, '\0');
  segment.Encode(bytes.data());
  for (const SeedGroup& seed : groups) {
    std::string records;
    AppendPutRecord(records, "key", std::string(40, 'v'));
    AppendDeleteRecord(records, "other");
    WalGroupHeader header{.lsn = Lsn(seed.lsn),
                          .epoch = RecoveryEpoch(seed.epoch),
                          .flushed_lsn = Lsn(seed.flushed),
                          .first_sequence = SequenceNumber(seed.first_sequence),
                          .record_count = 2,
                          .payload_bytes = static_cast<uint32_t>(records.size()),
                          .payload_checksum = WalPayloadChecksum(records, 0, 0)};
    const size_t at = bytes.size();
    bytes.resize(at + header.bytes_on_device(kSectorBytes));
    header.Encode(bytes.data() + at, 0, 0);
    records.copy(bytes.data() + at + WalGroupHeader::kBytes, records.size());
  }
  return bytes;
}

std::string Seed(uint64_t log_start, uint64_t tables,
                 const std::vector<std::pair<uint64_t, uint64_t>>& epochs,
                 std::vector<std::string> segments) {
  std::string seed;
  AppendNumber(seed, log_start, 2);
  AppendNumber(seed, tables, 2);
  AppendNumber(seed, epochs.size(), 1);
  size_t bytes = 0;
  for (size_t i = 0; i < epochs.size(); ++i) {
    AppendNumber(seed, epochs[i].first, 1);
    AppendNumber(seed, epochs[i].second, 1);
    bytes = std::max(bytes, segments[i].size());
  }
  for (std::string& segment : segments) {
    segment.resize(bytes);
    seed += segment;
  }
  return seed;
}

}  // namespace

void RunWal(std::string_view input) {
  InputReader reader(input);
  WalReaderOptions options;
  options.log_start = Lsn(reader.Number(2));
  options.tables_sequence = SequenceNumber(reader.Number(2));
  const size_t count = reader.Number(1) % (kSegmentsMax + 1);
  for (uint64_t i = 0; i < count; ++i) {
    const RecoveryEpoch epoch(reader.Number(1));
    const Lsn first(reader.Number(1));
    options.segments.push_back(
        {i + 1, {static_cast<uint32_t>(1 + i * kSegmentUnits), kSegmentUnits}, epoch, first});
  }
  Machine machine;
  MemoryDevice device(kDeviceBytesMin, kSectorBytes);
  const size_t piece = reader.rest().size() / std::max<size_t>(count, 1);
  for (const WalSegment& segment : options.segments) {
    device.Poke(segment.extent.offset().value, reader.Bytes(std::min<size_t>(piece, segment.extent.bytes())));
  }
  machine.Run(ReadWhole(device, options));
  options.end_at_damage = true;
  machine.Run(ReadWhole(device, std::move(options)));
}

std::vector<std::string> WalSeeds() {
  return {
      Seed(1, 0, {{1, 1}}, {SegmentOf(1, {{1, 1, 0, 1}, {2, 1, 1, 3}, {3, 1, 1, 5}})}),
      Seed(1, 2, {{1, 1}, {1, 1}}, {SegmentOf(1, {{1, 1, 0, 1}}), SegmentOf(2, {{2, 1, 1, 3}})}),
      Seed(1, 0, {{1, 1}, {2, 2}},
           {SegmentOf(1, {{1, 1, 0, 1}, {2, 1, 0, 3}}), SegmentOf(2, {{2, 2, 1, 3}})}),
      Seed(2, 9, {{1, 1}, {3, 2}, {3, 2}},
           {SegmentOf(1, {}), SegmentOf(2, {{2, 3, 1, 10}}), SegmentOf(3, {})}),
  };
}

}  // namespace varve::fuzz
