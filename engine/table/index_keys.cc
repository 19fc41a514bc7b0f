#include "engine/table/index_keys.h"

#include <algorithm>

namespace varve {

size_t SharedBytes(std::string_view a, std::string_view b) {
  const size_t limit = std::min(a.size(), b.size());
  return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + limit, b.begin()).first - a.begin());
}

void ShortenSmallest(std::string& key, std::string_view before, size_t bytes_min) {
  const size_t bytes = std::max({SharedBytes(before, key) + 1, bytes_min, kIndexKeyBytesMin});
  if (bytes < key.size()) {
    key.resize(bytes);
  }
}

void ShortenLargest(std::string& key, std::string_view behind, size_t bytes_min) {
  // Behind the byte by which it is less than `behind` one may be raised, and the rest left out.
  size_t raised = std::max({SharedBytes(key, behind) + 1, bytes_min, kIndexKeyBytesMin - 1});
  while (raised < key.size() && static_cast<uint8_t>(key[raised]) == 0xff) {
    ++raised;
  }
  if (raised < key.size() && raised + 1 < key.size()) {
    key.resize(raised + 1);
    key[raised] = static_cast<char>(static_cast<uint8_t>(key[raised]) + 1);
  }
}

}  // namespace varve
