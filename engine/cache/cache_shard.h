// One shard of the block cache: a hash table of entries and the queues of S3-FIFO. Used only by
// block_cache.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/cache/block_cache.h"

namespace varve {

class BlockCache::Shard {
 public:
  explicit Shard(uint64_t capacity_bytes);
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // `held`, unless it is nullptr, is set where the block is held from now on.
  BlockRef Lookup(const BlockKey& key, uint64_t hash, BlockKind kind, bool* held);
  void LetGo(const BlockKey& key, uint64_t hash);
  BlockRef Peek(const BlockKey& key, uint64_t hash);
  CacheStanding StandingOf(const BlockKey& key, uint64_t hash);
  // `standing`: at least, for a block of that kind.
  void Insert(const BlockKey& key, uint64_t hash, BlockKind kind, const BlockRef& block,
              CacheStanding standing);
  void InsertWritten(const BlockKey& key, uint64_t hash, const BlockRef& piece, WrittenFor what_for);
  // What of this shard is reserved.
  void ReserveForWritten(uint64_t bytes);
  // Whether a piece of a table so large would push out nothing, or only what it may within the reserve.
  bool HasRoomFor(uint64_t bytes, WrittenFor what_for) const;
  ReadTicket JoinRead(const BlockKey& key);
  bool IsBeingRead(const BlockKey& key) const;
  void LeaveRead(const BlockKey& key);
  // Up to `blocks_max` blocks of the table; how many it were.
  size_t EraseSomeOf(TableId table, size_t blocks_max);
  void Erase(const BlockKey& key, uint64_t hash);
  uint64_t CachedDataBlocks(TableId table) const;
  void AddStatistics(CacheStatistics& to) const;

 private:
  struct OfTable;
  enum class Place : uint8_t { kSmall, kMain, kHeld, kSpare };
  // What a lookup touches comes first: one cache line.
  struct alignas(64) Entry {
    uint64_t hash = 0;
    Entry* next_in_bucket = nullptr;
    BlockKey key;
    BlockRef block;
    BlockKind kind = BlockKind::kData;
    Place place = Place::kSmall;
    // Hits since it was inserted or last spared, up to a maximum.
    uint8_t hits = 0;
    // How many hold it.
    uint32_t holders = 0;
    // Of a piece of a table.
    WrittenFor what_for = WrittenFor::kNextMerge;

    uint64_t charge = 0;
    Entry* newer = nullptr;
    Entry* older = nullptr;
    OfTable* of_table = nullptr;
    Entry* next_of_table = nullptr;
    Entry* previous_of_table = nullptr;

    static void* operator new(size_t bytes);
    static void operator delete(void* entry);
  };
  struct Queue {
    Entry* newest = nullptr;
    Entry* oldest = nullptr;
    uint64_t bytes = 0;

    void Push(Entry* entry);
    void Remove(Entry* entry);
  };
  struct OfTable {
    Entry* first = nullptr;
    uint64_t data_blocks = 0;
  };

  void Insert(std::unique_ptr<Entry> added, CacheStanding standing);
  // All of these: the caller holds mutex_.
  Entry** BucketOf(uint64_t hash) { return &buckets_[hash & (buckets_.size() - 1)]; }
  Entry* Find(const BlockKey& key, uint64_t hash);
  Queue& QueueOf(Place place);
  void MoveTo(Place place, Entry* entry);
  bool MayHold(const Entry& entry) const;
  // A block that is to stay leaves the page that it was read into.
  static void LeavePage(Entry* entry);
  static bool IsForLater(const Entry& entry) {
    return entry.kind == BlockKind::kWritten && entry.what_for == WrittenFor::kLaterMerge;
  }
  void GrowBuckets();
  void LinkToTable(Entry* entry);
  // Takes the entry out of everything and adds it to the list of the dead, which is freed after unlocking.
  void Unlink(Entry* entry, Entry** dead);
  void Evict(Entry** dead);
  void EvictFromSmall(Entry** dead);
  void EvictFromMain(Entry** dead);
  void EvictFromSpare(Entry** dead);
  // Pieces for later merges make room for one for the next within what is reserved.
  void EvictLater(const Entry& added, Entry** dead);
  uint64_t charged_bytes() const { return small_.bytes + main_.bytes + held_.bytes + spare_.bytes; }
  static void Free(Entry* dead);

  const uint64_t capacity_bytes_;
  mutable std::mutex mutex_;  // guards everything below
  std::vector<Entry*> buckets_;
  uint64_t entries_ = 0;
  // Blocks seen once, and those that proved themselves.
  Queue small_;
  Queue main_;
  // What somebody holds: no candidates for eviction, in no order.
  Queue held_;
  // Pieces of tables as they were written, and how many bytes of them are for later merges.
  Queue spare_;
  uint64_t later_bytes_ = 0;
  uint64_t reserved_bytes_ = 0;
  // Of blocks that were inserted since the last piece.
  uint64_t bytes_since_piece_ = 0;
  // Hashes of keys that left the small queue unproven, each in the place that its hash chooses: a key that
  // comes back while it stands here goes to the main queue.
  std::vector<uint64_t> ghosts_;
  std::unordered_map<TableId, OfTable> tables_;
  CacheStatistics::OfKind counters_[kBlockKinds];
  // Reads under way. Few at a time.
  std::vector<std::pair<BlockKey, std::shared_ptr<PendingRead>>> pending_reads_;
};

}  // namespace varve
