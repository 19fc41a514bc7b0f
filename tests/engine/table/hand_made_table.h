// A table of which every block is made by hand, with right checksums: what an attacker can write and no
// writer does.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/internal_key.h"
#include "engine/table/block_builder.h"
#include "engine/table/index_block.h"
#include "engine/table/segment_footer.h"
#include "engine/table/table_format.h"
#include "tests/support/memory_device.h"

namespace varve {

class HandMadeTable {
 public:
  // The table lies on `device` from `extent` on.
  HandMadeTable(MemoryDevice& device, const StoreUuid& store, TableId id, Extent extent)
      : device_(device), store_(store), id_(id), extent_(extent), identity_(store, id) {}

  // Records in the order given, whatever that is.
  BlockHandle AddData(const std::vector<std::pair<std::string, std::string>>& records) {
    BlockBuilder builder;
    for (const auto& [internal_key, value] : records) {
      builder.Add(internal_key, value);
    }
    entries_ += records.size();
    std::string block = builder.Finish();
    const BlockHandle handle = Write(block, BlockKind::kData);
    data_bytes_ += handle.bytes;
    return handle;
  }
  BlockHandle AddIndex(const std::vector<IndexEntry>& entries) {
    std::string block = EncodeIndexBlock(entries);
    return Write(block, BlockKind::kIndex);
  }
  // The view of a table with this index. `smallest` and `largest` are user keys.
  TableView Finish(const std::vector<IndexEntry>& root, uint8_t index_levels, std::string_view smallest,
                   std::string_view largest) {
    SegmentDescriptor segment;
    segment.entries = entries_;
    segment.data_blocks = 1;
    segment.data_bytes = segment.live_bytes = data_bytes_;
    AppendInternalKey(segment.smallest, smallest, SequenceNumber(1), RecordKind::kValue);
    AppendInternalKey(segment.largest, largest, SequenceNumber(1), RecordKind::kValue);
    segment.smallest_sequence = segment.largest_sequence = SequenceNumber(1);
    end_ = RoundUp(end_, device_.sector_bytes());
    std::string footer;
    AppendFooter(footer, store_, id_, Generation(1), 0, segment, FilterGeometry(), {}, EncodeIndexBlock(root),
                 index_levels);
    segment.footer = Write(footer, BlockKind::kFooter);
    segment.meta_bytes = segment.footer.bytes;
    TableView view;
    view.id = id_;
    view.generation = Generation(1);
    view.extents = {{0, extent_}};
    view.used_bytes = RoundUp(end_, device_.sector_bytes());
    view.smallest = smallest;
    view.largest = largest;
    view.segments = {segment};
    return view;
  }

 private:
  BlockHandle Write(std::string& block, BlockKind kind) {
    const BlockHandle handle = SealBlock(block, identity_, kind, Generation(1), end_);
    device_.Poke(extent_.offset().value + end_, block);
    end_ += block.size();
    return handle;
  }

  MemoryDevice& device_;
  const StoreUuid store_;
  const TableId id_;
  const Extent extent_;
  const BlockIdentity identity_;
  uint64_t end_ = 0;
  uint64_t entries_ = 0;
  uint64_t data_bytes_ = 0;
};

}  // namespace varve
