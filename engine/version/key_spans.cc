#include "engine/version/key_spans.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/base/check.h"

namespace varve {

KeySpans KeySpans::Of(const KeyRangeView& range) {
  KeySpans spans;
  spans.Append(range);
  return spans;
}

void KeySpans::Append(const KeyRangeView& range) {
  Check(range.smallest <= range.largest, "a range of keys ends before it begins");
  KeySpan span{{std::string(range.smallest), false}, {std::string(range.largest), true}};
  Check(spans_.empty() || spans_.back().to <= span.from, "a range of keys does not follow those before it");
  spans_.push_back(std::move(span));
}

bool KeySpans::Contains(std::string_view user_key) const {
  // The last that begins before the key.
  const auto behind = std::partition_point(spans_.begin(), spans_.end(), [&](const KeySpan& span) {
    return span.from.key < user_key || (span.from.key == user_key && !span.from.behind);
  });
  if (behind == spans_.begin()) {
    return false;
  }
  const KeyBorder& end = std::prev(behind)->to;
  return user_key < end.key || (user_key == end.key && end.behind);
}

bool KeySpans::Overlaps(const KeyRangeView& range) const {
  const KeySpans other = Of(range);
  return Overlaps(other);
}

KeySpans KeySpans::Minus(const KeySpans& other) const {
  KeySpans left;
  auto hidden = other.spans_.begin();
  for (const KeySpan& span : spans_) {
    KeyBorder from = span.from;
    while (hidden != other.spans_.end() && hidden->to <= from) {
      ++hidden;
    }
    for (auto next = hidden; next != other.spans_.end() && next->from < span.to; ++next) {
      if (from < next->from) {
        left.spans_.push_back({from, next->from});
      }
      from = next->to;
    }
    if (from < span.to) {
      left.spans_.push_back({std::move(from), span.to});
    }
  }
  return left;
}

KeySpans KeySpans::And(const KeySpans& other) const {
  KeySpans both;
  auto a = spans_.begin();
  auto b = other.spans_.begin();
  while (a != spans_.end() && b != other.spans_.end()) {
    const KeyBorder& from = std::max(a->from, b->from);
    const KeyBorder& to = std::min(a->to, b->to);
    if (from < to) {
      both.spans_.push_back({from, to});
    }
    if (a->to < b->to) {
      ++a;
    } else {
      ++b;
    }
  }
  return both;
}

std::string KeySpans::ToString() const {
  std::string text;
  for (const KeySpan& span : spans_) {
    text += fmt::format("{}{}{}..{}{}", text.empty() ? "" : " ", span.from.behind ? '(' : '[', span.from.key,
                        span.to.key, span.to.behind ? ']' : ')');
  }
  return text;
}

}  // namespace varve
