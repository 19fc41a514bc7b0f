#include "engine/base/checksum_dispatch.h"

// Its header and XXH_INLINE_ALL exclude each other, so that this file is apart from checksum.cc.
#include <xxh_x86dispatch.h>

namespace varve {
namespace {

// The library chooses on the first call, and not for several threads at once: this one is before there are
// threads.
[[maybe_unused]] const uint64_t kFirstCall = [] {
  const char zeros[512] = {};
  return DispatchedXxh3(zeros, sizeof(zeros), 1);
}();

}  // namespace

uint64_t DispatchedXxh3(const void* bytes, size_t size, uint64_t seed) {
  return XXH3_64bits_withSeed_dispatch(bytes, size, seed);
}

}  // namespace varve
