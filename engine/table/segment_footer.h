// The last block of a segment, which starts at a sector boundary so that a search of the device can find it:
// who the segment is, its counts, the pages of its filter, the root of its index, its range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/table/filter.h"
#include "engine/table/index_block.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_view.h"

namespace varve {

// "varveSEG", little-endian.
inline constexpr uint64_t kFooterMagic = 0x4745536576726176;
inline constexpr uint16_t kFooterVersion = 2;
// Both keys of each entry of its index are of the block's content; in later versions they are bounds of it.
inline constexpr uint16_t kFooterVersionOfWholeKeys = 1;

// The head of the footer as it lies on the device; filter pages, root, smallest and largest key follow.
struct FooterHead {
  uint64_t magic;
  uint16_t version;
  uint8_t index_levels;
  uint8_t filter_probes;
  uint32_t ordinal;
  uint8_t store_uuid[16];
  uint64_t table_id;
  uint64_t generation;
  uint64_t entries;
  uint64_t tombstones;
  uint64_t data_blocks;
  uint64_t data_bytes;
  uint64_t meta_bytes;  // index partitions and filter pages, without the footer
  uint64_t smallest_sequence;
  uint64_t largest_sequence;
  uint64_t filter_capacity;
  uint64_t filter_insertions;
  double filter_bits_per_key;
  uint32_t filter_pages;
  uint32_t filter_lines_per_page;
  uint32_t root_bytes;
  uint32_t smallest_bytes;
  uint32_t largest_bytes;
  uint32_t range_tombstones_bytes;  // reserved, 0: none
  uint64_t range_tombstones_offset;
  uint64_t range_tombstones_birth;
  uint64_t range_tombstones_checksum;
};
static_assert(offsetof(FooterHead, store_uuid) == 16);
static_assert(offsetof(FooterHead, entries) == 48);
static_assert(offsetof(FooterHead, filter_pages) == 128);
static_assert(offsetof(FooterHead, range_tombstones_offset) == 152);
static_assert(sizeof(FooterHead) == 176);

struct FilterPageEntry {
  uint64_t table_offset;
  uint64_t birth;
  uint32_t checksum;
  uint32_t reserved;
};
static_assert(sizeof(FilterPageEntry) == 24);

// Appends the payload of a footer. `descriptor.footer` and what it adds to meta_bytes are not known yet.
void AppendFooter(std::string& to, const StoreUuid& store_uuid, TableId table, Generation generation,
                  uint32_t ordinal, const SegmentDescriptor& descriptor, const FilterGeometry& geometry,
                  const std::vector<BlockHandle>& filter_pages, std::string_view root, uint8_t index_levels,
                  uint16_t version = kFooterVersion);

// A footer in memory. The payload must outlive it. Cheap to make again from the same payload.
class SegmentFooter {
 public:
  SegmentFooter() = default;
  // nullopt when the parts do not fit the payload or each other.
  static std::optional<SegmentFooter> Parse(std::string_view payload);

  const FooterHead& head() const { return head_; }
  const FilterGeometry& filter() const { return filter_; }
  bool has_filter() const { return filter_.pages > 0; }
  // Precondition: page < filter().pages.
  BlockHandle FilterPage(uint32_t page) const;
  // All of them, in order.
  std::vector<BlockHandle> FilterPages() const;
  uint8_t index_levels() const { return head_.index_levels; }
  bool has_whole_keys() const { return head_.version == kFooterVersionOfWholeKeys; }
  const IndexBlock& root() const { return root_; }
  std::string_view smallest() const { return smallest_; }
  std::string_view largest() const { return largest_; }

  // Whether this is the footer that a view's descriptor means; else in words what differs. The descriptor may
  // count fewer live bytes.
  std::string_view DifferenceTo(const StoreUuid& store_uuid, TableId table, uint32_t ordinal,
                                const SegmentDescriptor& descriptor) const;

 private:
  FooterHead head_{};
  FilterGeometry filter_;
  const char* pages_ = nullptr;
  IndexBlock root_;
  std::string_view smallest_;
  std::string_view largest_;
};

}  // namespace varve
