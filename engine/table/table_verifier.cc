// The whole table against everything that the format promises. Reads past the cache: what lies on the device
// counts.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "engine/base/checksum.h"
#include "engine/base/internal_key.h"
#include "engine/cache/block_cache.h"
#include "engine/table/block_batch.h"
#include "engine/table/block_reader.h"
#include "engine/table/outline.h"
#include "engine/table/segment_footer.h"
#include "engine/table/span_cursor.h"
#include "engine/table/table_format.h"
#include "engine/table/table_reader.h"

namespace varve {
namespace {

// Of data blocks that are read at once.
constexpr uint64_t kBatchBytes = 1 * kMiB;

class TableVerifier {
 public:
  TableVerifier(const TableEnvironment& environment, const TableView& view, TableVerifierObserver& observer)
      : environment_{environment.device, no_cache_, environment.store_uuid},
        view_(view),
        observer_(observer) {}

  Task<Status> Run();

 private:
  // What a segment's blocks add up to.
  struct Totals {
    uint64_t entries = 0;
    uint64_t tombstones = 0;
    uint64_t data_blocks = 0;
    uint64_t data_bytes = 0;
    uint64_t meta_bytes = 0;
    SequenceNumber smallest_sequence = kSequenceNumberMax;
    SequenceNumber largest_sequence;
    std::string smallest;
    std::string largest;
  };

  Task<Status> VerifySegment(uint32_t ordinal);
  Task<Status> LoadFilter(const SegmentFooter& footer, const SegmentDescriptor& segment);
  // All blocks below an index block. `levels_below` is 0 where its entries name data blocks.
  Task<Status> VerifyIndex(IndexBlock index, uint64_t table_offset, uint8_t levels_below, IndexEntry above);
  Task<Status> VerifyChildIndex(IndexEntry entry, uint8_t levels_below);
  // Entries that name data blocks; begins at `first`, and says where it ended.
  Task<Result<size_t>> VerifyBatch(const std::vector<IndexEntry>& entries, size_t first);
  Task<Status> VerifyData(const IndexEntry& entry, BlockRef block);
  void VerifyEntries(const IndexEntry& entry, std::string_view payload, bool is_new);
  void VerifyRestartPoints(const IndexEntry& entry, std::string_view payload);
  void VerifyRecord(const IndexEntry& entry, std::string_view internal_key);
  void CompareTotals(const SegmentFooter& footer, const SegmentDescriptor& segment);
  void FindOverlaps();

  // The block; or empty after reporting what is wrong with it; or the device's error.
  Task<Result<BlockRef>> Load(BlockHandle handle, BlockKind kind, KeyRange keys);
  void Report(uint64_t table_offset, std::string_view what, KeyRange keys) {
    ReportError(TableCorruption(view_.id, table_offset, what), std::move(keys));
  }
  void ReportError(const Error& error, KeyRange keys) {
    ++faults_;
    observer_.OnFault({error.message(), std::move(keys)});
  }
  static KeyRange KeysOf(const IndexEntry& entry) { return {entry.smallest, entry.largest}; }
  static KeyRange KeysOf(const SegmentDescriptor& segment) {
    return {std::string(segment.smallest_user_key()), std::string(segment.largest_user_key())};
  }

  BlockCache no_cache_{0};
  const TableEnvironment environment_;
  const TableView& view_;
  TableVerifierObserver& observer_;
  uint64_t faults_ = 0;
  Totals totals_;
  // Of the segment's index: its keys are those of the blocks' content, or bounds of it.
  bool whole_keys_ = false;
  FilterGeometry filter_;
  std::vector<BlockRef> filter_pages_;
  std::vector<BlockHandle> blocks_;
  // Table offsets.
  std::set<uint64_t> span_blocks_;
};

Task<Result<BlockRef>> TableVerifier::Load(BlockHandle handle, BlockKind kind, KeyRange keys) {
  blocks_.push_back(handle);
  const Status may_read = co_await observer_.BeforeRead(handle.bytes);
  if (!may_read.ok()) {
    co_return may_read.error();
  }
  Result<BlockRef> block = co_await ReadBlock(environment_, view_, handle, kind, IoPurpose::kCheck, false);
  if (block.ok() || block.Is(ErrorCode::kDeviceError)) {
    co_return block;
  }
  ReportError(block.error(), std::move(keys));
  co_return BlockRef();
}

Task<Status> TableVerifier::Run() {
  for (uint32_t ordinal = 0; ordinal < view_.segments.size(); ++ordinal) {
    Status status = co_await VerifySegment(ordinal);
    if (!status.ok()) {
      co_return status;
    }
  }
  FindOverlaps();
  co_return OkStatus();
}

Task<Status> TableVerifier::VerifySegment(uint32_t ordinal) {
  const SegmentDescriptor& segment = view_.segments[ordinal];
  totals_ = Totals{};
  filter_pages_.clear();
  filter_ = FilterGeometry{};
  if (segment.range_tombstones) {
    Report(segment.range_tombstones->table_offset, "range tombstones are of a later version",
           KeysOf(segment));
  }
  const Result<BlockRef> block = co_await Load(segment.footer, BlockKind::kFooter, KeysOf(segment));
  if (!block.ok()) {
    co_return block.error();
  }
  if (!*block) {
    co_return OkStatus();
  }
  const std::optional<SegmentFooter> footer = SegmentFooter::Parse(PayloadOf(block->bytes()));
  if (!footer) {
    Report(segment.footer.table_offset, "a segment footer is malformed", KeysOf(segment));
    co_return OkStatus();
  }
  whole_keys_ = footer->has_whole_keys();
  const std::string_view difference =
      footer->DifferenceTo(environment_.store_uuid, view_.id, ordinal, segment);
  if (!difference.empty()) {
    Report(segment.footer.table_offset, difference, KeysOf(segment));
  }
  Status status = co_await LoadFilter(*footer, segment);
  if (!status.ok()) {
    co_return status;
  }
  IndexEntry whole;
  whole.smallest = UserKeyOf(footer->smallest());
  whole.largest = UserKeyOf(footer->largest());
  whole.entries = footer->head().entries;
  const uint64_t faults_before = faults_;
  const auto levels_below = static_cast<uint8_t>(footer->index_levels() - 1);
  status = co_await VerifyIndex(footer->root(), segment.footer.table_offset, levels_below, whole);
  if (status.ok() && faults_ == faults_before) {
    // A block that could not be read would be reported a second time here.
    CompareTotals(*footer, segment);
  }
  co_return status;
}

Task<Status> TableVerifier::LoadFilter(const SegmentFooter& footer, const SegmentDescriptor& segment) {
  filter_ = footer.filter();
  for (uint32_t page = 0; page < filter_.pages; ++page) {
    const BlockHandle handle = footer.FilterPage(page);
    Result<BlockRef> block = co_await Load(handle, BlockKind::kFilter, KeysOf(segment));
    if (!block.ok()) {
      co_return block.error();
    }
    totals_.meta_bytes += handle.bytes;
    filter_pages_.push_back(std::move(block).value());
    if (!filter_pages_.back()) {
      continue;
    }
    if (filter_pages_.back().bytes().size() != filter_.page_bytes() + kBlockTrailerBytes) {
      Report(handle.table_offset, "a filter page has a wrong length", KeysOf(segment));
      filter_pages_.back() = BlockRef();
    }
  }
  co_return OkStatus();
}

Task<Status> TableVerifier::VerifyIndex(IndexBlock index, uint64_t table_offset, uint8_t levels_below,
                                        IndexEntry above) {
  std::vector<IndexEntry> entries;
  uint64_t below = 0;
  for (uint32_t i = 0; i < index.size(); ++i) {
    const std::optional<IndexBlock::Entry> entry = index.At(i);
    if (!entry) {
      Report(table_offset, "an index block is malformed", KeysOf(above));
      co_return OkStatus();
    }
    IndexEntry copy = index.Copy(*entry);
    if (copy.smallest > copy.largest || (i > 0 && copy.smallest <= entries.back().largest)) {
      Report(table_offset, "index entries are out of order or overlap", KeysOf(above));
      co_return OkStatus();
    }
    below += copy.entries;
    entries.push_back(std::move(copy));
  }
  // What is not what the level above says is not followed: so a walk of hostile bytes ends.
  if (entries.front().smallest != above.smallest || entries.back().largest != above.largest ||
      below != above.entries) {
    Report(table_offset, "an index block differs from what names it", KeysOf(above));
    co_return OkStatus();
  }
  for (size_t i = 0; i < entries.size();) {
    if (levels_below > 0) {
      const auto further = static_cast<uint8_t>(levels_below - 1);
      Status status = co_await VerifyChildIndex(entries[i], further);
      if (!status.ok()) {
        co_return status;
      }
      ++i;
    } else {
      const Result<size_t> end = co_await VerifyBatch(entries, i);
      if (!end.ok()) {
        co_return end.error();
      }
      i = *end;
    }
  }
  co_return OkStatus();
}

Task<Status> TableVerifier::VerifyChildIndex(IndexEntry entry, uint8_t levels_below) {
  const Result<BlockRef> block = co_await Load(entry.block, BlockKind::kIndex, KeysOf(entry));
  if (!block.ok()) {
    co_return block.error();
  }
  if (!*block) {
    co_return OkStatus();
  }
  totals_.meta_bytes += entry.block.bytes;
  const std::optional<IndexBlock> index = IndexBlock::Parse(PayloadOf(block->bytes()));
  if (!index) {
    Report(entry.block.table_offset, "an index block is malformed", KeysOf(entry));
    co_return OkStatus();
  }
  Status status = co_await VerifyIndex(*index, entry.block.table_offset, levels_below, entry);
  co_return status;
}

Task<Result<size_t>> TableVerifier::VerifyBatch(const std::vector<IndexEntry>& entries, size_t first) {
  std::vector<BlockHandle> handles;
  uint64_t bytes = 0;
  size_t end = first;
  while (end < entries.size() && (end == first || bytes < kBatchBytes)) {
    const BlockHandle& handle = entries[end++].block;
    if (HandleFits(view_, handle)) {
      handles.push_back(handle);
      bytes += handle.bytes;
    }
  }
  const Status may_read = co_await observer_.BeforeRead(bytes);
  if (!may_read.ok()) {
    co_return may_read.error();
  }
  // Where one of them is damaged each is read by itself.
  BlockBatch batch;
  const Status read = co_await batch.Read(environment_, view_, std::move(handles), IoPurpose::kCheck);
  if (read.Is(ErrorCode::kDeviceError)) {
    co_return read.error();
  }
  for (size_t i = first; i < end; ++i) {
    Status status = co_await VerifyData(entries[i], batch.Find(entries[i].block));
    if (!status.ok()) {
      co_return status.error();
    }
  }
  co_return end;
}

Task<Status> TableVerifier::VerifyData(const IndexEntry& entry, BlockRef block) {
  const BlockHandle handle = entry.block;
  // Spans share blocks.
  const bool is_new = !entry.is_span || span_blocks_.insert(handle.table_offset).second;
  if (is_new) {
    blocks_.push_back(handle);
  }
  if (!block) {
    Result<BlockRef> alone =
        co_await ReadBlock(environment_, view_, handle, BlockKind::kData, IoPurpose::kCheck, false);
    if (alone.Is(ErrorCode::kDeviceError)) {
      co_return alone.error();
    }
    if (!alone.ok()) {
      ReportError(alone.error(), KeysOf(entry));
      co_return OkStatus();
    }
    block = std::move(alone).value();
  }
  ++totals_.data_blocks;
  totals_.data_bytes += is_new ? handle.bytes : 0;
  VerifyEntries(entry, PayloadOf(block.bytes()), is_new);
  co_return OkStatus();
}

void TableVerifier::VerifyEntries(const IndexEntry& entry, std::string_view payload, bool is_new) {
  const auto report = [&](std::string_view what) { Report(entry.block.table_offset, what, KeysOf(entry)); };
  SpanCursor span;
  span.Reset(payload, entry.is_span ? std::optional(EntrySpan{entry.smallest, entry.largest}) : std::nullopt);
  uint64_t count = 0;
  std::string first;
  std::string last;
  for (span.SeekToFirst(); span.Valid(); span.Next()) {
    if (count == 0) {
      first = span.key();
    } else if (CompareInternalKeys(last, span.key()) >= 0) {
      return report("entries of a block are out of order");
    }
    ++count;
    VerifyRecord(entry, span.key());
    last = span.key();
  }
  if (span.corrupt()) {
    return report("a data block is malformed");
  }
  const bool within = UserKeyOf(first) >= entry.smallest && UserKeyOf(last) <= entry.largest;
  const bool whole = UserKeyOf(first) == entry.smallest && UserKeyOf(last) == entry.largest;
  if (count == 0 || count != entry.entries || !(whole_keys_ ? whole : within)) {
    report("a data block differs from its index entry");
  }
  if (!entry.outline.empty() && (entry.is_span || !IsOutlineOf(entry.outline, payload))) {
    report("an outline differs from its block");
  }
  if (is_new) {
    VerifyRestartPoints(entry, payload);
  }
  if (totals_.smallest.empty()) {
    totals_.smallest = std::move(first);
  }
  totals_.largest = std::move(last);
}

// A search starts from the restart points: each must lead to its entry. Of a block that spans name, what is
// dead lies between them, and must be in order too.
void TableVerifier::VerifyRestartPoints(const IndexEntry& entry, std::string_view payload) {
  DataBlockCursor cursor;
  cursor.Reset(payload);
  uint64_t count = 0;
  std::string previous;
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    if (count > 0 && CompareInternalKeys(previous, cursor.key()) >= 0) {
      return Report(entry.block.table_offset, "entries of a block are out of order", KeysOf(entry));
    }
    ++count;
    previous = cursor.key();
  }
  for (cursor.SeekToLast(); cursor.Valid(); cursor.Prev()) {
    --count;
  }
  if (cursor.corrupt() || count != 0) {
    Report(entry.block.table_offset, "restart points of a data block are wrong", KeysOf(entry));
  }
}

void TableVerifier::VerifyRecord(const IndexEntry& entry, std::string_view internal_key) {
  ++totals_.entries;
  const RecordKind kind = KindOf(internal_key);
  if (kind == RecordKind::kTombstone) {
    ++totals_.tombstones;
  } else if (kind != RecordKind::kValue) {
    Report(entry.block.table_offset, fmt::format("a record has kind {}", static_cast<int>(kind)),
           KeysOf(entry));
  }
  totals_.smallest_sequence = std::min(totals_.smallest_sequence, SequenceOf(internal_key));
  totals_.largest_sequence = std::max(totals_.largest_sequence, SequenceOf(internal_key));
  if (filter_.pages > 0) {
    const uint64_t hash = Hash64(UserKeyOf(internal_key));
    const BlockRef& page = filter_pages_[filter_.PageOf(hash)];
    if (page && !FilterMayContain(filter_, PayloadOf(page.bytes()), hash)) {
      Report(entry.block.table_offset, "the filter denies a key of this block", KeysOf(entry));
    }
  }
}

void TableVerifier::CompareTotals(const SegmentFooter& footer, const SegmentDescriptor& segment) {
  const FooterHead& head = footer.head();
  // What a block merge keeps is counted from the index, which knows user keys alone: sequence numbers and the
  // versions at both ends are bounds.
  if (totals_.entries != head.entries || totals_.tombstones != head.tombstones ||
      totals_.data_blocks != head.data_blocks || totals_.data_bytes != head.data_bytes ||
      totals_.meta_bytes != head.meta_bytes || totals_.smallest_sequence.value < head.smallest_sequence ||
      totals_.largest_sequence.value > head.largest_sequence ||
      CompareInternalKeys(totals_.smallest, footer.smallest()) < 0 ||
      CompareInternalKeys(totals_.largest, footer.largest()) > 0 ||
      (whole_keys_ && (UserKeyOf(totals_.smallest) != UserKeyOf(footer.smallest()) ||
                       UserKeyOf(totals_.largest) != UserKeyOf(footer.largest())))) {
    Report(segment.footer.table_offset, "a segment's blocks do not add up to what its footer says",
           KeysOf(segment));
  }
}

void TableVerifier::FindOverlaps() {
  std::sort(blocks_.begin(), blocks_.end(),
            [](const BlockHandle& a, const BlockHandle& b) { return a.table_offset < b.table_offset; });
  for (size_t i = 1; i < blocks_.size(); ++i) {
    if (blocks_[i].table_offset < blocks_[i - 1].end()) {
      Report(blocks_[i].table_offset, "two blocks overlap", {view_.smallest, view_.largest});
    }
  }
}

}  // namespace

Task<Status> VerifyTable(const TableEnvironment& environment, const TableView& view,
                         TableVerifierObserver& observer) {
  TableVerifier verifier(environment, view, observer);
  Status status = co_await verifier.Run();
  co_return status;
}

}  // namespace varve
