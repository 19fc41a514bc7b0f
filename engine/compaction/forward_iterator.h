// What a merge reads is walked once, from its first record on.
#pragma once

#include <string_view>

#include "engine/base/check.h"
#include "engine/table/internal_iterator.h"

namespace varve {

// Of the moves SeekToFirst and Next alone are allowed.
class ForwardIterator : public InternalIterator {
 public:
  Step Seek(std::string_view) final { return NoSuchMove(); }
  Step SeekForPrev(std::string_view) final { return NoSuchMove(); }
  Step SeekToLast() final { return NoSuchMove(); }
  Step Prev() final { return NoSuchMove(); }

 private:
  static Step NoSuchMove() {
    Check(false, "what a merge reads is walked from its first record on");
    return Step::kDone;
  }
};

}  // namespace varve
