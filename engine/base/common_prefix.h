#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace varve {

// How many bytes both begin with.
inline size_t CommonPrefixOf(std::string_view a, std::string_view b) {
  static_assert(std::endian::native == std::endian::little);
  const size_t limit = std::min(a.size(), b.size());
  size_t i = 0;
  for (; i + sizeof(uint64_t) <= limit; i += sizeof(uint64_t)) {
    uint64_t of_a;
    uint64_t of_b;
    std::memcpy(&of_a, a.data() + i, sizeof(of_a));
    std::memcpy(&of_b, b.data() + i, sizeof(of_b));
    if (of_a != of_b) {
      return i + static_cast<size_t>(std::countr_zero(of_a ^ of_b)) / 8;
    }
  }
  while (i < limit && a[i] == b[i]) {
    ++i;
  }
  return i;
}

}  // namespace varve
