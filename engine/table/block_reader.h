// How a block gets into memory: from the cache at once, from the device by a Task.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/cache/block_cache.h"
#include "engine/cache/read_run.h"
#include "engine/device/block_device.h"
#include "engine/space/extent.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_view.h"

namespace varve {

// What the cache knows a table's block by.
inline BlockKey CacheKeyOf(TableId table, const BlockHandle& handle) {
  return {table, handle.birth, handle.table_offset};
}

// The verified block (trailer included) if it is cached; else empty.
inline BlockRef FindCachedBlock(const TableEnvironment& environment, TableId table, const BlockHandle& handle,
                                BlockKind kind) {
  return environment.cache.Lookup(CacheKeyOf(table, handle), kind);
}

// Whether the handle names bytes that the table has.
bool HandleFits(const TableView& view, const BlockHandle& handle);
// Where in the table's bytes [start, start + bytes) the block begins; nullopt: they do not hold all of it.
std::optional<uint64_t> PlaceIn(uint64_t start, uint64_t bytes, const BlockHandle& block);

// Reads and verifies a block, in one device read unless it lies across a jump between extents. With
// `fill_cache` it counts as a miss, and whoever else misses the block meanwhile shares the read. Errors name
// table and offset.
Task<Result<BlockRef>> ReadBlock(const TableEnvironment& environment, const TableView& view,
                                 BlockHandle handle, BlockKind kind, IoPurpose purpose, bool fill_cache);

// The same, with `fill_cache`, by a read that goes on over the blocks `behind` it, which lie there without a
// gap: they enter the cache too. What is wrong with one of them is for whoever asks for it to find.
Task<Result<BlockRef>> ReadBlockAndBehind(const TableEnvironment& environment, const TableView& view,
                                          BlockHandle handle, std::vector<BlockHandle> behind, BlockKind kind,
                                          IoPurpose purpose);

// The same for the cache, of a block that somebody may be reading, and has counted.
Task<Result<BlockRef>> JoinRead(const TableEnvironment& environment, const TableView& view,
                                BlockHandle handle, BlockKind kind, IoPurpose purpose);

// Several blocks of one kind at once, in the order of `handles`, to be used and dropped; those that are
// cached are taken from there, and what is read does not enter the cache. Blocks that lie close behind each
// other are read together, up to 256 KiB.
Task<Result<std::vector<BlockRef>>> ReadBlocks(const TableEnvironment& environment, const TableView& view,
                                               std::vector<BlockHandle> handles, BlockKind kind,
                                               IoPurpose purpose);

// Verifies what lies at `offset` of `read` as the block that `handle` names, and makes a block of it. What
// enters the cache is read for blocks that stay.
Result<BlockRef> AcceptBlock(const TableEnvironment& environment, TableId table, const BlockHandle& handle,
                             BlockKind kind, const ReadRun& read, uint64_t offset, bool fill_cache);
// Memory for a read whose blocks are accepted with that `fill_cache`.
ReadRun MemoryFor(const TableEnvironment& environment, uint64_t bytes, bool fill_cache);

// Where on the device those bytes lie, in as many pieces as they do. Preconditions as for ReadTableBytes.
Result<std::vector<DevicePiece>> LocateTableBytes(const BlockDevice& device, const TableView& view,
                                                  uint64_t table_offset, uint64_t bytes);

// Reads the table's bytes from `table_offset` on. Both it and the length are multiples of the sector size. A
// merge's may come from what the cache has kept of what was written.
Task<Status> ReadTableBytes(const TableEnvironment& environment, const TableView& view, uint64_t table_offset,
                            std::span<std::byte> into, IoPurpose purpose);

}  // namespace varve
