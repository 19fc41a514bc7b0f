// XXH3 of what is long enough for vectors to pay: in the widest that this processor has (AVX2, AVX-512),
// where libxxhash chooses at run time. The build takes one of the two files that implement it. For
// checksum.cc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace varve {

// The same values as XXH3_64bits_withSeed. Any thread.
uint64_t LongXxh3(const void* bytes, size_t size, uint64_t seed);

}  // namespace varve
