// FilterBudget: bits a key for the filters of each level, from what the levels hold at the moment (Monkey).
// Whoever writes a table asks for its level's; filters of tables that exist stay as they are until their
// table is written anew.
//
// Threads: Update from one at a time; the rest from any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "engine/version/version.h"

namespace varve {

class FilterBudget {
 public:
  // `bits_per_key`: what all filters may take, for each key that they have room for. `memtable_bytes`: what
  // comes into level 0, while it is empty.
  FilterBudget(double bits_per_key, uint64_t memtable_bytes);

  // Allocates anew.
  void Update(const Version& version);
  double BitsPerKeyOf(uint32_t level) const { return bits_[level].load(std::memory_order_relaxed); }

 private:
  const double bits_per_key_;
  const uint64_t memtable_bytes_;
  std::array<std::atomic<double>, kLevels> bits_;
};

}  // namespace varve
