#include "engine/compaction/block_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/common_prefix.h"
#include "engine/base/internal_key.h"
#include "engine/base/units.h"
#include "engine/table/span_cursor.h"

namespace varve {
namespace {

class Splitter {
 public:
  Splitter(const IndexEntry& entry, CacheStanding standing, const RecordRun& records, size_t first,
           size_t end, RecordRun& replaced)
      : entry_(entry),
        standing_(standing),
        records_(records),
        record_(first),
        end_(end),
        replaced_(replaced) {}

  void Take(std::string_view internal_key, std::string_view value, bool may_stay) {
    const std::string_view user_key = UserKeyOf(internal_key);
    const size_t before = record_;
    while (record_ < end_ && UserKeyOf(records_.key(record_)) < user_key) {
      ++record_;
    }
    if (record_ != before) {
      EndSpanBefore(user_key);
    }
    const bool comes_too = record_ < end_ && UserKeyOf(records_.key(record_)) == user_key;
    if (comes_too || !may_stay) {
      EndSpanBefore(user_key);
      replaced_.Add(internal_key, value, standing_);
      replaced_bytes_ += internal_key.size() + value.size();
    } else {
      Keep(user_key);
    }
    last_key_ = user_key;
  }

  // Keys and values.
  uint64_t replaced_bytes() const { return replaced_bytes_; }

  BlockSplit Finish() {
    if (open_ && entry_.is_span) {
      EndSpanBefore(entry_.largest);
    }
    EndSpan();
    // A block that no record has taken anything from is what it was. Its keys are whole now: a record that
    // comes may lie between them and those of the entry.
    if (split_.kept.size() == 1 && split_.kept.front().span.entries == entry_.entries) {
      split_.kept.front().span.is_span = entry_.is_span;
      split_.kept.front().span.outline = entry_.outline;
    }
    return std::move(split_);
  }

 private:
  void Keep(std::string_view user_key) {
    if (!open_) {
      open_ = KeptSpan{record_, replaced_.size(), IndexEntry(), {SmallestBytesMin(user_key), 0}};
      open_->span.smallest = user_key;
      open_->span.block = entry_.block;
      open_->span.is_span = true;
    }
    open_->span.largest = user_key;
    ++open_->span.entries;
  }
  // What tells a span that begins with this key from the record before it in the block. In front of the first
  // one there is what the entry leaves out.
  size_t SmallestBytesMin(std::string_view user_key) const {
    if (last_key_) {
      return CommonPrefixOf(*last_key_, user_key) + 1;
    }
    const std::string_view entrys = entry_.smallest;
    return entry_.is_span ? std::min(CommonPrefixOf(entrys, user_key) + 1, entrys.size()) : 0;
  }
  void EndSpanBefore(std::string_view user_key) {
    if (open_) {
      open_->key_bytes_min.largest = CommonPrefixOf(open_->span.largest, user_key) + 1;
      EndSpan();
    }
  }
  void EndSpan() {
    if (open_) {
      split_.kept.push_back(std::move(*open_));
      open_.reset();
    }
  }

  const IndexEntry& entry_;
  const CacheStanding standing_;
  const RecordRun& records_;
  size_t record_;
  const size_t end_;
  RecordRun& replaced_;
  std::optional<KeptSpan> open_;
  // Of the record before in the block.
  std::optional<std::string> last_key_;
  BlockSplit split_;
  uint64_t replaced_bytes_ = 0;
};

// Keys and values of all records, dead ones too.
uint64_t RecordBytesOf(std::string_view payload) {
  DataBlockCursor cursor;
  cursor.Reset(payload);
  uint64_t bytes = 0;
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    bytes += cursor.key().size() + cursor.value().size();
  }
  return bytes;
}

}  // namespace

Result<BlockSplit> SplitBlock(TableId table, const IndexEntry& entry, std::string_view payload,
                              CacheStanding standing, const RecordRun& records, size_t first, size_t end,
                              uint64_t keep_bytes_min, RecordRun& replaced) {
  SpanCursor cursor;
  cursor.Reset(payload,
               entry.is_span ? std::optional(EntrySpan{entry.smallest, entry.largest}) : std::nullopt);
  uint64_t bytes = 0;
  uint64_t entries = 0;
  std::string previous;
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    const std::string_view user_key = UserKeyOf(cursor.key());
    if (entries > 0 && CompareInternalKeys(previous, cursor.key()) >= 0) {
      return Corruption(fmt::format("table {}: the records of a block are out of order", table.value));
    }
    previous = cursor.key();
    if (user_key < entry.smallest || user_key > entry.largest) {
      return Corruption(fmt::format("table {}: a block holds a key that the index leaves out", table.value));
    }
    const RecordKind kind = KindOf(cursor.key());
    if (kind != RecordKind::kTombstone && kind != RecordKind::kValue) {
      return Unsupported(
          fmt::format("table {} has a record of kind {}", table.value, static_cast<int>(kind)));
    }
    bytes += cursor.key().size() + cursor.value().size();
    ++entries;
  }
  if (cursor.corrupt() || entries != entry.entries) {
    return Corruption(fmt::format("table {}: a data block differs from its index entry", table.value));
  }
  Splitter splitter(entry, standing, records, first, end, replaced);
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    splitter.Take(cursor.key(), cursor.value(), bytes > keep_bytes_min);
  }
  BlockSplit result = splitter.Finish();
  const uint64_t whole_bytes = entry.is_span ? RecordBytesOf(payload) : bytes;
  // A whole block of which nothing stays gives up all that it takes.
  result.replaced_bytes = static_cast<uint64_t>(static_cast<double>(entry.block.bytes) *
                                                ShareOf(splitter.replaced_bytes(), whole_bytes));
  return result;
}

}  // namespace varve
