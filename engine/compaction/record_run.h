// RecordRun: what a merge takes from above for one child table, in memory: so that it can be held against the
// child's index before a block is read or written.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/table/internal_iterator.h"

namespace varve {

// Not thread-safe. What it hands out is valid until it is destroyed: records never move.
class RecordRun {
 public:
  RecordRun() = default;
  RecordRun(RecordRun&&) = default;
  RecordRun& operator=(RecordRun&&) = default;

  // Internal keys in order. Copies. `standing`: of the block that the record comes from.
  void Add(std::string_view internal_key, std::string_view value,
           CacheStanding standing = CacheStanding::kAbsent);

  size_t size() const { return records_.size(); }
  bool empty() const { return records_.empty(); }
  std::string_view key(size_t i) const { return records_[i].key; }
  std::string_view value(size_t i) const { return records_[i].value; }
  CacheStanding standing(size_t i) const { return records_[i].standing; }
  // Keys and values.
  uint64_t bytes() const { return bytes_; }

 private:
  struct Record {
    std::string_view key;
    std::string_view value;
    CacheStanding standing;
  };

  std::string_view Copy(std::string_view bytes);

  std::vector<Record> records_;
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* free_ = nullptr;
  size_t free_bytes_ = 0;
  uint64_t bytes_ = 0;
};

// Over records [first, end) of `run`, and then over whatever `rest` still yields from where it stands,
// forward from there only; `rest` may be nullptr. SeekToFirst and Next alone are allowed. Both must outlive
// it.
std::unique_ptr<InternalIterator> NewRunIterator(const RecordRun& run, size_t first, size_t end,
                                                 InternalIterator* rest);

}  // namespace varve
