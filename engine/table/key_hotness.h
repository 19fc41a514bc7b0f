// What a table's writer asks about the keys that it writes: how often each was updated of late. A measure by
// which tables are chosen, never needed for a right answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/base/counter_limit.h"

namespace varve {

class KeyHotness {
 public:
  // Of one key: the most that it can be (L2SM, section III-C: sum of 2^i over the layers i = 1..5).
  static constexpr uint64_t kMax = 62;
  // Of so many entries; of more than a store can have, no more than of as many as it can.
  static constexpr uint64_t MostOf(uint64_t entries) { return std::min(entries, kCounterMax) * kMax; }

  virtual ~KeyHotness() = default;
  // The sum over keys, given by their Hash64. Any thread.
  virtual uint64_t SumOf(const std::vector<uint64_t>& hashes) const = 0;
};

}  // namespace varve
