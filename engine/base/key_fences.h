// KeyFences: eight bytes of each of many sorted keys, side by side. A search among the keys themselves waits
// for memory at every step, twice where a table holds its key in a string; among these it does not, and what
// is left to compare whole is a key or two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace varve {

class KeyFences {
 public:
  // Positions, of which `end` is behind the last.
  struct Range {
    size_t first = 0;
    size_t end = 0;
  };

  KeyFences() = default;
  // Of keys in ascending order, some of which may be equal; they are not held on to.
  explicit KeyFences(std::span<const std::string_view> keys);

  size_t size() const { return eights_.size(); }
  // The keys before the range are smaller than `key`, those behind it larger; those within must be compared.
  Range Near(std::string_view key) const;
  // The first key that is not before `key` (or size()). `is_before(i)`: whether the key at position i is
  // smaller than `key`, which is asked of those within Near alone.
  template <typename IsBefore>
  size_t LowerBound(std::string_view key, IsBefore is_before) const {
    const Range near = Near(key);
    size_t i = near.first;
    for (size_t left = near.end - near.first; left > 0;) {
      const size_t half = left / 2;
      if (is_before(i + half)) {
        i += half + 1;
        left -= half + 1;
      } else {
        left = half;
      }
    }
    return i;
  }

 private:
  // What all keys begin with, and of each the eight bytes behind that, zeros where it is shorter: read as a
  // number they keep the keys' order, but keys may be equal in them.
  std::string common_;
  std::vector<uint64_t> eights_;
};

}  // namespace varve
