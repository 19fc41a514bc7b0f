// A range of user keys, both ends included.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace varve {

struct KeyRange {
  std::string smallest;
  std::string largest;

  bool operator==(const KeyRange&) const = default;
};

// The same without owning its ends: what it points at must outlive it.
struct KeyRangeView {
  std::string_view smallest;
  std::string_view largest;

  KeyRangeView(std::string_view s, std::string_view l) : smallest(s), largest(l) {}
  KeyRangeView(const KeyRange& range)  // NOLINT: implicit by design
      : smallest(range.smallest), largest(range.largest) {}

  bool Contains(std::string_view user_key) const { return smallest <= user_key && user_key <= largest; }
  bool Overlaps(const KeyRangeView& other) const {
    return smallest <= other.largest && other.smallest <= largest;
  }
  bool Covers(const KeyRangeView& other) const {
    return smallest <= other.smallest && other.largest <= largest;
  }
  KeyRange Owned() const { return {std::string(smallest), std::string(largest)}; }
};

// Grows `range` to cover `other` too.
inline void ExtendToCover(KeyRange& range, const KeyRangeView& other) {
  if (other.smallest < range.smallest) {
    range.smallest = other.smallest;
  }
  if (other.largest > range.largest) {
    range.largest = other.largest;
  }
}

}  // namespace varve
