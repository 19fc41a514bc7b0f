// The records of a write batch as bytes: what a batch holds in memory, what the log stores
// (docs/on-disk/wal.md) and what the memtable applies, so that none of them encodes again. For each record:
//
//   kind             1 byte, RecordKind
//   key              varint length, bytes
//   value            varint length, bytes; absent for a tombstone; the end of the range for a range tombstone
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/internal_key.h"
#include "engine/base/result.h"

namespace varve {

struct BatchRecord {
  RecordKind kind = RecordKind::kTombstone;
  std::string_view key;
  // Empty for a tombstone. Of a range tombstone: the key behind the last one that it deletes.
  std::string_view value;
};

void AppendPutRecord(std::string& to, std::string_view key, std::string_view value);
void AppendDeleteRecord(std::string& to, std::string_view key);
// Precondition: begin < end.
void AppendDeleteRangeRecord(std::string& to, std::string_view begin, std::string_view end);

// Reads records off the front of bytes that may come from a device:
//
//   BatchRecordReader reader(records);
//   while (reader.Next()) { use(reader.record()); }
//   if (!reader.status().ok()) …
class BatchRecordReader {
 public:
  // `records` must outlive the reader and what it yields.
  explicit BatchRecordReader(std::string_view records) : at_(records.data()), end_(at_ + records.size()) {}

  // False at the end and at the first bad record; status() tells which. kCorruption: not a record, or beyond
  // the limits of engine/base/size_limits.h, or a range that holds nothing. kUnsupported: a kind that is
  // reserved.
  bool Next();
  const BatchRecord& record() const { return record_; }
  const Status& status() const { return status_; }

 private:
  bool ReadLengthPrefixed(size_t bytes_max, std::string_view& into);
  bool Fail();

  const char* at_;
  const char* end_;
  BatchRecord record_;
  Status status_;
};

// What a batch's records amount to; checks every one of them.
struct BatchRecordTotals {
  uint32_t records = 0;
  uint32_t tombstones = 0;
  uint32_t range_tombstones = 0;
  uint64_t user_bytes = 0;  // of keys and values
};
Result<BatchRecordTotals> CheckBatchRecords(std::string_view records);

}  // namespace varve
