#include "engine/table/shadow_estimate.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/ring/executor.h"
#include "engine/table/block_reader.h"
#include "engine/table/filter.h"
#include "engine/table/segment_footer.h"
#include "engine/table/table_format.h"

namespace varve {
namespace {

// Keys that are asked about, where pages are many.
constexpr size_t kSampleMin = 256;
// Hashes that are looked at before others have their turn: some tens of microseconds.
constexpr size_t kHashesAtOnce = 32'768;
constexpr size_t kAskedAtOnce = 8192;

// The largest of the smallest kSampleMin. Precondition: not empty. A segment has many hashes: to sort them
// takes as long as to merge its last few megabytes.
Task<uint64_t> LastOfSample(const std::vector<uint64_t>& hashes) {
  std::vector<uint64_t> sample;
  sample.reserve(kSampleMin);
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (sample.size() < kSampleMin) {
      sample.push_back(hashes[i]);
      std::push_heap(sample.begin(), sample.end());
    } else if (hashes[i] < sample.front()) {
      std::pop_heap(sample.begin(), sample.end());
      sample.back() = hashes[i];
      std::push_heap(sample.begin(), sample.end());
    }
    if (i % kHashesAtOnce == kHashesAtOnce - 1) {
      co_await Executor::Current().Yield();
    }
  }
  co_return sample.front();
}

// Those that lie before the line of the filter.
Task<std::vector<uint64_t>> HashesBefore(const FilterGeometry& geometry, uint64_t end_line,
                                         const std::vector<uint64_t>& hashes) {
  std::vector<uint64_t> before;
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (geometry.LineOf(hashes[i]) < end_line) {
      before.push_back(hashes[i]);
    }
    if (i % kHashesAtOnce == kHashesAtOnce - 1) {
      co_await Executor::Current().Yield();
    }
  }
  co_return before;
}

// The share of the keys with these hashes that the segment probably holds. Pages hold the keys of one stretch
// of hashes each: the first few pages, up to that of `last`, answer for the first few keys.
Task<Result<double>> ShareHeld(const TableEnvironment& environment, const TableView& view,
                               const SegmentDescriptor& segment, const std::vector<uint64_t>& hashes,
                               uint64_t last, IoPurpose purpose) {
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
  if (geometry.pages == 0) {
    co_return 0.0;
  }
  const uint32_t end_page = geometry.PageOf(last) + 1;
  const uint64_t end_line = uint64_t{end_page} * geometry.lines_per_page;
  const std::vector<uint64_t> asked = co_await HashesBefore(geometry, end_line, hashes);
  // Hashes of a segment that is much larger than this one's filter may all be among them.
  std::vector<bool> wanted_pages(end_page);
  for (size_t i = 0; i < asked.size(); ++i) {
    wanted_pages[geometry.PageOf(asked[i])] = true;
    if (i % kAskedAtOnce == kAskedAtOnce - 1) {
      co_await Executor::Current().Yield();
    }
  }
  std::vector<size_t> place(end_page);
  std::vector<BlockHandle> pages;
  for (uint32_t page = 0; page < end_page; ++page) {
    if (wanted_pages[page]) {
      place[page] = pages.size();
      pages.push_back(footer->FilterPage(page));
    }
  }
  const Result<std::vector<BlockRef>> read =
      co_await ReadBlocks(environment, view, std::move(pages), BlockKind::kFilter, purpose);
  if (!read.ok()) {
    co_return read.error();
  }
  for (const BlockRef& page : *read) {
    if (PayloadOf(page.bytes()).size() != geometry.page_bytes()) {
      co_return TableCorruption(view.id, segment.footer.table_offset, "a filter page has a wrong length");
    }
  }
  size_t maybe = 0;
  for (size_t i = 0; i < asked.size(); ++i) {
    const std::string_view payload = PayloadOf((*read)[place[geometry.PageOf(asked[i])]].bytes());
    maybe += FilterMayContain(geometry, payload, asked[i]) ? 1 : 0;
    if (i % kAskedAtOnce == kAskedAtOnce - 1) {
      co_await Executor::Current().Yield();
    }
  }
  const double wrong = ExpectedFalsePositiveRate(segment.filter);
  const double answered = static_cast<double>(maybe) / static_cast<double>(asked.size());
  co_return wrong >= 1 ? 0.0 : std::clamp((answered - wrong) / (1 - wrong), 0.0, 1.0);
}

}  // namespace

Task<Result<std::vector<uint64_t>>> EstimateShadowed(const TableEnvironment& environment,
                                                     const TableView& view,
                                                     const std::vector<uint64_t>& hashes, IoPurpose purpose) {
  std::vector<uint64_t> shadowed(view.segments.size());
  if (hashes.empty()) {
    co_return shadowed;
  }
  const uint64_t last = co_await LastOfSample(hashes);
  // Of the keys, those that no segment was found to hold yet.
  double left = 1;
  for (size_t i = view.segments.size(); i-- > 0 && left > 0;) {
    const Result<double> share =
        co_await ShareHeld(environment, view, view.segments[i], hashes, last, purpose);
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
