#include "engine/base/checksum.h"

#define XXH_INLINE_ALL  // short keys: the call would cost more than the hash
#include <xxhash.h>

#include "engine/base/long_xxh3.h"

namespace varve {
namespace {

// From here on wider vectors save more than the call costs.
constexpr size_t kLong = 512;

}  // namespace

uint64_t Checksum64(std::string_view bytes, uint64_t seed) {
  if (bytes.size() >= kLong) {
    return LongXxh3(bytes.data(), bytes.size(), seed);
  }
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

uint64_t Checksum64(std::span<const std::byte> bytes, uint64_t seed) {
  return Checksum64(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), seed);
}

uint64_t Hash64(std::string_view bytes, uint64_t seed) {
  return Checksum64(bytes, seed);
}

}  // namespace varve
