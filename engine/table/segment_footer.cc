#include "engine/table/segment_footer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/base/internal_key.h"
#include "engine/table/table_format.h"

namespace varve {
namespace {

// A tree of blocks with at least two entries a block and 2^64 bytes is no deeper.
constexpr uint8_t kIndexLevelsMax = 64;

}  // namespace

void AppendFooter(std::string& to, const StoreUuid& store_uuid, TableId table, Generation generation,
                  uint32_t ordinal, const SegmentDescriptor& descriptor, const FilterGeometry& geometry,
                  const std::vector<BlockHandle>& filter_pages, std::string_view root, uint8_t index_levels,
                  uint16_t version) {
  FooterHead head{};
  head.magic = kFooterMagic;
  head.version = version;
  head.index_levels = index_levels;
  head.filter_probes = static_cast<uint8_t>(geometry.probes);
  head.ordinal = ordinal;
  std::copy(store_uuid.begin(), store_uuid.end(), head.store_uuid);
  head.table_id = table.value;
  head.generation = generation.value;
  head.entries = descriptor.entries;
  head.tombstones = descriptor.tombstones;
  head.data_blocks = descriptor.data_blocks;
  head.data_bytes = descriptor.data_bytes;
  head.meta_bytes = descriptor.meta_bytes;
  head.smallest_sequence = descriptor.smallest_sequence.value;
  head.largest_sequence = descriptor.largest_sequence.value;
  head.filter_capacity = descriptor.filter.capacity;
  head.filter_insertions = descriptor.filter.insertions;
  head.filter_bits_per_key = descriptor.filter.bits_per_key;
  head.filter_pages = geometry.pages;
  head.filter_lines_per_page = geometry.lines_per_page;
  head.root_bytes = static_cast<uint32_t>(root.size());
  head.smallest_bytes = static_cast<uint32_t>(descriptor.smallest.size());
  head.largest_bytes = static_cast<uint32_t>(descriptor.largest.size());
  if (descriptor.range_tombstones) {
    head.range_tombstones_bytes = descriptor.range_tombstones->bytes;
    head.range_tombstones_offset = descriptor.range_tombstones->table_offset;
    head.range_tombstones_birth = descriptor.range_tombstones->birth.value;
    head.range_tombstones_checksum = descriptor.range_tombstones->checksum;
  }
  to.append(reinterpret_cast<const char*>(&head), sizeof(head));
  for (const BlockHandle& page : filter_pages) {
    const FilterPageEntry entry{page.table_offset, page.birth.value, page.checksum, 0};
    to.append(reinterpret_cast<const char*>(&entry), sizeof(entry));
  }
  to.append(root);
  to.append(descriptor.smallest);
  to.append(descriptor.largest);
}

std::optional<SegmentFooter> SegmentFooter::Parse(std::string_view payload) {
  SegmentFooter footer;
  if (payload.size() < sizeof(FooterHead)) {
    return std::nullopt;
  }
  std::memcpy(&footer.head_, payload.data(), sizeof(FooterHead));
  const FooterHead& head = footer.head_;
  std::string_view rest = payload.substr(sizeof(FooterHead));
  const uint64_t pages_bytes = uint64_t{head.filter_pages} * sizeof(FilterPageEntry);
  const uint64_t tail_bytes = uint64_t{head.root_bytes} + head.smallest_bytes + head.largest_bytes;
  if (head.magic != kFooterMagic || head.version == 0 || head.version > kFooterVersion ||
      head.index_levels == 0 || head.index_levels > kIndexLevelsMax ||
      pages_bytes + tail_bytes != rest.size() || head.smallest_bytes < kTrailerBytes ||
      head.largest_bytes < kTrailerBytes) {
    return std::nullopt;
  }
  if (head.filter_pages > 0 &&
      (head.filter_lines_per_page == 0 || head.filter_lines_per_page > kFilterLinesPerPageMax ||
       head.filter_probes == 0)) {
    return std::nullopt;
  }
  footer.filter_ = FilterGeometry{head.filter_pages, head.filter_lines_per_page, head.filter_probes};
  footer.pages_ = rest.data();
  rest.remove_prefix(pages_bytes);
  const std::optional<IndexBlock> root = IndexBlock::Parse(rest.substr(0, head.root_bytes));
  if (!root) {
    return std::nullopt;
  }
  footer.root_ = *root;
  rest.remove_prefix(head.root_bytes);
  footer.smallest_ = rest.substr(0, head.smallest_bytes);
  footer.largest_ = rest.substr(head.smallest_bytes);
  return footer;
}

BlockHandle SegmentFooter::FilterPage(uint32_t page) const {
  FilterPageEntry entry;
  std::memcpy(&entry, pages_ + page * sizeof(FilterPageEntry), sizeof(entry));
  return BlockHandle{entry.table_offset, filter_.page_bytes() + static_cast<uint32_t>(kBlockTrailerBytes),
                     entry.checksum, Generation(entry.birth)};
}

std::vector<BlockHandle> SegmentFooter::FilterPages() const {
  std::vector<BlockHandle> pages;
  pages.reserve(filter_.pages);
  for (uint32_t page = 0; page < filter_.pages; ++page) {
    pages.push_back(FilterPage(page));
  }
  return pages;
}

std::string_view SegmentFooter::DifferenceTo(const StoreUuid& store_uuid, TableId table, uint32_t ordinal,
                                             const SegmentDescriptor& descriptor) const {
  if (!std::equal(store_uuid.begin(), store_uuid.end(), head_.store_uuid)) {
    return "footer belongs to another store";
  }
  if (head_.table_id != table.value || head_.ordinal != ordinal ||
      head_.generation != descriptor.footer.birth.value) {
    return "footer belongs to another table, generation or segment";
  }
  if (head_.entries != descriptor.entries || head_.tombstones != descriptor.tombstones ||
      head_.data_blocks != descriptor.data_blocks || head_.data_bytes != descriptor.data_bytes ||
      head_.meta_bytes + descriptor.footer.bytes != descriptor.meta_bytes ||
      head_.smallest_sequence != descriptor.smallest_sequence.value ||
      head_.largest_sequence != descriptor.largest_sequence.value) {
    return "footer and manifest count differently";
  }
  if (head_.filter_capacity != descriptor.filter.capacity ||
      head_.filter_insertions != descriptor.filter.insertions ||
      head_.filter_probes != descriptor.filter.probes ||
      head_.filter_bits_per_key != descriptor.filter.bits_per_key) {
    return "footer and manifest disagree about the filter";
  }
  if (smallest_ != descriptor.smallest || largest_ != descriptor.largest) {
    return "footer and manifest disagree about the range";
  }
  if ((head_.range_tombstones_bytes != 0) != descriptor.range_tombstones.has_value()) {
    return "footer and manifest disagree about range tombstones";
  }
  return {};
}

}  // namespace varve
