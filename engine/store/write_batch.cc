#include <algorithm>

#include "engine/base/batch_records.h"
#include "engine/store/store.h"

namespace varve {

namespace {

// A batch mostly has a second record or a third, and those are mostly small.
constexpr size_t kRoomForMore = 256;

// Before the first record: appending alone would allocate anew each time that the size doubles.
void MakeRoom(std::string& records, size_t bytes) {
  if (records.empty()) {
    records.reserve(bytes + kRoomForMore);
  }
}

}  // namespace

void WriteBatch::Put(std::string_view key, std::string_view value) {
  MakeRoom(records_, key.size() + value.size());
  AppendPutRecord(records_, key, value);
  within_limits_ = within_limits_ && key.size() <= kKeyBytesMax && value.size() <= kValueBytesMax;
  only_deletes_ = false;
  count_++;
}

void WriteBatch::Delete(std::string_view key) {
  MakeRoom(records_, key.size());
  AppendDeleteRecord(records_, key);
  within_limits_ = within_limits_ && key.size() <= kKeyBytesMax;
  count_++;
  deletes_++;
}

void WriteBatch::DeleteRange(std::string_view begin, std::string_view end) {
  if (begin >= end) {
    return;
  }
  AppendDeleteRangeRecord(records_, begin, end);
  within_limits_ = within_limits_ && begin.size() <= kKeyBytesMax && end.size() <= kKeyBytesMax;
  count_++;
  range_deletes_++;
}

void WriteBatch::Clear() {
  records_.clear();
  count_ = 0;
  deletes_ = 0;
  range_deletes_ = 0;
  only_deletes_ = true;
  marked_frees_space_ = false;
  within_limits_ = true;
}

}  // namespace varve
