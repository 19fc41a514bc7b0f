// Seeded random numbers (xoshiro256**, Blackman and Vigna 2018; seeded by SplitMix64): the same on every
// machine.
#pragma once

#include <cstdint>

namespace varve {

class Prng {
 public:
  explicit Prng(uint64_t seed);

  uint64_t Next();
  // Uniform in [0, bound). Precondition: bound > 0.
  uint64_t Below(uint64_t bound);
  // Uniform in [low, high].
  uint64_t Between(uint64_t low, uint64_t high) { return low + Below(high - low + 1); }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  // Uniform in [0, 1).
  double NextDouble() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_[4];
};

}  // namespace varve
