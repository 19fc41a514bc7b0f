// ReadAheadMarks: how far each table has been read ahead of a walk that several iterators make, one after the
// other. Only a hint: what it says may be wrong at any time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/units.h"

namespace varve {

// One walk's; one caller at a time.
class ReadAheadMarks {
 public:
  // Of a table, that part of it which is walked by itself.
  struct Source {
    TableId table;
    uint64_t part = 0;
    bool operator==(const Source&) const = default;
  };

  // The offset in the table up to which reads were begun; 0: none were.
  uint64_t Of(const Source& source) const {
    const auto mark =
        std::find_if(marks_.begin(), marks_.end(), [&](const Mark& m) { return m.of == source; });
    return mark == marks_.end() ? 0 : mark->offset;
  }
  void Set(const Source& source, uint64_t offset) {
    const auto mark =
        std::find_if(marks_.begin(), marks_.end(), [&](const Mark& m) { return m.of == source; });
    if (mark != marks_.end()) {
      mark->offset = offset;
      return;
    }
    if (marks_.size() == kMarksMax) {
      marks_.erase(marks_.begin());
    }
    marks_.push_back({source, offset});
  }
  void Clear() { marks_.clear(); }

 private:
  struct Mark {
    Source of;
    uint64_t offset = 0;
  };
  // A walk reads from a few tables at a time.
  static constexpr size_t kMarksMax = 32;

  // The oldest first.
  std::vector<Mark> marks_;
};

}  // namespace varve
