#include "engine/table/filter_mender.h"

#include <algorithm>
#include <utility>

#include "engine/table/block_reader.h"
#include "engine/table/table_format.h"

namespace varve {

Task<Result<MendedFilter>> MendFilter(const TableEnvironment& environment, const TableView& view,
                                      FilterGeometry geometry, std::vector<BlockHandle> pages,
                                      std::vector<uint64_t> hashes, IoPurpose purpose) {
  MendedFilter mended;
  mended.geometry = geometry;
  mended.pages = std::move(pages);
  if (geometry.pages == 0) {
    co_return mended;
  }
  // Page by page.
  std::sort(hashes.begin(), hashes.end());
  std::vector<BlockHandle> wanted;
  std::vector<uint32_t> numbers;
  for (const uint64_t hash : hashes) {
    const uint32_t page = geometry.PageOf(hash);
    if (numbers.empty() || numbers.back() != page) {
      numbers.push_back(page);
      wanted.push_back(mended.pages[page]);
    }
  }
  const Result<std::vector<BlockRef>> read =
      co_await ReadBlocks(environment, view, std::move(wanted), BlockKind::kFilter, purpose);
  if (!read.ok()) {
    co_return read.error();
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    const std::string_view payload = PayloadOf((*read)[i].bytes());
    if (payload.size() != geometry.page_bytes()) {
      co_return TableCorruption(view.id, mended.pages[numbers[i]].table_offset,
                                "a filter page has a wrong length");
    }
    mended.changed.emplace(numbers[i], payload);
  }
  for (const uint64_t hash : hashes) {
    const auto page = mended.changed.find(geometry.PageOf(hash));
    if (!FilterMayContain(geometry, page->second, hash)) {
      FilterInsert(geometry, page->second, hash);
      ++mended.insertions;
    }
  }
  co_return mended;
}

}  // namespace varve
