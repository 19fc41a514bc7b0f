// WalSegment: a piece of the device that holds a part of the log, as the manifest names it. Its
// allocation is durable there before anything is written to it.
#pragma once

#include <cstdint>

#include "engine/base/size_limits.h"
#include "engine/base/units.h"
#include "engine/space/extent.h"

namespace varve {

struct WalSegment {
  // Position in the chain of all segments that there ever were. Space that is recycled gets a new number:
  // what an earlier use left there does not verify under it.
  uint64_t number = 0;
  Extent extent;
  // The epoch whose groups it holds, and the first LSN of that epoch: every group before that was durable
  // when the epoch began, and is where the log of the epoch before ended.
  RecoveryEpoch epoch;
  Lsn epoch_first_lsn;

  bool operator==(const WalSegment&) const = default;
};

// Holds four of the largest groups: at most a quarter is lost where a group does not fit any more.
inline constexpr uint64_t kWalSegmentBytesMin = 4 * (kBatchBytesMax + 64 * kKiB);
// Long enough that changing segments (a manifest record each) costs nothing, short enough that the log gives
// space back soon after a flush.
inline constexpr uint64_t kWalSegmentBytes = 10 * kMiB;
static_assert(kWalSegmentBytes >= kWalSegmentBytesMin);

}  // namespace varve
