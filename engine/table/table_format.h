// What the bytes of a table are, shared by its writers and readers. Byte tables: docs/on-disk/table.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "engine/cache/block_cache.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_view.h"

namespace varve {

// Every block ends with a trailer: one codec byte, then the checksum of payload and codec byte.
inline constexpr size_t kBlockTrailerBytes = 9;
inline constexpr uint8_t kCodecNone = 0;
// Blocks are some KiB long. A data block holds all versions of a key, however many snapshots have kept: room
// for two hundred of the largest. A handle that asks for more memory is damage.
inline constexpr uint32_t kBlockBytesMax = 256 * kMiB;

// BlockKind enters the checksums of blocks: its values never change.
static_assert(static_cast<int>(BlockKind::kData) == 0);
static_assert(static_cast<int>(BlockKind::kIndex) == 1);
static_assert(static_cast<int>(BlockKind::kFilter) == 2);
static_assert(static_cast<int>(BlockKind::kFooter) == 3);

// Who a block is, apart from its place: binds its checksum, so that right bytes in a wrong place do not pass.
class BlockIdentity {
 public:
  BlockIdentity(const StoreUuid& store_uuid, TableId table);

  // The seed of the checksum of a block.
  uint64_t SeedOf(BlockKind kind, Generation birth, uint64_t table_offset) const;

 private:
  uint64_t table_seed_;
};

// Appends the trailer to `block` and returns the handle by which it is found again.
BlockHandle SealBlock(std::string& block, const BlockIdentity& identity, BlockKind kind, Generation birth,
                      uint64_t table_offset);
// The payload of the block that `handle` names, or what is wrong with the bytes.
Result<std::string_view> OpenBlock(std::string_view block, const BlockIdentity& identity, BlockKind kind,
                                   const BlockHandle& handle);
// The same for a block that has passed OpenBlock before.
inline std::string_view PayloadOf(std::string_view block) {
  return block.substr(0, block.size() - kBlockTrailerBytes);
}

// "table 7 offset 4096: what"
Error TableCorruption(TableId table, uint64_t table_offset, std::string_view what);

}  // namespace varve
