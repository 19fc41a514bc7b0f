// How a VersionEdit is written: fields of a varint tag and length-prefixed bytes, in any order except that
// lists keep theirs, and a table's hotness comes behind the table. Format: docs/on-disk/manifest.md.
#pragma once

#include <cstdint>

namespace varve {

// Stored: values never change.
enum class EditTag : uint64_t {
  kRemovedTable = 1,
  kAddedTable = 2,
  // 3 and 4 are kept free: they stood for holes in buffers, which are not recorded.
  kAddedWalSegment = 5,
  kReleasedWalSegment = 6,
  kLogStart = 7,
  kLastSequence = 8,
  kEpoch = 9,
  kNextTableId = 10,
  kNextStamp = 11,
  kClean = 12,
  kParameter = 13,
  kNextWalSegment = 14,
  kAddedRangeTombstone = 15,
  kRemovedRangeTombstone = 16,
  kTableHotness = 128,
  kHotMap = 129,
};
// A reader that does not know a tag skips the field from here on, and refuses the record below.
inline constexpr uint64_t kFirstSkippableEditTag = 128;
inline constexpr uint64_t kLastKnownEditTag = static_cast<uint64_t>(EditTag::kHotMap);
static_assert(kLastKnownEditTag >= kFirstSkippableEditTag);

}  // namespace varve
