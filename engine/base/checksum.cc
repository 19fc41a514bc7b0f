#include "engine/base/checksum.h"

#define XXH_INLINE_ALL  // short keys: the call would cost more than the hash
#include <xxhash.h>

#include "engine/base/checksum_dispatch.h"

namespace varve {
namespace {

// From here on wider vectors than every processor has save more than the call to them costs.
[[maybe_unused]] constexpr size_t kLong = 512;

}  // namespace

uint64_t Checksum64(std::string_view bytes, uint64_t seed) {
#if VARVE_XXHASH_DISPATCHES
  if (bytes.size() >= kLong) {
    return DispatchedXxh3(bytes.data(), bytes.size(), seed);
  }
#endif
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

uint64_t Checksum64(std::span<const std::byte> bytes, uint64_t seed) {
  return Checksum64(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), seed);
}

uint64_t Hash64(std::string_view bytes, uint64_t seed) {
  return Checksum64(bytes, seed);
}

}  // namespace varve
