// KeyFences: eight bytes of each of many sorted keys, side by side. A search among the keys themselves waits
// for memory at every step, twice where a table holds its key in a string; among these it waits once for each
// factor of eight in their number, and what is left to compare whole is a key or two.
#pragma once

#include <array>
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

  size_t size() const { return size_; }
  // The keys before the range are smaller than `key`, those behind it larger; those within must be compared.
  Range Near(std::string_view key) const;
  // The first key that is not before `key` (or size()). `is_before(i)`: whether the key at position i is
  // smaller than `key`, which is asked of those within Near alone.
  template <typename IsBefore>
  size_t LowerBound(std::string_view key, IsBefore is_before) const {
    return LowerBoundWithin(Near(key), is_before);
  }
  // The same, where `near` is Near(key).
  template <typename IsBefore>
  static size_t LowerBoundWithin(Range near, IsBefore is_before) {
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
  static constexpr size_t kLineEights = 8;
  // As many as 2^32 lines have, and more than fit into memory.
  static constexpr size_t kLayersMax = 11;
  // A cache line.
  struct alignas(64) Line {
    std::array<uint64_t, kLineEights> eights;
  };

  uint64_t EightAt(size_t i) const { return lines_[i / kLineEights].eights[i % kLineEights]; }

  // What all keys begin with, and of each the eight bytes behind that, zeros where it is shorter: read as a
  // number they keep the keys' order, but keys may be equal in them.
  std::string common_;
  size_t size_ = 0;
  // Of the last key.
  uint64_t last_eight_ = 0;
  // A static search tree: the eights of all keys; behind them the last of each of their lines; behind these
  // the last of each of those lines, and so on up to a single line. Each of these layers begins with a line,
  // and what is left of its last line is filled with the largest number.
  std::vector<Line> lines_;
  // Where each of the `layers_` layers begins in lines_, the lowest first.
  std::array<uint32_t, kLayersMax> layer_begins_{};
  uint32_t layers_ = 0;
};

}  // namespace varve
