#include <immintrin.h>
#include <xxh_x86dispatch.h>

#include "engine/base/long_xxh3.h"

namespace varve {
namespace {

// Some builds of libxxhash (Debian 12's 0.8.1) return with the upper parts of the vector registers in use.
// From then on every instruction of this thread that is encoded for 128 bits, as all of ours are, waits for
// the last one that wrote the same register; nothing ends that where the C library has code for AVX-512.
// Walks over cached records took up to 2.5 times as long.
[[gnu::target("avx")]] void LeaveUpperPartsUnused() {
  _mm256_zeroupper();
}

// The library chooses on the first call, and not for several threads at once: this one is before there are
// threads.
[[maybe_unused]] const uint64_t kFirstCall = [] {
  const char zeros[512] = {};
  return LongXxh3(zeros, sizeof(zeros), 1);
}();

}  // namespace

uint64_t LongXxh3(const void* bytes, size_t size, uint64_t seed) {
  const uint64_t hash = XXH3_64bits_withSeed_dispatch(bytes, size, seed);
  if (__builtin_cpu_supports("avx")) {
    LeaveUpperPartsUnused();
  }
  return hash;
}

}  // namespace varve
