#include "engine/base/checksum.h"

#define XXH_INLINE_ALL  // short keys: the call would cost more than the hash
#include <xxhash.h>

namespace varve {

uint64_t Checksum64(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

uint64_t Checksum64(std::span<const std::byte> bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

uint64_t Hash64(std::string_view bytes, uint64_t seed) {
  return Checksum64(bytes, seed);
}

}  // namespace varve
