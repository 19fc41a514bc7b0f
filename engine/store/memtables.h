// Memtables: where a batch gets its place. One mutex makes three things one: the order of sequence numbers,
// the order in the log, and which memtable takes the batch. Then writers insert at the same time, and what
// they wrote becomes visible in the order of its numbers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/space/extent_allocator.h"
#include "engine/store/read_state.h"
#include "engine/store/store.h"
#include "engine/store/store_shape.h"
#include "engine/wal/wal_writer.h"

namespace varve {

enum class AppendOutcome : uint8_t {
  kDone,
  kMemtablesFull,  // until a flush has ended
  kLogFull,        // until the log has written something out
  kNoSpace,        // as things are, the batch could not be flushed
  kLogFailed,
};

// Threads: any. mutex_ is held to reserve space, to copy a batch into the log and, once a memtable, to make
// the next one; never across a wait. Taken inside it: the log's mutex, the allocator's, that of Published.
class Memtables {
 public:
  // `version` and `recovered` (oldest first, complete) are what recovery found.
  Memtables(const StoreShape& shape, ExtentAllocator& allocator, uint64_t seed,
            std::shared_ptr<const Version> version, std::vector<std::shared_ptr<HeldMemtable>> recovered,
            SequenceNumber last_sequence);

  // What readers pin: take a state first, then visible(). What the state has lost to merges was then hidden
  // at that number already; a number that it lacks was written between the two.
  ReadStates& states() { return states_; }
  SequenceNumber visible() const { return SequenceNumber(visible_.load(std::memory_order_acquire)); }
  const std::atomic<uint64_t>& visible_number() const { return visible_; }

  struct Appended {
    AppendOutcome outcome = AppendOutcome::kDone;
    // Of the batch's last record.
    SequenceNumber last_sequence;
    // The background should look: a memtable has become immutable, or the active one is another step fuller.
    bool wakes_background = false;
  };
  // Puts the batch into the log and a memtable, and makes it visible: when this ends with kDone, every reader
  // sees it. Waits, for microseconds, only for other threads that are inserting what comes before.
  Appended Append(WalWriter& wal, const WriteBatch& batch);

  // Makes the active memtable immutable, unless it is empty. False when it has to wait for a flush.
  bool Switch();

  // The oldest memtable that is to be flushed, or nullptr.
  std::shared_ptr<HeldMemtable> OldestImmutable() const;
  // Everything up to counters().last_sequence is in tables: those memtables go. Publishes the new state.
  void OnInstalled(const std::shared_ptr<const Version>& version);
  // Before a flush of `held` reserves what it needs: the promise made to its writers is handed over.
  void ReleasePromise(HeldMemtable& held);

  struct Fill {
    size_t immutables = 0;
    double active = 0;  // 0..1
    bool active_empty = true;
    bool any_deletes = false;  // in any memtable
    uint64_t active_deletes = 0;
    bool active_ranges = false;  // it holds range tombstones
    size_t memory_bytes = 0;
  };
  Fill fill() const;

 private:
  // These need mutex_.
  bool SwitchLocked();
  bool ReserveLocked(const WriteBatch& batch, bool& stepped);
  void PublishLocked(std::shared_ptr<const ReadState> state);

  void MakeVisible(SequenceNumber first, SequenceNumber last);

  const StoreShape& shape_;
  ExtentAllocator& allocator_;
  // As much as one memtable, which the next to be begun takes.
  const std::shared_ptr<HugePagePool> huge_pages_;
  std::atomic<uint64_t> visible_;
  ReadStates states_;

  mutable std::mutex mutex_;
  // All under mutex_.
  uint64_t next_seed_;
  std::shared_ptr<const ReadState> state_;
  // The number of the last record appended; what visible_ reaches once all writers have inserted.
  SequenceNumber last_appended_;
};

}  // namespace varve
