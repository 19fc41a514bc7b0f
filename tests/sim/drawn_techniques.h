// Which techniques a store is opened with, each time anew: so tables that one has made are merged by another,
// or without any.
#pragma once

#include <cstdint>

#include "engine/base/prng.h"
#include "engine/store/store.h"

namespace varve::sim {

enum class Drawn : uint8_t { kNone, kBySeed };

// Draws from a stream of its own: what else a seed does, it does as without techniques.
class DrawnTechniques {
 public:
  DrawnTechniques(uint64_t seed, Drawn drawn)
      : random_(seed ^ 0x7ec4), any_(drawn == Drawn::kBySeed && !random_.OneIn(3)) {}

  Techniques Next() {
    Techniques techniques;
    if (any_) {
      techniques.block_merge = !random_.OneIn(3);
      techniques.append_merge = !random_.OneIn(3);
    }
    return techniques;
  }

 private:
  Prng random_;
  const bool any_;
};

}  // namespace varve::sim
