#include "engine/compaction/output_space.h"

#include <algorithm>
#include <utility>

#include "engine/base/units.h"
#include "engine/space/extent.h"

namespace varve {

namespace {

// Trailer, lengths and restart point of one record in a block.
constexpr uint64_t kRecordOverheadBytes = 24;
// A table's footer, the padding to sectors before and behind it, and the root of its index.
constexpr uint64_t kTableOverheadBytes = 24 * kKiB;
// Where a grandparent ends tables are cut at half their size (table_output.cc).
constexpr uint64_t kTablesPercent = 200;

}  // namespace

uint64_t OutputSpaceMax(const OutputSpaceInput& input) {
  const uint64_t records = input.data_bytes + input.entries * kRecordOverheadBytes;
  // An index entry a block, with two keys that share what they can: a sixteenth where keys are half of a
  // small record.
  const uint64_t index =
      records / 16 + OutlineBytesMax(input.options.outlines, records) + 2 * input.meta_bytes;
  const double bits_per_key = std::max(input.options.bits_per_key, input.options.bits_per_key_max);
  const double filter_bits = static_cast<double>(input.entries) * (bits_per_key + kMoreBitsPerKeyMax);
  const auto filter = static_cast<uint64_t>(filter_bits * (1 + input.options.filter_reserve) / 8);
  const uint64_t bytes = records + index + filter;
  const uint64_t cuts =
      input.table_bytes == 0 ? 0 : bytes / input.table_bytes * kTablesPercent / 100 + 1 + input.further_cuts;
  return bytes + (cuts + 1) * (kTableOverheadBytes + kExtentUnitBytes);
}

Result<std::vector<Extent>> JobExtents::Take(uint64_t bytes_wanted) {
  if (reservation_.bytes_left() == 0) {
    Result<SpaceReservation> more = allocator_.Reserve(bytes_wanted, SpaceClass::kInternal);
    if (!more.ok()) {
      return more.error();
    }
    reservation_ = std::move(more).value();
  }
  return reserved_.Take(bytes_wanted);
}

}  // namespace varve
