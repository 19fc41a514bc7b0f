// KeySpans: a set of user keys as sorted, disjoint stretches of the key space. Stretches end between keys, so
// that one set taken from another leaves no key too many and none too few.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/key_range.h"

namespace varve {

// A place between keys: before `key`, or behind it and before whatever follows it.
struct KeyBorder {
  std::string key;
  bool behind = false;

  auto operator<=>(const KeyBorder&) const = default;
};

// The keys from one border to a later one.
struct KeySpan {
  KeyBorder from;
  KeyBorder to;

  bool operator==(const KeySpan&) const = default;
};

class KeySpans {
 public:
  // No key.
  KeySpans() = default;
  // Precondition: range.smallest <= range.largest.
  static KeySpans Of(const KeyRangeView& range);

  // Precondition: it begins behind everything that the set holds.
  void Append(const KeyRangeView& range);

  bool empty() const { return spans_.empty(); }
  bool Contains(std::string_view user_key) const;
  bool Overlaps(const KeySpans& other) const { return !And(other).empty(); }
  bool Overlaps(const KeyRangeView& range) const;
  bool Covers(const KeySpans& other) const { return other.Minus(*this).empty(); }
  KeySpans Minus(const KeySpans& other) const;
  KeySpans And(const KeySpans& other) const;

  // Ascending; each begins at or behind the end of the one before, and none is empty.
  const std::vector<KeySpan>& spans() const { return spans_; }
  // "[a..c] (f..k]": a round bracket leaves the key out.
  std::string ToString() const;

  bool operator==(const KeySpans&) const = default;

 private:
  std::vector<KeySpan> spans_;
};

}  // namespace varve
