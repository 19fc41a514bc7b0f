// What an operation keeps of a record while it writes: a copy, because a pin would keep the tables that
// merges replace, and the write may be waiting for just their space.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/pinned_value.h"

namespace varve {

// Lets go of what `pin` holds; `content`, which points into it, is copied, small as it is, and held instead.
inline void Unpin(std::string_view& content, PinnedValue& pin) {
  if (content.empty()) {
    content = {};
    pin = PinnedValue();
    return;
  }
  auto copy = std::make_shared<const std::string>(content);
  content = *copy;
  pin = PinnedValue(content, std::move(copy));
}

}  // namespace varve
