// Outlines: of a data block with large values, its keys and the beginnings of its values, in the index entry
// that names the block. A walk that needs no more reads indexes alone (docs/on-disk/table.md, "Index block").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/outline_options.h"
#include "engine/table/block_builder.h"

namespace varve {

// An outline that takes more than this share of its block's payload is left out: it would cost more space and
// memory than it spares reads.
inline constexpr size_t kOutlineShare = 16;
// What those of so many bytes of records take at most.
inline uint64_t OutlineBytesMax(const OutlineOptions& options, uint64_t record_bytes) {
  return options.prefix.empty() ? 0 : record_bytes / kOutlineShare;
}

// Encoded as a data block is. One at a time, over and over; of blocks all of whose records are meant.
class OutlineBuilder {
 public:
  explicit OutlineBuilder(const OutlineOptions& options) : options_(options) {}

  // Each record of the block, in order.
  void Add(std::string_view internal_key, std::string_view value);
  // The outline of a block with a payload of so many bytes, or empty; begins the next.
  std::string Take(size_t payload_bytes);

 private:
  OutlineOptions options_;
  BlockBuilder block_;
  // No record so far rules it out.
  bool fits_ = true;
};

// Whether `outline` is one of the block's records, with that much of each value or with all of it.
bool IsOutlineOf(std::string_view outline, std::string_view payload);

}  // namespace varve
