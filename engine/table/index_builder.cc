#include "engine/table/index_builder.h"

#include <utility>

#include "engine/base/check.h"

namespace varve {

void IndexBuilder::Add(IndexEntry entry, IndexKeyBytes bytes_min) {
  if (shortens_ && !levels_.empty() && !levels_.front().entries.empty()) {
    Shorten(entry, bytes_min.smallest);
  }
  largest_bytes_min_ = bytes_min.largest;
  AddToLevel(0, std::move(entry));
}

void IndexBuilder::Shorten(IndexEntry& next, size_t smallest_bytes_min) {
  Level& level = levels_.front();
  IndexEntry& last = level.entries.back();
  Check(last.largest < next.smallest, "index entries out of order");
  level.bytes -= IndexEntryBytesMax(last);
  const std::string_view whole = next.smallest;
  ShortenLargest(last.largest, whole, largest_bytes_min_);
  ShortenSmallest(next.smallest, last.largest, smallest_bytes_min);
  level.bytes += IndexEntryBytesMax(last);
}

void IndexBuilder::AddToLevel(size_t level, IndexEntry entry) {
  if (level == levels_.size()) {
    levels_.emplace_back();
  }
  {
    Level& at = levels_[level];
    Check(
        entry.smallest <= entry.largest && (at.entries.empty() || at.entries.back().largest < entry.smallest),
        "index entries out of order");
    at.bytes += IndexEntryBytesMax(entry);
    at.entries.push_back(std::move(entry));
  }
  if (levels_[level].bytes <= (levels_[level].partitioned ? PartitionBytes(level) : kIndexRootBytesMax)) {
    return;
  }
  // The level above may grow meanwhile, and with it `levels_`: no reference is held across.
  levels_[level].partitioned = true;
  while (levels_[level].bytes > PartitionBytes(level) && levels_[level].entries.size() > 1) {
    size_t count = 0;
    const size_t bytes_max = PartitionBytes(level);
    for (size_t bytes = 0; count < levels_[level].entries.size() - 1; ++count) {
      bytes += IndexEntryBytesMax(levels_[level].entries[count]);
      if (count > 0 && bytes > bytes_max) {
        break;
      }
    }
    WritePartition(level, count);
  }
}

size_t IndexBuilder::PartitionBytes(size_t level) const {
  return levels_[level].entries.front().outline.empty() ? kIndexPartitionBytes : kOutlinedPartitionBytes;
}

void IndexBuilder::WritePartition(size_t level, size_t count) {
  std::vector<IndexEntry>& pending = levels_[level].entries;
  std::vector<IndexEntry> partition(std::make_move_iterator(pending.begin()),
                                    std::make_move_iterator(pending.begin() + static_cast<ptrdiff_t>(count)));
  pending.erase(pending.begin(), pending.begin() + static_cast<ptrdiff_t>(count));
  levels_[level].bytes = 0;
  for (const IndexEntry& entry : pending) {
    levels_[level].bytes += IndexEntryBytesMax(entry);
  }
  std::string block = EncodeIndexBlock(partition);
  IndexEntry above;
  above.block = WriteBlock(writer_, block, identity_, BlockKind::kIndex, birth_);
  written_bytes_ += block.size();
  for (const IndexEntry& entry : partition) {
    above.entries += entry.entries;
  }
  above.smallest = std::move(partition.front().smallest);
  above.largest = std::move(partition.back().largest);
  AddToLevel(level + 1, std::move(above));
}

IndexBuilder::Root IndexBuilder::Finish() {
  Check(!levels_.empty(), "an index without blocks");
  for (size_t level = 0; level + 1 < levels_.size(); ++level) {
    if (!levels_[level].entries.empty()) {
      WritePartition(level, levels_[level].entries.size());
    }
  }
  Root root;
  root.payload = EncodeIndexBlock(levels_.back().entries);
  root.levels = static_cast<uint8_t>(levels_.size());
  return root;
}

uint64_t IndexBuilder::pending_bytes() const {
  uint64_t bytes = 0;
  for (const Level& level : levels_) {
    bytes += level.bytes;
  }
  return bytes;
}

}  // namespace varve
