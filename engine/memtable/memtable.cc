#include "engine/memtable/memtable.h"

#include <algorithm>
#include <utility>

#include "engine/base/batch_records.h"
#include "engine/base/check.h"

namespace varve {

namespace {

void RaiseTo(std::atomic<uint64_t>& number, uint64_t at_least) {
  uint64_t now = number.load(std::memory_order_relaxed);
  while (now < at_least && !number.compare_exchange_weak(now, at_least, std::memory_order_relaxed)) {
  }
}

void LowerTo(std::atomic<uint64_t>& number, uint64_t at_most) {
  uint64_t now = number.load(std::memory_order_relaxed);
  while (now > at_most && !number.compare_exchange_weak(now, at_most, std::memory_order_relaxed)) {
  }
}

}  // namespace

Memtable::Memtable(size_t capacity_bytes, uint64_t seed, std::shared_ptr<HugePagePool> pool)
    : arena_(capacity_bytes, std::move(pool)), list_(arena_, seed), filter_(capacity_bytes) {
}

inline void Memtable::Insert(SkipList::Finger& finger, uint64_t sequence, RecordKind kind,
                             std::string_view user_key, std::string_view value, Totals& added) {
  if (kind == RecordKind::kRangeTombstone) [[unlikely]] {
    ranges_.Add({std::string(user_key), std::string(value), SequenceNumber(sequence)});
    return;
  }
  // Before the entry: who can see the entry must not be told that it is not there.
  filter_.Add(KeyHash(user_key));
  list_.Insert(finger, user_key, PackTrailer(SequenceNumber(sequence), kind), value);
  added.entries++;
  added.tombstones += kind == RecordKind::kTombstone ? 1 : 0;
  added.user_bytes += user_key.size() + value.size();
}

void Memtable::Count(const Totals& added) {
  Counts& counts = counts_[Arena::ShardOfThread()];
  counts.entries.fetch_add(added.entries, std::memory_order_relaxed);
  if (added.tombstones > 0) {
    counts.tombstones.fetch_add(added.tombstones, std::memory_order_relaxed);
  }
  counts.user_bytes.fetch_add(added.user_bytes, std::memory_order_relaxed);
  LowerTo(counts.smallest, added.smallest_sequence.value);
  RaiseTo(counts.largest, added.largest_sequence.value);
}

void Memtable::Add(SequenceNumber sequence, RecordKind kind, std::string_view user_key,
                   std::string_view value) {
  SkipList::Finger finger;
  Totals added;
  Insert(finger, sequence.value, kind, user_key, value, added);
  added.smallest_sequence = added.largest_sequence = sequence;
  Count(added);
}

Status Memtable::Apply(SequenceNumber first, std::string_view records) {
  SkipList::Finger finger;
  Totals added;
  uint64_t sequence = first.value;
  BatchRecordReader reader(records);
  while (reader.Next()) {
    const BatchRecord& record = reader.record();
    Insert(finger, sequence++, record.kind, record.key, record.value, added);
  }
  if (sequence > first.value) {
    added.smallest_sequence = first;
    added.largest_sequence = SequenceNumber(sequence - 1);
    Count(added);
  }
  return reader.status();
}

std::optional<MemtableEntry> Memtable::Get(std::string_view user_key, SequenceNumber snapshot,
                                           uint64_t hash) const {
  if (!filter_.MayContain(hash)) {
    return std::nullopt;
  }
  bool same_key = false;
  const SkipList::Node* const node = list_.AtOrAfter(user_key, PackTrailer(snapshot, kSeekKind), same_key);
  if (!same_key) {
    return std::nullopt;
  }
  const uint64_t trailer = node->Trailer();
  return MemtableEntry{static_cast<RecordKind>(trailer & 0xff), SequenceNumber(trailer >> 8), node->Value()};
}

Memtable::Totals Memtable::totals() const {
  Totals sum;
  for (const Counts& counts : counts_) {
    sum.entries += counts.entries.load(std::memory_order_relaxed);
    sum.tombstones += counts.tombstones.load(std::memory_order_relaxed);
    sum.user_bytes += counts.user_bytes.load(std::memory_order_relaxed);
    sum.smallest_sequence =
        std::min(sum.smallest_sequence, SequenceNumber(counts.smallest.load(std::memory_order_relaxed)));
    sum.largest_sequence =
        std::max(sum.largest_sequence, SequenceNumber(counts.largest.load(std::memory_order_relaxed)));
  }
  return sum;
}

}  // namespace varve
