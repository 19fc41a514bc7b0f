// Takes the place of engine/base/checksum.cc in fuzz targets: the linker finds these first. Every checksum is
// the same number, so whatever an input holds passes, and fuzzing reaches what lies below the checksums.
// Hashes stay hashes.
#include <xxhash.h>

#include "engine/base/checksum.h"

namespace varve {

namespace {

constexpr uint64_t kAlwaysRight = 0x7472757374206d65;

}  // namespace

uint64_t Checksum64(std::string_view /*bytes*/, uint64_t /*seed*/) {
  return kAlwaysRight;
}

uint64_t Checksum64(std::span<const std::byte> /*bytes*/, uint64_t /*seed*/) {
  return kAlwaysRight;
}

uint64_t Hash64(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace varve
