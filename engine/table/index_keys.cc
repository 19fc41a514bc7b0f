#include "engine/table/index_keys.h"

#include <algorithm>

#include "engine/base/common_prefix.h"

namespace varve {

void ShortenSmallest(std::string& key, std::string_view before, size_t bytes_min) {
  const size_t bytes = std::max({CommonPrefixOf(before, key) + 1, bytes_min, kIndexKeyBytesMin});
  if (bytes < key.size()) {
    key.resize(bytes);
  }
}

void ShortenLargest(std::string& key, std::string_view behind, size_t bytes_min) {
  // Behind the byte by which it is less than `behind` one may be raised, and the rest left out.
  size_t raised = std::max({CommonPrefixOf(key, behind) + 1, bytes_min, kIndexKeyBytesMin - 1});
  while (raised < key.size() && static_cast<uint8_t>(key[raised]) == 0xff) {
    ++raised;
  }
  if (raised < key.size() && raised + 1 < key.size()) {
    key.resize(raised + 1);
    key[raised] = static_cast<char>(static_cast<uint8_t>(key[raised]) + 1);
  }
}

}  // namespace varve
