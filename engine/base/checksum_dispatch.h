// XXH3 in the widest vectors that this processor has (AVX2, AVX-512), as libxxhash chooses them at run time.
// Within checksum.cc only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace varve {

// The same values as XXH3_64bits_withSeed. Pays from some hundred bytes on. Any thread.
uint64_t DispatchedXxh3(const void* bytes, size_t size, uint64_t seed);

}  // namespace varve
