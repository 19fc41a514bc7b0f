// Keys and values of the benchmarks: keys of one size by number, values that cannot be compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/prng.h"

namespace varve {

inline constexpr size_t kBenchKeyBytesMin = 8;

// The key of record `number`: its double as eight big-endian bytes, so that keys sort by number and every
// other place between two of them is free, then zero digits up to `bytes`. `missing` gives the key of the
// free place after it. Precondition: bytes >= kBenchKeyBytesMin, number < 2^63.
void EncodeBenchKey(uint64_t number, bool missing, size_t bytes, std::string& key);

// Values are cut out of one random buffer, at changing places. One thread; a value is valid as long as the
// source.
class ValueSource {
 public:
  // Sizes are uniform in [bytes_min, bytes_max].
  ValueSource(size_t bytes_min, size_t bytes_max, uint64_t seed);
  std::string_view Next(Prng& random);

 private:
  size_t bytes_min_, bytes_max_;
  std::string buffer_;
  size_t at_ = 0;
};

}  // namespace varve
