// BlockBatch: the blocks that the next entries of an index name, read at once and in the order in which they
// lie: a table that was mended has its new blocks in other places than the old ones, and several spans of one
// block.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/table/block_reader.h"
#include "engine/table/index_block.h"
#include "engine/table/table_environment.h"

namespace varve {

class BlockBatch {
 public:
  // Takes the place of what was there; several handles may be the same. Errors: as ReadBlocks; then there is
  // nothing. All must outlive the Task.
  Task<Status> Read(const TableEnvironment& environment, const TableView& view,
                    std::vector<BlockHandle> handles, IoPurpose purpose);
  // The same with data blocks of the entries [first, end) of `index`, of about `bytes_max` in all. Where a
  // read failed, who wants a block reads it by itself, and learns why.
  Task<void> ReadAhead(const TableEnvironment& environment, const TableView& view, const IndexBlock& index,
                       uint32_t first, uint32_t end, uint64_t bytes_max, IoPurpose purpose);

  // Empty: it is not there.
  BlockRef Find(const BlockHandle& handle) const;
  // Of all blocks.
  uint64_t bytes() const;

 private:
  // By table offset.
  std::vector<std::pair<BlockHandle, BlockRef>> blocks_;
};

}  // namespace varve
