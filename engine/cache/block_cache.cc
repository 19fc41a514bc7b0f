#include "engine/cache/block_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/base/check.h"
#include "engine/cache/cache_shard.h"

namespace varve {
namespace {

// A shard holds several of the largest blocks (a 1 MiB value), and 64 shards keep many threads apart.
constexpr uint64_t kShardBytesMin = 8 * kMiB;
constexpr uint32_t kShardsMax = 64;
// Blocks that are erased with a shard locked, some microseconds, and in one step, some tens of them: to free
// a large one costs as much as to take a dozen out.
constexpr size_t kErasedLocked = 16;
constexpr size_t kErasedAtOnce = 32;

uint64_t HashOf(const BlockKey& key) {
  // The finaliser of MurmurHash3 over the three numbers.
  uint64_t h = key.table.value * 0x9e3779b97f4a7c15 + key.birth.value * 0xc2b2ae3d27d4eb4f + key.table_offset;
  h = (h ^ h >> 33) * 0xff51afd7ed558ccd;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53;
  return h ^ h >> 33;
}

// No block is born in generation 0.
BlockKey KeyOfPiece(TableId table, uint64_t table_offset) {
  return {table, Generation(0), RoundDown(table_offset, kWrittenPieceBytes)};
}

uint32_t ShardsFor(uint64_t capacity_bytes, uint32_t wanted) {
  if (wanted != 0) {
    Check(std::has_single_bit(wanted), "the number of cache shards is no power of two");
    return wanted;
  }
  return static_cast<uint32_t>(
      std::bit_floor(std::clamp<uint64_t>(capacity_bytes / kShardBytesMin, 1, kShardsMax)));
}

}  // namespace

uint64_t CacheStatistics::hits() const {
  uint64_t sum = 0;
  for (size_t kind = 0; kind < kBlockKinds; ++kind) {
    sum += kind == static_cast<size_t>(BlockKind::kWritten) ? 0 : by_kind[kind].hits;
  }
  return sum;
}

uint64_t CacheStatistics::misses() const {
  uint64_t sum = 0;
  for (const OfKind& counters : by_kind) {
    sum += counters.misses;
  }
  return sum;
}

BlockCache::BlockCache(uint64_t capacity_bytes, uint32_t shards) : capacity_bytes_(capacity_bytes) {
  const uint32_t count = ShardsFor(capacity_bytes, shards);
  shard_mask_ = count - 1;
  for (uint32_t i = 0; i < count; ++i) {
    shards_.push_back(std::make_shared<Shard>(capacity_bytes / count));
  }
}

BlockCache::~BlockCache() = default;

// The high bits choose the shard: the low ones choose the bucket within it.
const std::shared_ptr<BlockCache::Shard>& BlockCache::ShardOf(uint64_t hash) const {
  return shards_[hash >> 48 & shard_mask_];
}

HeldBlock::~HeldBlock() {
  if (shard_ != nullptr) {
    shard_->LetGo(key_, HashOf(key_));
  }
}

BlockRef BlockCache::Lookup(const BlockKey& key, BlockKind kind) {
  const uint64_t hash = HashOf(key);
  return ShardOf(hash)->Lookup(key, hash, kind, nullptr);
}

BlockRef BlockCache::LookupToHold(const BlockKey& key, BlockKind kind, HeldBlock& held) {
  const uint64_t hash = HashOf(key);
  bool is_held = false;
  BlockRef block = ShardOf(hash)->Lookup(key, hash, kind, &is_held);
  if (is_held) {
    held = HeldBlock(ShardOf(hash), key, block);
  }
  return block;
}

BlockRef BlockCache::Peek(const BlockKey& key) const {
  const uint64_t hash = HashOf(key);
  return ShardOf(hash)->Peek(key, hash);
}

CacheStanding BlockCache::StandingOf(const BlockKey& key) const {
  const uint64_t hash = HashOf(key);
  return ShardOf(hash)->StandingOf(key, hash);
}

void BlockCache::Insert(const BlockKey& key, BlockKind kind, const BlockRef& block) {
  const uint64_t hash = HashOf(key);
  ShardOf(hash)->Insert(key, hash, kind, block, CacheStanding::kOnTrial);
}

void BlockCache::InsertSuccessor(const BlockKey& key, const BlockRef& block, CacheStanding standing) {
  const uint64_t hash = HashOf(key);
  ShardOf(hash)->Insert(key, hash, BlockKind::kData, block, standing);
}

void BlockCache::KeepWritten(TableId table, uint64_t table_offset, std::string_view bytes,
                             WrittenFor what_for) {
  Check(table_offset % kWrittenPieceBytes == 0, "a piece of a table that begins in the middle");
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kWrittenPieceBytes);
    const BlockKey key = KeyOfPiece(table, table_offset);
    const uint64_t hash = HashOf(key);
    Shard& shard = *ShardOf(hash);
    if (shard.HasRoomFor(piece.size(), what_for)) {
      shard.InsertWritten(key, hash, BlockRef::CopyOf(piece), what_for);
    }
    table_offset += piece.size();
    bytes.remove_prefix(piece.size());
  }
}

bool BlockCache::CopyWritten(TableId table, uint64_t table_offset, std::span<std::byte> into) {
  while (!into.empty()) {
    const BlockKey key = KeyOfPiece(table, table_offset);
    const BlockRef piece = Lookup(key, BlockKind::kWritten);
    const uint64_t begin = table_offset - key.table_offset;
    const uint64_t count = std::min<uint64_t>(into.size(), kWrittenPieceBytes - begin);
    if (!piece || piece.bytes().size() < begin + count) {
      return false;
    }
    std::memcpy(into.data(), piece.bytes().data() + begin, count);
    table_offset += count;
    into = into.subspan(count);
  }
  return true;
}

bool BlockCache::HasWritten(TableId table, uint64_t table_offset, uint64_t bytes) const {
  const uint64_t end = table_offset + bytes;
  for (uint64_t at = RoundDown(table_offset, kWrittenPieceBytes); at < end; at += kWrittenPieceBytes) {
    if (StandingOf(KeyOfPiece(table, at)) != CacheStanding::kAbsent) {
      return true;
    }
  }
  return false;
}

void BlockCache::DropWritten(TableId table, uint64_t table_offset, uint64_t bytes) {
  const uint64_t end = table_offset + bytes;
  for (uint64_t at = RoundDown(table_offset, kWrittenPieceBytes); at < end; at += kWrittenPieceBytes) {
    Erase(KeyOfPiece(table, at));
  }
}

void BlockCache::LetGoOfWritten(TableId table, uint64_t table_offset, uint64_t bytes) {
  // What begins before has been read before. The next read may begin with the last sector of this one.
  const uint64_t first = RoundDown(table_offset, kWrittenPieceBytes);
  const uint64_t end = RoundDown(table_offset + bytes - 1, kWrittenPieceBytes);
  DropWritten(table, first, end - first);
}

void BlockCache::ReserveForWritten(uint64_t bytes) {
  bytes = std::min(bytes, capacity_bytes_ - capacity_bytes_ / kNeverReservedShare);
  for (const std::shared_ptr<Shard>& shard : shards_) {
    shard->ReserveForWritten(bytes / shards_.size());
  }
}

BlockCache::ReadTicket BlockCache::JoinRead(const BlockKey& key) {
  return ShardOf(HashOf(key))->JoinRead(key);
}

void BlockCache::FinishRead(const BlockKey& key, const ReadTicket& ticket, const Result<BlockRef>& result) {
  ticket.read->result.emplace(result);
  // Whoever comes now finds the block in the cache, or reads again what could not be read.
  ShardOf(HashOf(key))->LeaveRead(key);
  ticket.read->done.Set();
}

void BlockCache::AbandonRead(const BlockKey& key, const ReadTicket& ticket) {
  ShardOf(HashOf(key))->LeaveRead(key);
  ticket.read->done.Set();
}

bool BlockCache::IsBeingRead(const BlockKey& key) const {
  return ShardOf(HashOf(key))->IsBeingRead(key);
}

void BlockCache::EraseTable(TableId table) {
  while (EraseSomeOf(table)) {
  }
}

bool BlockCache::EraseSomeOf(TableId table) {
  size_t erased = 0;
  for (const std::shared_ptr<Shard>& shard : shards_) {
    size_t from_shard = 0;
    do {
      from_shard = shard->EraseSomeOf(table, kErasedLocked);
      erased += from_shard;
      if (erased >= kErasedAtOnce) {
        return true;
      }
    } while (from_shard == kErasedLocked);
  }
  return false;
}

void BlockCache::Erase(const BlockKey& key) {
  const uint64_t hash = HashOf(key);
  ShardOf(hash)->Erase(key, hash);
}

uint64_t BlockCache::CachedDataBlocks(TableId table) const {
  uint64_t sum = 0;
  for (const std::shared_ptr<Shard>& shard : shards_) {
    sum += shard->CachedDataBlocks(table);
  }
  return sum;
}

CacheStatistics BlockCache::statistics() const {
  CacheStatistics statistics;
  statistics.capacity_bytes = capacity_bytes_;
  for (const std::shared_ptr<Shard>& shard : shards_) {
    shard->AddStatistics(statistics);
  }
  for (size_t kind = 0; kind < kBlockKinds; ++kind) {
    statistics.by_kind[kind].misses = misses_[kind].load(std::memory_order_relaxed);
  }
  return statistics;
}

}  // namespace varve
