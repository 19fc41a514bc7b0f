#include "engine/base/batch_records.h"

#include <fmt/core.h>

#include "engine/base/coding.h"
#include "engine/base/size_limits.h"

namespace varve {

void AppendPutRecord(std::string& to, std::string_view key, std::string_view value) {
  to.push_back(static_cast<char>(RecordKind::kValue));
  AppendLengthPrefixed(to, key);
  AppendLengthPrefixed(to, value);
}

void AppendDeleteRecord(std::string& to, std::string_view key) {
  to.push_back(static_cast<char>(RecordKind::kTombstone));
  AppendLengthPrefixed(to, key);
}

void AppendDeleteRangeRecord(std::string& to, std::string_view begin, std::string_view end) {
  to.push_back(static_cast<char>(RecordKind::kRangeTombstone));
  AppendLengthPrefixed(to, begin);
  AppendLengthPrefixed(to, end);
}

bool BatchRecordReader::ReadLengthPrefixed(size_t bytes_max, std::string_view& into) {
  // Both limits fit four bytes of a varint, so a fifth is never read.
  uint64_t length = 0;
  for (unsigned shift = 0;; shift += 7) {
    if (at_ == end_ || shift > 21) {
      return false;
    }
    const auto byte = static_cast<uint8_t>(*at_++);
    length |= uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) {
      break;
    }
  }
  if (length > bytes_max || length > static_cast<size_t>(end_ - at_)) {
    return false;
  }
  into = std::string_view(at_, length);
  at_ += length;
  return true;
}

bool BatchRecordReader::Fail() {
  status_ = Corruption("a batch of records is malformed");
  at_ = end_;
  return false;
}

bool BatchRecordReader::Next() {
  if (at_ == end_) {
    return false;
  }
  record_.kind = static_cast<RecordKind>(*at_++);
  switch (record_.kind) {
    case RecordKind::kTombstone:
      record_.value = {};
      return ReadLengthPrefixed(kKeyBytesMax, record_.key) || Fail();
    case RecordKind::kValue:
      if (!ReadLengthPrefixed(kKeyBytesMax, record_.key) ||
          !ReadLengthPrefixed(kValueBytesMax, record_.value)) {
        return Fail();
      }
      return true;
    case RecordKind::kRangeTombstone:
      return (ReadLengthPrefixed(kKeyBytesMax, record_.key) &&
              ReadLengthPrefixed(kKeyBytesMax, record_.value) && record_.key < record_.value) ||
             Fail();
    case RecordKind::kLargeValuePointer:
      status_ = Unsupported(fmt::format("a batch holds a record of kind {}", static_cast<int>(record_.kind)));
      at_ = end_;
      return false;
  }
  return Fail();
}

Result<BatchRecordTotals> CheckBatchRecords(std::string_view records) {
  BatchRecordTotals totals;
  BatchRecordReader reader(records);
  while (reader.Next()) {
    totals.records++;
    totals.tombstones += reader.record().kind == RecordKind::kTombstone ? 1 : 0;
    totals.range_tombstones += reader.record().kind == RecordKind::kRangeTombstone ? 1 : 0;
    totals.user_bytes += reader.record().key.size() + reader.record().value.size();
  }
  if (!reader.status().ok()) {
    return reader.status().error();
  }
  return totals;
}

}  // namespace varve
