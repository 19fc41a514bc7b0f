// OutlineOptions: of which records indexes hold outlines: keys, and the beginnings of values, for walks that
// need no more (engine/table/outline.h).
#pragma once

#include <cstdint>
#include <string>

namespace varve {

struct OutlineOptions {
  // Those whose keys begin so. Empty: none.
  std::string prefix = {};
  // How much of each value.
  uint32_t value_bytes = 0;
};

}  // namespace varve
