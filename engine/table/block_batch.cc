#include "engine/table/block_batch.h"

#include <algorithm>
#include <optional>

namespace varve {
namespace {

bool LiesBefore(const BlockHandle& a, const BlockHandle& b) {
  return a.table_offset < b.table_offset;
}

}  // namespace

Task<Status> BlockBatch::Read(const TableEnvironment& environment, const TableView& view,
                              std::vector<BlockHandle> handles, IoPurpose purpose) {
  blocks_.clear();
  std::sort(handles.begin(), handles.end(), LiesBefore);
  handles.erase(std::unique(handles.begin(), handles.end()), handles.end());
  Result<std::vector<BlockRef>> read =
      co_await ReadBlocks(environment, view, handles, BlockKind::kData, purpose);
  if (!read.ok()) {
    co_return read.error();
  }
  for (size_t i = 0; i < handles.size(); ++i) {
    blocks_.emplace_back(handles[i], std::move((*read)[i]));
  }
  co_return OkStatus();
}

Task<void> BlockBatch::ReadAhead(const TableEnvironment& environment, const TableView& view,
                                 const IndexBlock& index, uint32_t first, uint32_t end, uint64_t bytes_max,
                                 IoPurpose purpose) {
  std::vector<BlockHandle> handles;
  uint64_t bytes = 0;
  for (uint32_t i = first; i < end && bytes < bytes_max; ++i) {
    const std::optional<IndexBlock::Entry> entry = index.At(i);
    if (!entry) {
      break;
    }
    // Spans of one block often take turns with one new block.
    const bool is_new =
        std::none_of(handles.rbegin(), handles.rbegin() + std::min<ptrdiff_t>(4, std::ssize(handles)),
                     [&](const BlockHandle& handle) { return handle == entry->block; });
    if (is_new) {
      handles.push_back(entry->block);
      bytes += entry->block.bytes;
    }
  }
  (void)co_await Read(environment, view, std::move(handles), purpose);
}

uint64_t BlockBatch::bytes() const {
  uint64_t bytes = 0;
  for (const auto& [handle, block] : blocks_) {
    bytes += handle.bytes;
  }
  return bytes;
}

BlockRef BlockBatch::Find(const BlockHandle& handle) const {
  const auto found =
      std::lower_bound(blocks_.begin(), blocks_.end(), handle,
                       [](const auto& block, const BlockHandle& at) { return LiesBefore(block.first, at); });
  return found != blocks_.end() && found->first == handle ? found->second : BlockRef();
}

}  // namespace varve
