#include "engine/table/segment_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/ring/executor.h"
#include "engine/table/block_reader.h"
#include "engine/table/segment_footer.h"
#include "engine/table/table_format.h"

namespace varve {
namespace {

constexpr size_t kReadsAtOnce = 16;
// Entries, with their keys, that are copied before others have their turn.
constexpr size_t kEntriesAtOnce = 256;

class LayoutReader {
 public:
  LayoutReader(const TableEnvironment& environment, const TableView& view, uint32_t ordinal,
               IoPurpose purpose)
      : environment_(environment),
        view_(view),
        segment_(view.segments[ordinal]),
        ordinal_(ordinal),
        purpose_(purpose) {}

  Task<Result<SegmentLayout>> Run() {
    if (segment_.range_tombstones) {
      co_return Unsupported(fmt::format("table {} has range tombstones", view_.id.value));
    }
    layout_.footer = segment_.footer;
    std::vector<BlockHandle> wanted(1, segment_.footer);
    const Result<std::vector<BlockRef>> block =
        co_await ReadBlocks(environment_, view_, std::move(wanted), BlockKind::kFooter, purpose_);
    if (!block.ok()) {
      co_return block.error();
    }
    const std::optional<SegmentFooter> footer = SegmentFooter::Parse(PayloadOf(block->front().bytes()));
    if (!footer) {
      co_return Wrong(segment_.footer, "a segment footer is malformed");
    }
    const std::string_view difference =
        footer->DifferenceTo(environment_.store_uuid, view_.id, ordinal_, segment_);
    if (!difference.empty()) {
      co_return Wrong(segment_.footer, difference);
    }
    layout_.filter = footer->filter();
    layout_.filter_pages = footer->FilterPages();
    IndexEntry whole;
    whole.block = segment_.footer;
    whole.smallest = segment_.smallest_user_key();
    whole.largest = segment_.largest_user_key();
    whole.entries = segment_.entries;
    Status status = AddEntries(footer->root(), whole);
    for (uint8_t level = 1; status.ok() && level < footer->index_levels(); ++level) {
      status = co_await GoDown();
    }
    if (!status.ok()) {
      co_return status.error();
    }
    if (layout_.blocks.size() != segment_.data_blocks) {
      co_return Wrong(segment_.footer, "the index names another number of blocks than the manifest counts");
    }
    co_return std::move(layout_);
  }

 private:
  Error Wrong(const BlockHandle& where, std::string_view what) const {
    return TableCorruption(view_.id, where.table_offset, what);
  }

  // Replaces the entries gathered so far, which name index blocks, by what these hold.
  Task<Status> GoDown() {
    const std::vector<IndexEntry> above = std::exchange(layout_.blocks, {});
    size_t copied = 0;
    for (size_t begin = 0; begin < above.size(); begin += kReadsAtOnce) {
      const size_t end = std::min(begin + kReadsAtOnce, above.size());
      std::vector<BlockHandle> handles;
      for (size_t i = begin; i < end; ++i) {
        handles.push_back(above[i].block);
      }
      layout_.index_blocks.insert(layout_.index_blocks.end(), handles.begin(), handles.end());
      const Result<std::vector<BlockRef>> blocks =
          co_await ReadBlocks(environment_, view_, std::move(handles), BlockKind::kIndex, purpose_);
      if (!blocks.ok()) {
        co_return blocks.error();
      }
      for (size_t i = begin; i < end; ++i) {
        const std::optional<IndexBlock> index = IndexBlock::Parse(PayloadOf((*blocks)[i - begin].bytes()));
        if (!index) {
          co_return Wrong(above[i].block, "an index block is malformed");
        }
        Status added = AddEntries(*index, above[i]);
        if (!added.ok()) {
          co_return added;
        }
        // Blocks that are cached are no reason to wait.
        copied += index->size();
        if (copied >= kEntriesAtOnce) {
          copied = 0;
          co_await Executor::Current().Yield();
        }
      }
    }
    co_return OkStatus();
  }

  // What does not fit what names it is not followed, so that a walk of hostile bytes ends: each level has at
  // most as many entries as the segment has blocks.
  Status AddEntries(const IndexBlock& index, const IndexEntry& named_by) {
    const size_t first = layout_.blocks.size();
    uint64_t below = 0;
    for (uint32_t i = 0; i < index.size(); ++i) {
      const std::optional<IndexBlock::Entry> entry = index.At(i);
      if (!entry || layout_.blocks.size() >= segment_.data_blocks) {
        return Wrong(named_by.block, "an index block is malformed");
      }
      IndexEntry copy = index.Copy(*entry);
      const bool behind = layout_.blocks.empty() || layout_.blocks.back().largest < copy.smallest;
      if (!behind || copy.smallest > copy.largest || !HandleFits(view_, copy.block)) {
        return Wrong(named_by.block, "index entries are out of order, overlap, or point outside the table");
      }
      below += copy.entries;
      layout_.blocks.push_back(std::move(copy));
    }
    const bool agrees = layout_.blocks.size() > first &&
                        layout_.blocks[first].smallest == named_by.smallest &&
                        layout_.blocks.back().largest == named_by.largest && below == named_by.entries;
    return agrees ? OkStatus() : Status(Wrong(named_by.block, "an index block differs from what names it"));
  }

  const TableEnvironment& environment_;
  const TableView& view_;
  const SegmentDescriptor& segment_;
  const uint32_t ordinal_;
  const IoPurpose purpose_;
  SegmentLayout layout_;
};

}  // namespace

std::vector<BlockHandle> SegmentLayout::AllBlocks() const {
  std::vector<BlockHandle> all{footer};
  all.insert(all.end(), index_blocks.begin(), index_blocks.end());
  all.insert(all.end(), filter_pages.begin(), filter_pages.end());
  for (const IndexEntry& entry : blocks) {
    all.push_back(entry.block);
  }
  return all;
}

std::vector<TableRange> SegmentLayout::UsedRanges() const {
  std::vector<TableRange> used;
  for (const BlockHandle& block : AllBlocks()) {
    used.push_back(TableRange::Of(block));
  }
  return used;
}

Task<Result<SegmentLayout>> ReadSegmentLayout(const TableEnvironment& environment, const TableView& view,
                                              uint32_t ordinal, IoPurpose purpose) {
  LayoutReader reader(environment, view, ordinal, purpose);
  Result<SegmentLayout> layout = co_await reader.Run();
  co_return layout;
}

}  // namespace varve
