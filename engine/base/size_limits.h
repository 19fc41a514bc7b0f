// The largest key, value and batch that the engine takes: the log, tables and the filesystem are sized by
// them.
#pragma once

#include <cstddef>

#include "engine/base/units.h"

namespace varve {

inline constexpr size_t kKeyBytesMax = 1024;
// A 1 MiB write request as one value would fit; the filesystem's chunks are far smaller.
inline constexpr size_t kValueBytesMax = 1 * kMiB + 64 * kKiB;
// A 1 MiB write with its metadata. Smaller than a WAL segment.
inline constexpr size_t kBatchBytesMax = 2 * kMiB;
// Deletes of ranges of one batch: where they overlap, what they take in memory grows with their square.
inline constexpr size_t kBatchRangeDeletesMax = 1024;
// What all range tombstones of a store may take in memory: far more than are kept, and less than what a
// manifest that means harm could ask for.
inline constexpr size_t kRangeTombstonesBytesMax = 1 * kGiB;

}  // namespace varve
