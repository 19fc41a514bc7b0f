// WalReader: what the log holds, in order, after a crash or on a store at rest.
//
// Groups are dense in LSN. Where the next one is missing or bad the log ends, unless something proves that it
// was durable: a later group of its epoch that knew a flushed LSN at or above it, or a later epoch. Then it
// is damage, and kCorruption. Groups of an older epoch at or above the first LSN of a newer one are remnants:
// never yielded. An I/O error is an error, never the end. (All but where WalReaderOptions::end_at_damage
// says.)
//
// What was read need not be durable. An earlier process may have left it in the device's cache; when a flush
// failed then, later flushes succeed and bring nothing back. So before a new epoch builds upon the log, what
// nothing in it proves to be durable is written again.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/units.h"
#include "engine/device/aligned_buffer.h"
#include "engine/device/block_device.h"
#include "engine/ring/task.h"
#include "engine/wal/wal_format.h"
#include "engine/wal/wal_segment.h"
#include "engine/wal/wal_writer.h"

namespace varve {

struct WalReaderOptions {
  Uuid store_uuid{};
  // From the manifest, oldest first.
  std::vector<WalSegment> segments;
  // Where the first of them starts, from the manifest (WalWriter::Releasable); 0 or earlier: at its epoch's
  // first LSN.
  Lsn log_start;
  // Everything up to here is in tables: the log must not begin later than just above it, and may lack any of
  // it.
  SequenceNumber tables_sequence;
  // The log ends before the first group that is damaged or cannot be read, instead of giving an error: what
  // was written after it is lost.
  bool end_at_damage = false;
  IoPurpose purpose = IoPurpose::kRecovery;
};

struct WalGroup {
  WalGroupHeader header;
  // As engine/base/batch_records.h has it; the checksum has been verified, the records have not been looked
  // at. Valid until the next call.
  std::string_view records;
  WalSegment segment;
  uint64_t position = 0;  // in the segment
};

struct WalEnd {
  Lsn next_lsn{1};
  // Of the last record in the log; WalReaderOptions::tables_sequence when that is larger.
  SequenceNumber last_sequence;
  // One for each segment, for WalWriterOptions.
  std::vector<WalClosedSegment> segments;
  // With end_at_damage: the error that ended it. Empty where the log ends by itself.
  std::string damage;
};

// Only WriteAgain() writes. One coroutine at a time.
class WalReader {
 public:
  // `device` must outlive it.
  WalReader(BlockDevice& device, WalReaderOptions options);

  // The next group; nullopt where the log ends. Errors: kCorruption, kDeviceError; the same again when called
  // again.
  Task<Result<std::optional<WalGroup>>> Next();
  // Precondition: Next() has answered nullopt.
  const WalEnd& end() const;
  // Writes the groups that may not be durable again, in place and the same bytes, and the headers of the
  // segments that begin with one: a flush that succeeds after that makes the whole log durable. Holds no more
  // memory than Next(). Precondition: Next() has answered nullopt. Errors: kDeviceError; kCorruption: a group
  // was not there any more, and nothing was written in its place.
  Task<Status> WriteAgain();

 private:
  // Where the next group is looked for.
  struct Place {
    size_t segment = 0;  // in options_.segments
    uint64_t position = 0;
  };

  // Groups that lie one behind the other in one segment, no more than one window holds.
  struct Run {
    Place place;
    uint64_t bytes = 0;
    Lsn first_lsn;
    Lsn last_lsn;
  };

  Task<Result<std::optional<WalGroup>>> Find();
  // The group `lsn` if it is there and whole.
  Task<Result<std::optional<WalGroup>>> GroupAt(Place place, Lsn lsn);
  // The largest flushed LSN that a header names between `place` and the end of its epoch's segments.
  Task<Result<Lsn>> FlushedLsnBeyond(Place place);
  // `bytes` bytes of the segment from `place` on; nullopt when it ends before. Valid until the next call.
  Task<Result<std::optional<std::string_view>>> Load(Place place, uint64_t bytes);

  Result<std::optional<WalGroup>> Accept(const WalGroup& group, size_t segment);
  // Keeps unproven_ as it is described.
  void Remember(const WalGroup& group, Place place);
  Task<Status> WriteAgain(const Run& run);
  Task<Status> WriteSegmentHeader(const WalSegment& segment, Lsn first_lsn);
  Error Missing(std::string_view proof) const;
  // The first segment of a newer epoch behind `segment`; the number of segments when there is none.
  size_t NewerEpochBehind(size_t segment) const;
  void End();

  BlockDevice& device_;
  const WalReaderOptions options_;
  const uint32_t sector_bytes_;

  Place place_;
  Lsn first_lsn_;
  Lsn next_lsn_;
  // What the next group begins with at least; disengaged at the first of the log and of an epoch.
  std::optional<SequenceNumber> next_sequence_;
  bool ended_ = false;
  Status failure_;
  WalEnd end_;
  // Every group up to here was durable when some group or segment that was written later was made.
  Lsn proven_lsn_;
  // All groups above that were yielded, in order; of the first run some may lie below.
  std::deque<Run> unproven_;

  // A part of one segment.
  AlignedBuffer window_;
  Place window_place_;
  uint64_t window_bytes_ = 0;
};

}  // namespace varve
