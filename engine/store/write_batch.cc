#include <algorithm>

#include "engine/base/batch_records.h"
#include "engine/store/store.h"

namespace varve {

void WriteBatch::Put(std::string_view key, std::string_view value) {
  AppendPutRecord(records_, key, value);
  within_limits_ = within_limits_ && key.size() <= kKeyBytesMax && value.size() <= kValueBytesMax;
  only_deletes_ = false;
  count_++;
}

void WriteBatch::Delete(std::string_view key) {
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
