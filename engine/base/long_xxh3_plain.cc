#include <xxhash.h>

#include "engine/base/long_xxh3.h"

namespace varve {

uint64_t LongXxh3(const void* bytes, size_t size, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, size, seed);
}

}  // namespace varve
