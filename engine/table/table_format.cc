#include "engine/table/table_format.h"

#include <fmt/format.h>

#include "engine/base/checksum.h"
#include "engine/base/coding.h"

namespace varve {

BlockIdentity::BlockIdentity(const StoreUuid& store_uuid, TableId table)
    : table_seed_(
          Checksum64(std::string_view(reinterpret_cast<const char*>(store_uuid.data()), store_uuid.size()),
                     table.value)) {
}

uint64_t BlockIdentity::SeedOf(BlockKind kind, Generation birth, uint64_t table_offset) const {
  char identity[24];
  StoreFixed<uint64_t>(identity, static_cast<uint64_t>(kind));
  StoreFixed<uint64_t>(identity + 8, birth.value);
  StoreFixed<uint64_t>(identity + 16, table_offset);
  return Checksum64(std::string_view(identity, sizeof(identity)), table_seed_);
}

BlockHandle SealBlock(std::string& block, const BlockIdentity& identity, BlockKind kind, Generation birth,
                      uint64_t table_offset) {
  block.push_back(static_cast<char>(kCodecNone));
  const uint64_t checksum = Checksum64(block, identity.SeedOf(kind, birth, table_offset));
  AppendFixed(block, checksum);
  return BlockHandle{table_offset, static_cast<uint32_t>(block.size()), static_cast<uint32_t>(checksum),
                     birth};
}

Result<std::string_view> OpenBlock(std::string_view block, const BlockIdentity& identity, BlockKind kind,
                                   const BlockHandle& handle) {
  if (block.size() != handle.bytes || block.size() < kBlockTrailerBytes) {
    return Corruption("block has a wrong length");
  }
  const std::string_view covered = block.substr(0, block.size() - sizeof(uint64_t));
  const auto stored = LoadFixed<uint64_t>(covered.data() + covered.size());
  if (static_cast<uint32_t>(stored) != handle.checksum ||
      stored != Checksum64(covered, identity.SeedOf(kind, handle.birth, handle.table_offset))) {
    return Corruption("block checksum differs");
  }
  if (static_cast<uint8_t>(covered.back()) != kCodecNone) {
    return Unsupported(fmt::format("block codec {}", static_cast<uint8_t>(covered.back())));
  }
  return PayloadOf(block);
}

Error TableCorruption(TableId table, uint64_t table_offset, std::string_view what) {
  return Corruption(fmt::format("table {} offset {}: {}", table.value, table_offset, what));
}

}  // namespace varve
