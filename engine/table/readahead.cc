#include "engine/table/readahead.h"

#include <algorithm>
#include <utility>

#include "engine/table/block_reader.h"

namespace varve {
namespace {

// A walk that goes on into a second block is a scan; most of those that read one are not.
constexpr uint32_t kReadsBeforeGrowth = 1;
constexpr uint64_t kFirstGrownBytes = 16 * kKiB;

}  // namespace

uint64_t Readahead::PlanBytes(const BlockHandle& block) {
  if (sequential_) {
    return bytes_max_;
  }
  if (std::exchange(has_jumped_, false) && block.table_offset != expected_offset_) {
    reads_ = 0;
    grown_bytes_ = 0;
  }
  if (++reads_ <= kReadsBeforeGrowth) {
    return first_bytes_;
  }
  const uint64_t least = std::max<uint64_t>(first_bytes_, kFirstGrownBytes);
  grown_bytes_ = std::min<uint64_t>(std::max(grown_bytes_ * 2, least), bytes_max_);
  return grown_bytes_;
}

std::optional<uint64_t> Readahead::Find(const BlockHandle& block) const {
  return PlaceIn(window_offset_, window_.view().size(), block);
}

}  // namespace varve
