// The keys of an index entry tell its block from its neighbours, and no more: of long keys an index holds the
// beginnings alone (docs/on-disk/table.md, "Index block").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace varve {

// What is kept of a key in any case: that names the file, the directory, or the place in a file of each
// record of a filesystem, so that damage can be told by it.
inline constexpr size_t kIndexKeyBytesMin = 20;

// How many bytes of an entry's two keys tell them from what lies beside them in the block and is not meant.
struct IndexKeyBytes {
  size_t smallest = 0;
  size_t largest = 0;

  // Of keys of which nothing may be left out.
  static IndexKeyBytes All() { return {SIZE_MAX, SIZE_MAX}; }
};

// The shortest beginning of `key` that is greater than `before`, of at least `bytes_min` bytes.
// Precondition: before < key.
void ShortenSmallest(std::string& key, std::string_view before, size_t bytes_min);
// A short string that is at least `key`, less than `behind`, and shares `bytes_min` bytes with `key`.
// Precondition: key < behind.
void ShortenLargest(std::string& key, std::string_view behind, size_t bytes_min);

}  // namespace varve
