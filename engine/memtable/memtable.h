// Memtable: the newest writes, in memory, ordered by internal key, until a flush makes a table of them.
//
// Threads: writers (Add, Apply) and readers run at once, from any thread, without locks. A reader finds for
// certain what was added before its call began in the sense of the memory model: who publishes a sequence
// number after Apply (release) and reads at it (acquire) sees all of the batch. Entries with larger sequence
// numbers may appear while one reads; a search at a snapshot skips them, an iterator shows them. Everything
// that is handed out (values, iterators' keys) lies in the memtable and lives as long as it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "engine/base/checksum.h"
#include "engine/base/internal_key.h"
#include "engine/base/result.h"
#include "engine/base/units.h"
#include "engine/memtable/arena.h"
#include "engine/memtable/key_filter.h"
#include "engine/memtable/memtable_ranges.h"
#include "engine/memtable/skip_list.h"

namespace varve {

struct MemtableEntry {
  RecordKind kind = RecordKind::kTombstone;
  SequenceNumber sequence;
  std::string_view value;  // empty for a tombstone
};

class Memtable {
 public:
  // `capacity_bytes` is what the owner means to fill it to: it sizes blocks and the key filter, and limits
  // nothing. `seed` decides the tower heights, the same for the same sequence numbers. `pool`: arena.h.
  explicit Memtable(size_t capacity_bytes, uint64_t seed = 0, std::shared_ptr<HugePagePool> pool = nullptr);
  Memtable(const Memtable&) = delete;
  Memtable& operator=(const Memtable&) = delete;

  // Each (key, sequence number) once. `kind` is kTombstone (then `value` is empty), kValue,
  // kLargeValuePointer, or kRangeTombstone (then `value` is the end of the range, behind the key).
  void Add(SequenceNumber sequence, RecordKind kind, std::string_view user_key, std::string_view value);
  // A whole batch (engine/base/batch_records.h): its records get the numbers from `first` upwards. On an
  // error (of BatchRecordReader) the records before the bad one are in.
  Status Apply(SequenceNumber first, std::string_view records);

  // The newest version of `user_key` that `snapshot` sees; nullopt when there is none here.
  std::optional<MemtableEntry> Get(std::string_view user_key, SequenceNumber snapshot) const {
    return Get(user_key, snapshot, KeyHash(user_key));
  }
  // The same for who asks several memtables: `hash` is KeyHash(user_key).
  std::optional<MemtableEntry> Get(std::string_view user_key, SequenceNumber snapshot, uint64_t hash) const;
  static uint64_t KeyHash(std::string_view user_key) { return Hash64(user_key); }

  // Range tombstones, which hide entries of this memtable and of everything older: Get and Iterator know
  // nothing of them.
  const MemtableRanges& ranges() const { return ranges_; }

  // Walks internal keys. Any number at a time, each used by one thread; must not outlive the memtable.
  class Iterator {
   public:
    explicit Iterator(const Memtable& memtable) : list_(&memtable.list_) {}

    bool Valid() const { return node_ != nullptr; }
    // Preconditions of the next four: Valid().
    std::string_view key() const { return node_->InternalKey(); }
    std::string_view value() const { return node_->Value(); }
    void Next() { node_ = node_->Next(); }
    void Prev() { node_ = list_->Before(*node_); }

    // To the first key at or after, or the last at or before, `internal_key`.
    void Seek(std::string_view internal_key) { node_ = list_->AtOrAfter(internal_key); }
    void SeekForPrev(std::string_view internal_key) { node_ = list_->AtOrBefore(internal_key); }
    void SeekToFirst() { node_ = list_->First(); }
    void SeekToLast() { node_ = list_->Last(); }

   private:
    const SkipList* list_;
    const SkipList::Node* node_ = nullptr;
  };

  // What it holds in memory: grows in steps of an arena block, and counts the key filter. What a full-ness
  // rule goes by.
  size_t memory_bytes() const {
    return arena_.memory_bytes() + filter_.memory_bytes() + ranges_.memory_bytes();
  }

  // Whether it should take no more, where so many bytes of memory are enough.
  bool IsFull(size_t capacity_bytes) const { return memory_bytes() >= capacity_bytes || ranges_.full(); }

  // Sums over all writers' counts, exact when none is running.
  struct Totals {
    uint64_t entries = 0;  // without range tombstones
    uint64_t tombstones = 0;
    uint64_t user_bytes = 0;  // of user keys and values
    // Of the entries and range tombstones; meaningless when there are none.
    SequenceNumber smallest_sequence = kSequenceNumberMax;
    SequenceNumber largest_sequence;
  };
  Totals totals() const;
  bool empty() const { return list_.First() == nullptr; }

 private:
  // One a shard of writers, so that counting does not make their caches fight.
  struct alignas(64) Counts {
    std::atomic<uint64_t> entries{0}, tombstones{0}, user_bytes{0};
    std::atomic<uint64_t> smallest{kSequenceNumberMax.value}, largest{0};
  };

  // Adds what it inserted to the sums.
  void Insert(SkipList::Finger& finger, uint64_t sequence, RecordKind kind, std::string_view user_key,
              std::string_view value, Totals& added);
  void Count(const Totals& added);

  Arena arena_;
  SkipList list_;
  KeyFilter filter_;
  MemtableRanges ranges_;
  std::array<Counts, Arena::kShards> counts_;
};

}  // namespace varve
