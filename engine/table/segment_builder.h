// SegmentBuilder: one segment at the end of a table, whatever table it is: new, or one that gets another
// segment (append merge), or a new generation of a segment whose clean blocks stay where they are (block
// merge).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/table/block_builder.h"
#include "engine/table/filter.h"
#include "engine/table/index_builder.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_view.h"
#include "engine/table/table_writer.h"

namespace varve {

struct SegmentOptions {
  // Target of a data block's size. An option at mkfs.
  uint32_t block_bytes = 4 * kKiB;
  // 0: no filter.
  double bits_per_key = 10;
  // The filter's room for keys that later merges insert, as a share of the entries.
  double filter_reserve = 0;
};

class SegmentBuilder {
 public:
  // `generation` is that of the view being made: every block written here is born in it.
  SegmentBuilder(const StoreUuid& store_uuid, TableId table, Generation generation, uint32_t ordinal,
                 TableWriter& writer, const SegmentOptions& options);

  // Internal keys ascend strictly (checked), blocks that are kept included.
  void Add(std::string_view internal_key, std::string_view value);
  uint64_t EstimatedBytes() const;
  bool CanCutBefore(std::string_view user_key) const;
  uint64_t entries() const { return descriptor_.entries; }

  // Writes what is open, the filter, the index and the footer. Precondition: entries() > 0.
  SegmentDescriptor Finish();

 private:
  void FinishBlock();

  StoreUuid store_uuid_;
  TableId table_;
  Generation generation_;
  uint32_t ordinal_;
  TableWriter& writer_;
  SegmentOptions options_;
  BlockIdentity identity_;
  BlockBuilder block_;
  IndexBuilder index_;
  FilterBuilder filter_;
  std::string block_smallest_;  // user key
  std::string last_key_;        // internal key
  SegmentDescriptor descriptor_;
};

}  // namespace varve
