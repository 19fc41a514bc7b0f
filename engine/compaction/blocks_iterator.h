// BlocksIterator: forward over data blocks that are in memory already, from the first one on.
#pragma once

#include <span>
#include <vector>

#include "engine/cache/block_cache.h"
#include "engine/compaction/forward_iterator.h"
#include "engine/table/data_block.h"
#include "engine/table/index_block.h"

namespace varve {

// SeekToFirst and Next alone are allowed. Errors: kCorruption (also where a block holds a key that its index
// entry leaves out), kUnsupported.
class BlocksIterator final : public ForwardIterator {
 public:
  // `entries` are those of `blocks` in the index, and must outlive it. `table` is for messages.
  BlocksIterator(TableId table, std::vector<BlockRef> blocks, std::span<const IndexEntry> entries)
      : table_(table), blocks_(std::move(blocks)), entries_(entries) {}

  Step SeekToFirst() override;
  Step Next() override;
  Task<void> Load() override { co_return; }

  bool Valid() const override { return cursor_.Valid(); }
  std::string_view key() const override { return cursor_.key(); }
  std::string_view value() const override { return cursor_.value(); }
  Status status() const override { return status_; }

  // Of those that the walk has come to.
  uint64_t tombstones() const { return tombstones_; }

 private:
  void Enter();
  void Fail(Error error);

  const TableId table_;
  const std::vector<BlockRef> blocks_;
  const std::span<const IndexEntry> entries_;
  size_t at_ = 0;
  DataBlockCursor cursor_;
  uint64_t tombstones_ = 0;
  Status status_;
};

}  // namespace varve
