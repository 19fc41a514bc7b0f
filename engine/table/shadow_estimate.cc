#include "engine/table/shadow_estimate.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/table/block_reader.h"
#include "engine/table/filter.h"
#include "engine/table/segment_footer.h"
#include "engine/table/table_format.h"

namespace varve {
namespace {

// Keys that are asked about, where pages are many.
constexpr size_t kSampleMin = 256;

// The share of the keys with these hashes, sorted, that the segment probably holds. Pages hold the keys of
// one stretch of hashes each: the first few pages answer for the first few keys.
Task<Result<double>> ShareHeld(const TableEnvironment& environment, const TableView& view,
                               const SegmentDescriptor& segment, const std::vector<uint64_t>& hashes,
                               IoPurpose purpose) {
  std::vector<BlockHandle> wanted(1, segment.footer);
  const Result<std::vector<BlockRef>> block =
      co_await ReadBlocks(environment, view, std::move(wanted), BlockKind::kFooter, purpose);
  if (!block.ok()) {
    co_return block.error();
  }
  const std::optional<SegmentFooter> footer = SegmentFooter::Parse(PayloadOf(block->front().bytes()));
  if (!footer) {
    co_return TableCorruption(view.id, segment.footer.table_offset, "a segment footer is malformed");
  }
  const FilterGeometry geometry = footer->filter();
  if (geometry.pages == 0 || hashes.empty()) {
    co_return 0.0;
  }
  const uint32_t last_page = geometry.PageOf(hashes[std::min(kSampleMin, hashes.size()) - 1]);
  std::vector<uint32_t> numbers;
  std::vector<BlockHandle> pages;
  for (const uint64_t hash : hashes) {
    const uint32_t page = geometry.PageOf(hash);
    if (page > last_page) {
      break;
    }
    if (numbers.empty() || numbers.back() != page) {
      numbers.push_back(page);
      pages.push_back(footer->FilterPage(page));
    }
  }
  const Result<std::vector<BlockRef>> read =
      co_await ReadBlocks(environment, view, std::move(pages), BlockKind::kFilter, purpose);
  if (!read.ok()) {
    co_return read.error();
  }
  size_t asked = 0;
  size_t maybe = 0;
  size_t at = 0;
  for (const uint64_t hash : hashes) {
    const uint32_t page = geometry.PageOf(hash);
    if (page > last_page) {
      break;
    }
    at += numbers[at] != page ? 1 : 0;
    const std::string_view payload = PayloadOf((*read)[at].bytes());
    if (payload.size() != geometry.page_bytes()) {
      co_return TableCorruption(view.id, segment.footer.table_offset, "a filter page has a wrong length");
    }
    ++asked;
    maybe += FilterMayContain(geometry, payload, hash) ? 1 : 0;
  }
  const double wrong = ExpectedFalsePositiveRate(segment.filter);
  const double answered = static_cast<double>(maybe) / static_cast<double>(asked);
  co_return wrong >= 1 ? 0.0 : std::clamp((answered - wrong) / (1 - wrong), 0.0, 1.0);
}

}  // namespace

Task<Result<std::vector<uint64_t>>> EstimateShadowed(const TableEnvironment& environment,
                                                     const TableView& view, std::vector<uint64_t> hashes,
                                                     IoPurpose purpose) {
  std::sort(hashes.begin(), hashes.end());
  std::vector<uint64_t> shadowed(view.segments.size());
  // Of the keys, those that no segment was found to hold yet.
  double left = 1;
  for (size_t i = view.segments.size(); i-- > 0 && left > 0;) {
    const Result<double> share = co_await ShareHeld(environment, view, view.segments[i], hashes, purpose);
    if (!share.ok()) {
      co_return share.error();
    }
    const double here = std::min(*share, left);
    left -= here;
    shadowed[i] = static_cast<uint64_t>(std::llround(here * static_cast<double>(hashes.size())));
  }
  co_return shadowed;
}

}  // namespace varve
