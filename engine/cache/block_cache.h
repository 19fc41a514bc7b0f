// BlockCache: blocks of tables in memory, by table, birth generation and offset, up to a number of bytes in
// which every entry is charged with its true size, bookkeeping included.
//
// Eviction is S3-FIFO (Yang et al., "FIFO Queues are All You Need for Cache Eviction", SOSP 2023): a block
// that is read once passes through a small queue and leaves, so a scan does not empty the cache, and a hit
// only raises a counter in the entry: no list is reordered. Index and filter blocks start in the main queue
// and survive more rounds of it. Blocks that somebody holds are in no queue. Blocks in a page that many were
// read into (read_pages.h) are copied when they leave the small queue for another: in it, those of one page
// leave at about the same time, and the page with them. So memory exceeds the charge by little.
//
// Beside blocks it keeps pieces of tables as they were written, for merges that are to read them soon: those
// take the room that blocks leave, and go first when blocks want it, but for what is reserved.
//
// Threads: every call from any thread. Entries are spread over shards by hash; a shard's mutex guards its
// hash table and queues, is held for a few dozen instructions or some microseconds, never across I/O, and
// never together with another shard's. A BlockRef pins its block's bytes beyond eviction: pinned bytes that
// were evicted are no longer charged.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/units.h"
#include "engine/cache/block_ref.h"
#include "engine/cache/cache_standing.h"
#include "engine/ring/async_event.h"

namespace varve {

struct BlockKey {
  TableId table;
  Generation birth;
  uint64_t table_offset = 0;

  bool operator==(const BlockKey&) const = default;
};

// kWritten: no block, but a piece of a table as it was written.
enum class BlockKind : uint8_t { kData, kIndex, kFilter, kFooter, kWritten };
inline constexpr size_t kBlockKinds = 5;
// Large enough that what a piece costs beside its bytes does not count; shards hold a hundred and more.
inline constexpr uint64_t kWrittenPieceBytes = 64 * kKiB;
// When what was written is to be read: by the next merge but a few, or after others that are like it.
enum class WrittenFor : uint8_t { kNextMerge, kLaterMerge };

struct CacheStatistics {
  struct OfKind {
    uint64_t hits = 0;
    uint64_t misses = 0;
    uint64_t inserts = 0;
    uint64_t evictions = 0;
    uint64_t charged_bytes = 0;
  };
  OfKind by_kind[kBlockKinds];
  uint64_t capacity_bytes = 0;
  uint64_t charged_bytes = 0;
  // Of them, in blocks that somebody holds.
  uint64_t held_bytes = 0;
  uint64_t entries = 0;

  const OfKind& of(BlockKind kind) const { return by_kind[static_cast<size_t>(kind)]; }
  // Of blocks.
  uint64_t hits() const;
  uint64_t misses() const;
};

class HeldBlock;

class BlockCache {
 public:
  // `shards` is a power of two, or 0: chosen from the capacity.
  explicit BlockCache(uint64_t capacity_bytes, uint32_t shards = 0);
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // An empty reference when the block is not cached. Counts hits only: who finds nothing may ask again before
  // the block is read, and that is one miss.
  BlockRef Lookup(const BlockKey& key, BlockKind kind);
  // The same for who would keep the block at hand, to use it without asking here: `held` is set once the
  // block has had as many hits as count, while less than a quarter of the cache is held; a block of an index,
  // less than an eighth.
  BlockRef LookupToHold(const BlockKey& key, BlockKind kind, HeldBlock& held);
  // The same as Lookup for who is no user: it counts as no hit, and the block becomes no hotter.
  BlockRef Peek(const BlockKey& key) const;
  // As Peek, without the block.
  CacheStanding StandingOf(const BlockKey& key) const;
  // A block had to be read.
  void CountMiss(BlockKind kind) {
    misses_[static_cast<size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
  }
  // Adds a block, which may evict others, or itself at once when it is larger than a shard. What another
  // thread has inserted under this key meanwhile stays. Data blocks have low priority, the other kinds high.
  void Insert(const BlockKey& key, BlockKind kind, const BlockRef& block);
  // A data block that holds what stood so in other blocks, whose table is being replaced: it stands as they
  // did. Precondition of `standing`: not kAbsent.
  void InsertSuccessor(const BlockKey& key, const BlockRef& block, CacheStanding standing);

  // The table's bytes from `table_offset` on, which are on their way to the device: kept where there is room,
  // in pieces, of which the last may be short. They push nothing out, older pieces neither: tables are merged
  // in about the order in which they were made, so the oldest are the next. For a later merge they leave a
  // quarter of the cache to those for the next. Within the reserve they push blocks out, and those for the
  // next merge push out the oldest that are for later ones. Precondition: a multiple of kWrittenPieceBytes.
  void KeepWritten(TableId table, uint64_t table_offset, std::string_view bytes, WrittenFor what_for);
  // Whether all of `into` could be filled from what is kept; else its bytes are anything.
  bool CopyWritten(TableId table, uint64_t table_offset, std::span<std::byte> into);
  // Whether any of those bytes are kept.
  bool HasWritten(TableId table, uint64_t table_offset, uint64_t bytes) const;
  // Other bytes are written there: what is kept of the pieces that these lie in is true no more.
  void DropWritten(TableId table, uint64_t table_offset, uint64_t bytes);

  // Several coroutines that miss the same block read it once: the first to call JoinRead leads, reads, and
  // must call FinishRead or AbandonRead; the others wait for `done` and take `result`.
  struct PendingRead {
    AsyncEvent done;
    // Set before `done`, never changed afterwards. Nothing: it was given up, who wants the block joins anew.
    std::optional<Result<BlockRef>> result;
  };
  struct ReadTicket {
    std::shared_ptr<PendingRead> read;
    bool leads = false;
  };
  ReadTicket JoinRead(const BlockKey& key);
  void FinishRead(const BlockKey& key, const ReadTicket& ticket, const Result<BlockRef>& result);
  void AbandonRead(const BlockKey& key, const ReadTicket& ticket);
  // Whether somebody leads at this moment.
  bool IsBeingRead(const BlockKey& key) const;

  // A merge has read so far, and comes back to none of it: makes room for what is written meanwhile.
  void LetGoOfWritten(TableId table, uint64_t table_offset, uint64_t bytes);
  // From now on pieces may take so much from blocks, which make room as pieces come. Whatever is asked for,
  // one part in kNeverReservedShare of the cache is left to blocks; and all of it while many blocks come and
  // no pieces.
  void ReserveForWritten(uint64_t bytes);
  static constexpr uint64_t kNeverReservedShare = 8;

  // Drops every block of a table that no longer exists.
  void EraseTable(TableId table);
  // One step of that, of some tens of microseconds, for who lets others run in between. False: none is left.
  bool EraseSomeOf(TableId table);
  // Drops a block that no table names any more. Who still reads an older version may bring it back.
  void Erase(const BlockKey& key);

  // Data blocks of the table that are cached, of whatever generation.
  uint64_t CachedDataBlocks(TableId table) const;
  uint64_t capacity_bytes() const { return capacity_bytes_; }
  CacheStatistics statistics() const;

 private:
  friend class HeldBlock;
  class Shard;
  const std::shared_ptr<Shard>& ShardOf(uint64_t hash) const;

  uint64_t capacity_bytes_;
  std::atomic<uint64_t> misses_[kBlockKinds] = {};
  uint32_t shard_mask_ = 0;
  // Shared with what is held.
  std::vector<std::shared_ptr<Shard>> shards_;
};

// A block that is not evicted as long as this lives, and is charged all the time. Its bytes stay even if it
// is erased from the cache, or the cache goes.
class HeldBlock {
 public:
  HeldBlock() = default;
  HeldBlock(HeldBlock&& other) noexcept = default;
  HeldBlock& operator=(HeldBlock&& other) noexcept {
    std::swap(shard_, other.shard_);
    std::swap(key_, other.key_);
    std::swap(block_, other.block_);
    return *this;
  }
  ~HeldBlock();

  explicit operator bool() const { return shard_ != nullptr; }

 private:
  friend class BlockCache;
  HeldBlock(std::shared_ptr<BlockCache::Shard> shard, const BlockKey& key, BlockRef block)
      : shard_(std::move(shard)), key_(key), block_(std::move(block)) {}

  std::shared_ptr<BlockCache::Shard> shard_;
  BlockKey key_;
  BlockRef block_;
};

}  // namespace varve
