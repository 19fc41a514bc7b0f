#include "engine/cache/cache_shard.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/thread_lists.h"

namespace varve {
namespace {

// The paper's split: a tenth of the bytes for blocks that have yet to prove themselves.
constexpr uint64_t kSmallQueueShare = 10;
// A block leaves the small queue for the main one when it was hit more often than this.
constexpr uint8_t kHitsToProve = 1;
// How many rounds of the main queue hits can buy. Index and filter blocks save more than their own read.
constexpr uint8_t kHitsMaxData = 3;
constexpr uint8_t kHitsMaxHigh = 7;
// Of the capacity, what may be held; of an index only while there is as much again for filters, which are
// asked by more gets, and are smaller.
constexpr uint64_t kHeldShare = 4;
constexpr uint64_t kHeldShareIndex = 8;
// Of the capacity, what pieces of tables for later merges leave to those for the next.
constexpr uint64_t kWrittenForNextShare = 4;
// The reserve lapses once so many times the capacity came in blocks, and no piece.
constexpr uint64_t kLapseTimes = 4;
// At least what BlockRef::charge adds.
constexpr uint64_t kPieceOverheadBytes = 64;
// Ghosts remember about as many keys as the shard holds blocks of the usual size.
constexpr uint64_t kUsualBlockBytes = 4 * kKiB;
// malloc's header of an entry, its bucket, its share of the tables' map.
constexpr uint64_t kEntryOverheadBytes = 16 + 8 + 8;

// At most 16 KiB a thread.
constexpr size_t kEntryBytes = 128;
using Entries = ThreadLists<struct EntriesOwner, kEntryBytes, 1, 128>;

bool IsHighPriority(BlockKind kind) {
  return kind != BlockKind::kData && kind != BlockKind::kWritten;
}

}  // namespace

// As the blocks themselves: a full cache takes one for each that it gives up.
void* BlockCache::Shard::Entry::operator new(size_t bytes) {
  static_assert(sizeof(Entry) <= kEntryBytes);
  void* memory = Entries::Take(bytes);
  if (memory == nullptr) {
    memory = std::aligned_alloc(alignof(Entry), Entries::AllocationBytes(bytes));
    Check(memory != nullptr, "out of memory for an entry of the cache");
  }
  return memory;
}

void BlockCache::Shard::Entry::operator delete(void* entry) {
  if (!Entries::Keep(entry, sizeof(Entry))) {
    std::free(entry);
  }
}

void BlockCache::Shard::Queue::Push(Entry* entry) {
  entry->newer = nullptr;
  entry->older = newest;
  (newest != nullptr ? newest->newer : oldest) = entry;
  newest = entry;
  bytes += entry->charge;
}

void BlockCache::Shard::Queue::Remove(Entry* entry) {
  (entry->newer != nullptr ? entry->newer->older : newest) = entry->older;
  (entry->older != nullptr ? entry->older->newer : oldest) = entry->newer;
  bytes -= entry->charge;
}

BlockCache::Shard::Shard(uint64_t capacity_bytes)
    : capacity_bytes_(capacity_bytes),
      buckets_(64, nullptr),
      ghosts_(std::bit_ceil(std::max<uint64_t>(capacity_bytes / kUsualBlockBytes, 16)), 0) {
}

BlockCache::Shard::~Shard() {
  Entry* dead = nullptr;
  for (Queue* const queue : {&small_, &main_, &held_, &spare_}) {
    while (queue->oldest != nullptr) {
      Unlink(queue->oldest, &dead);
    }
  }
  Free(dead);
}

BlockRef BlockCache::Shard::Lookup(const BlockKey& key, uint64_t hash, BlockKind kind, bool* held) {
  const std::lock_guard<std::mutex> lock(mutex_);
  CacheStatistics::OfKind& counters = counters_[static_cast<size_t>(kind)];
  Entry* entry = Find(key, hash);
  if (entry == nullptr) {
    return {};
  }
  ++counters.hits;
  if (entry->hits < (IsHighPriority(entry->kind) ? kHitsMaxHigh : kHitsMaxData)) {
    ++entry->hits;
  }
  if (held != nullptr && MayHold(*entry)) {
    LeavePage(entry);
    MoveTo(Place::kHeld, entry);
    ++entry->holders;
    *held = true;
  }
  return entry->block;
}

bool BlockCache::Shard::MayHold(const Entry& entry) const {
  const bool proven = entry.hits == (IsHighPriority(entry.kind) ? kHitsMaxHigh : kHitsMaxData);
  const uint64_t share = entry.kind == BlockKind::kIndex ? kHeldShareIndex : kHeldShare;
  return entry.holders > 0 || (proven && held_.bytes + entry.charge <= capacity_bytes_ / share);
}

void BlockCache::Shard::LetGo(const BlockKey& key, uint64_t hash) {
  Entry* dead = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Entry* const entry = Find(key, hash);
    // It may have been erased, and be back under the same name with no holder.
    if (entry != nullptr && entry->holders > 0 && --entry->holders == 0) {
      MoveTo(Place::kMain, entry);
      Evict(&dead);
    }
  }
  Free(dead);
}

BlockRef BlockCache::Shard::Peek(const BlockKey& key, uint64_t hash) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Entry* entry = Find(key, hash);
  return entry != nullptr ? entry->block : BlockRef();
}

CacheStanding BlockCache::Shard::StandingOf(const BlockKey& key, uint64_t hash) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Entry* entry = Find(key, hash);
  if (entry == nullptr) {
    return CacheStanding::kAbsent;
  }
  return entry->place == Place::kSmall ? CacheStanding::kOnTrial : CacheStanding::kProven;
}

void BlockCache::Shard::Insert(const BlockKey& key, uint64_t hash, BlockKind kind, const BlockRef& block,
                               CacheStanding standing) {
  auto added = std::make_unique<Entry>();
  added->key = key;
  added->hash = hash;
  added->block = block;
  added->kind = kind;
  Insert(std::move(added), standing);
}

void BlockCache::Shard::InsertWritten(const BlockKey& key, uint64_t hash, const BlockRef& piece,
                                      WrittenFor what_for) {
  auto added = std::make_unique<Entry>();
  added->key = key;
  added->hash = hash;
  added->block = piece;
  added->kind = BlockKind::kWritten;
  added->what_for = what_for;
  Insert(std::move(added), CacheStanding::kOnTrial);
}

void BlockCache::Shard::Insert(std::unique_ptr<Entry> added, CacheStanding standing) {
  const uint64_t hash = added->hash;
  const BlockKind kind = added->kind;
  added->charge = added->block.charge() + sizeof(Entry) + kEntryOverheadBytes;
  Entry* dead = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (Find(added->key, hash) != nullptr) {
      return;
    }
    if (entries_ >= buckets_.size()) {
      GrowBuckets();
    }
    Entry* entry = added.release();
    Entry** bucket = BucketOf(hash);
    entry->next_in_bucket = std::exchange(*bucket, entry);
    ++entries_;
    LinkToTable(entry);
    CacheStatistics::OfKind& counters = counters_[static_cast<size_t>(kind)];
    ++counters.inserts;
    counters.charged_bytes += entry->charge;
    uint64_t& ghost = ghosts_[hash & (ghosts_.size() - 1)];
    const bool proven = IsHighPriority(kind) || standing == CacheStanding::kProven || ghost == hash;
    entry->place = kind == BlockKind::kWritten ? Place::kSpare : proven ? Place::kMain : Place::kSmall;
    if (ghost == hash) {
      ghost = 0;
    }
    if (entry->place != Place::kSmall) {
      LeavePage(entry);
    }
    QueueOf(entry->place).Push(entry);
    later_bytes_ += IsForLater(*entry) ? entry->charge : 0;
    bytes_since_piece_ = kind == BlockKind::kWritten ? 0 : bytes_since_piece_ + entry->charge;
    if (kind == BlockKind::kWritten) {
      EvictLater(*entry, &dead);
    }
    Evict(&dead);
  }
  Free(dead);
}

bool BlockCache::Shard::HasRoomFor(uint64_t bytes, WrittenFor what_for) const {
  const uint64_t left_to_others =
      what_for == WrittenFor::kLaterMerge ? capacity_bytes_ / kWrittenForNextShare : 0;
  const uint64_t charge = bytes + sizeof(Entry) + kEntryOverheadBytes + kPieceOverheadBytes;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (charged_bytes() + charge + left_to_others <= capacity_bytes_) {
    return true;
  }
  const uint64_t in_the_way =
      what_for == WrittenFor::kLaterMerge ? spare_.bytes : spare_.bytes - later_bytes_;
  return in_the_way + charge <= reserved_bytes_;
}

void BlockCache::Shard::ReserveForWritten(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  reserved_bytes_ = bytes;
}

BlockCache::ReadTicket BlockCache::Shard::JoinRead(const BlockKey& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [pending, read] : pending_reads_) {
    if (pending == key) {
      return ReadTicket{read, false};
    }
  }
  pending_reads_.emplace_back(key, std::make_shared<PendingRead>());
  return ReadTicket{pending_reads_.back().second, true};
}

void BlockCache::Shard::LeaveRead(const BlockKey& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& pending : pending_reads_) {
    if (pending.first == key) {
      std::swap(pending, pending_reads_.back());
      pending_reads_.pop_back();
      return;
    }
  }
}

bool BlockCache::Shard::IsBeingRead(const BlockKey& key) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(pending_reads_.begin(), pending_reads_.end(),
                     [&](const auto& pending) { return pending.first == key; });
}

size_t BlockCache::Shard::EraseSomeOf(TableId table, size_t blocks_max) {
  Entry* dead = nullptr;
  size_t erased = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    // The last entry takes the table out of the map.
    for (auto found = tables_.find(table); found != tables_.end() && erased < blocks_max;
         found = tables_.find(table)) {
      Unlink(found->second.first, &dead);
      ++erased;
    }
  }
  Free(dead);
  return erased;
}

void BlockCache::Shard::Erase(const BlockKey& key, uint64_t hash) {
  Entry* dead = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Entry* const entry = Find(key, hash);
    if (entry != nullptr) {
      Unlink(entry, &dead);
    }
  }
  Free(dead);
}

uint64_t BlockCache::Shard::CachedDataBlocks(TableId table) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = tables_.find(table);
  return found == tables_.end() ? 0 : found->second.data_blocks;
}

void BlockCache::Shard::AddStatistics(CacheStatistics& to) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t kind = 0; kind < kBlockKinds; ++kind) {
    to.by_kind[kind].hits += counters_[kind].hits;
    to.by_kind[kind].inserts += counters_[kind].inserts;
    to.by_kind[kind].evictions += counters_[kind].evictions;
    to.by_kind[kind].charged_bytes += counters_[kind].charged_bytes;
  }
  to.charged_bytes += charged_bytes();
  to.held_bytes += held_.bytes;
  to.entries += entries_;
}

BlockCache::Shard::Entry* BlockCache::Shard::Find(const BlockKey& key, uint64_t hash) {
  for (Entry* entry = *BucketOf(hash); entry != nullptr; entry = entry->next_in_bucket) {
    if (entry->hash == hash && entry->key == key) {
      return entry;
    }
  }
  return nullptr;
}

BlockCache::Shard::Queue& BlockCache::Shard::QueueOf(Place place) {
  switch (place) {
    case Place::kSmall:
      return small_;
    case Place::kMain:
      return main_;
    case Place::kHeld:
      return held_;
    case Place::kSpare:
      break;
  }
  return spare_;
}

void BlockCache::Shard::MoveTo(Place place, Entry* entry) {
  QueueOf(entry->place).Remove(entry);
  entry->place = place;
  QueueOf(place).Push(entry);
}

void BlockCache::Shard::LeavePage(Entry* entry) {
  if (entry->block.is_apart()) {
    entry->block = BlockRef::CopyOf(entry->block.bytes());
  }
}

void BlockCache::Shard::GrowBuckets() {
  std::vector<Entry*> old(buckets_.size() * 2, nullptr);
  old.swap(buckets_);
  for (Entry* entry : old) {
    while (entry != nullptr) {
      Entry* next = entry->next_in_bucket;
      Entry** bucket = BucketOf(entry->hash);
      entry->next_in_bucket = std::exchange(*bucket, entry);
      entry = next;
    }
  }
}

void BlockCache::Shard::LinkToTable(Entry* entry) {
  OfTable& of_table = tables_[entry->key.table];
  entry->of_table = &of_table;
  entry->next_of_table = of_table.first;
  if (of_table.first != nullptr) {
    of_table.first->previous_of_table = entry;
  }
  of_table.first = entry;
  of_table.data_blocks += entry->kind == BlockKind::kData ? 1 : 0;
}

void BlockCache::Shard::Unlink(Entry* entry, Entry** dead) {
  Entry** link = BucketOf(entry->hash);
  while (*link != entry) {
    link = &(*link)->next_in_bucket;
  }
  *link = entry->next_in_bucket;
  QueueOf(entry->place).Remove(entry);
  OfTable& of_table = *entry->of_table;
  (entry->previous_of_table != nullptr ? entry->previous_of_table->next_of_table : of_table.first) =
      entry->next_of_table;
  if (entry->next_of_table != nullptr) {
    entry->next_of_table->previous_of_table = entry->previous_of_table;
  }
  of_table.data_blocks -= entry->kind == BlockKind::kData ? 1 : 0;
  if (of_table.first == nullptr) {
    tables_.erase(entry->key.table);
  }
  counters_[static_cast<size_t>(entry->kind)].charged_bytes -= entry->charge;
  later_bytes_ -= IsForLater(*entry) ? entry->charge : 0;
  --entries_;
  entry->next_in_bucket = std::exchange(*dead, entry);
}

void BlockCache::Shard::Evict(Entry** dead) {
  // Ends before all queues are empty: what is held is but a share of the capacity.
  while (charged_bytes() > capacity_bytes_) {
    const bool no_blocks = small_.oldest == nullptr && main_.oldest == nullptr;
    const uint64_t theirs = bytes_since_piece_ > kLapseTimes * capacity_bytes_ ? 0 : reserved_bytes_;
    if (spare_.oldest != nullptr && (spare_.bytes > theirs || no_blocks)) {
      EvictFromSpare(dead);
    } else if (small_.oldest != nullptr &&
               (main_.oldest == nullptr || small_.bytes > capacity_bytes_ / kSmallQueueShare)) {
      EvictFromSmall(dead);
    } else {
      EvictFromMain(dead);
    }
  }
}

// Pieces are few and large.
void BlockCache::Shard::EvictLater(const Entry& added, Entry** dead) {
  Entry* next = spare_.oldest;
  while (next != nullptr && spare_.bytes > reserved_bytes_ && charged_bytes() > capacity_bytes_) {
    Entry* const entry = std::exchange(next, next->newer);
    if (IsForLater(*entry) && entry != &added) {
      ++counters_[static_cast<size_t>(entry->kind)].evictions;
      Unlink(entry, dead);
    }
  }
}

void BlockCache::Shard::EvictFromSmall(Entry** dead) {
  Entry* entry = small_.oldest;
  if (entry->hits > kHitsToProve) {
    LeavePage(entry);
    MoveTo(Place::kMain, entry);
    entry->hits = 0;
    return;
  }
  ghosts_[entry->hash & (ghosts_.size() - 1)] = entry->hash;
  ++counters_[static_cast<size_t>(entry->kind)].evictions;
  Unlink(entry, dead);
}

void BlockCache::Shard::EvictFromMain(Entry** dead) {
  Entry* entry = main_.oldest;
  if (entry->hits > 0) {
    --entry->hits;
    MoveTo(Place::kMain, entry);
    return;
  }
  ++counters_[static_cast<size_t>(entry->kind)].evictions;
  Unlink(entry, dead);
}

void BlockCache::Shard::EvictFromSpare(Entry** dead) {
  Entry* entry = spare_.oldest;
  ++counters_[static_cast<size_t>(entry->kind)].evictions;
  Unlink(entry, dead);
}

void BlockCache::Shard::Free(Entry* dead) {
  while (dead != nullptr) {
    delete std::exchange(dead, dead->next_in_bucket);
  }
}

}  // namespace varve
