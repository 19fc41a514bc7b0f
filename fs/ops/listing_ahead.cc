#include "fs/ops/listing_ahead.h"

namespace varve {

namespace {

// What an entry takes of an answer beside its name, and to what its size is rounded up (fuse_dirent).
constexpr size_t kHeadBytes = 24;
constexpr size_t kAlignment = 8;

}  // namespace

Task<void> ListingAhead::Claim() {
  Turn turn = Turn::kOffered;
  if (turn_.compare_exchange_strong(turn, Turn::kWithdrawn, std::memory_order_acq_rel) ||
      turn == Turn::kWithdrawn) {
    co_return;
  }
  awaited_.store(true, std::memory_order_relaxed);
  co_await walk_over_.Wait();
  awaited_.store(false, std::memory_order_relaxed);
}

void ListingAhead::Take(DirectorySink& sink) {
  while (!empty()) {
    PackedEntries::Place place = taken_;
    const DirectoryEntry entry = entries_.Read(place);
    if (!sink.Add(entry)) {
      return;
    }
    taken_ = place;
    offset_ = entry.next_offset;
  }
}

void ListingAhead::Discard() {
  was_in_vain_ = was_in_vain_ || !empty();
  entries_.Clear();
  taken_ = {};
  at_end_ = false;
}

Task<bool> ListingAhead::Offer(uint64_t offset) {
  entries_.Clear();
  taken_ = {};
  answer_bytes_ = 0;
  offset_ = offset;
  awaited_since_ = 0;
  was_missed_ = false;
  at_end_ = false;
  Turn turn = Turn::kWithdrawn;
  if (turn_.compare_exchange_strong(turn, Turn::kOffered, std::memory_order_acq_rel)) {
    co_return false;
  }
  // One that was withdrawn may be about to say so.
  co_await walk_over_.Wait();
  walk_over_.Reset();
  turn_.store(Turn::kOffered, std::memory_order_release);
  co_return true;
}

bool ListingAhead::Begin() {
  Turn turn = turn_.load(std::memory_order_acquire);
  while (!turn_.compare_exchange_weak(turn, turn == Turn::kOffered ? Turn::kOfWalk : Turn::kOfRequest,
                                      std::memory_order_acq_rel, std::memory_order_acquire)) {
  }
  if (turn == Turn::kOffered) {
    return true;
  }
  walk_over_.Set();
  return false;
}

bool ListingAhead::Keep(const DirectoryEntry& entry) {
  static_assert(PackedEntries::kHeadBytes <= kHeadBytes);
  const size_t takes = (kHeadBytes + entry.name.size() + kAlignment - 1) / kAlignment * kAlignment;
  if (answer_bytes_ + takes > kBytesMax) {
    return false;
  }
  answer_bytes_ += takes;
  entries_.Append(entry);
  return true;
}

bool ListingAhead::IsMissed(uint64_t now_nanos) {
  if (!awaited_.load(std::memory_order_relaxed)) {
    return false;
  }
  if (awaited_since_ == 0) {
    awaited_since_ = now_nanos;
  }
  was_missed_ = now_nanos - awaited_since_ >= kPatienceNanos;
  return was_missed_;
}

void ListingAhead::End(uint64_t version, bool at_end) {
  version_ = version;
  at_end_ = at_end;
  turn_.store(Turn::kOfRequest, std::memory_order_release);
  walk_over_.Set();
}

}  // namespace varve
