#include <xxh_x86dispatch.h>

#include "engine/base/long_xxh3.h"

namespace varve {
namespace {

// The library chooses on the first call, and not for several threads at once: this one is before there are
// threads.
[[maybe_unused]] const uint64_t kFirstCall = [] {
  const char zeros[512] = {};
  return LongXxh3(zeros, sizeof(zeros), 1);
}();

}  // namespace

uint64_t LongXxh3(const void* bytes, size_t size, uint64_t seed) {
  return XXH3_64bits_withSeed_dispatch(bytes, size, seed);
}

}  // namespace varve
