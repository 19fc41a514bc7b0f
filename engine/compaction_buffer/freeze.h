// Freeze: a level into which mostly new versions of what it holds are merged has no use for a buffer. What is
// buffered there is soon obsolete and cannot be dropped record by record, while it takes space on the device
// and in the cache (LSbM, section 4.1).
#pragma once

#include <array>
#include <cstdint>

#include "engine/version/version.h"

namespace varve {

// Counts, for each level, how many of the records that merges bring down replace what is there. The paper
// freezes a level at the first repeated record of a merge round; here rounds have no beginning, and a level
// is frozen while most of what came of late was repeated.
//
// Threads: one at a time.
class RepeatMeter {
 public:
  // A merge brought `arrived` records into `level`, and left out `dropped` of them or of those that were
  // there.
  void Add(uint32_t level, uint64_t arrived, uint64_t dropped);
  bool frozen(uint32_t level) const { return levels_[level].frozen; }

 private:
  struct OfLevel {
    double arrived = 0;
    double repeated = 0;
    bool frozen = false;
  };
  std::array<OfLevel, kLevels> levels_;
};

}  // namespace varve
