// The write path: admission, the log, a memtable, visibility; then durability where it is asked for.

#include <algorithm>
#include <utility>

#include "engine/store/store_impl.h"

namespace varve {

namespace {

// Longer waits are cut, so that a writer sees a pressure that has gone.
constexpr uint64_t kThrottleSliceNanos = 20'000'000;
// As long as space waits for readers: what holds up range tombstones for longer is no walk of a directory.
constexpr uint64_t kRangeRoomNanos = 5'000'000'000;
constexpr uint64_t kRangeRoomSliceNanos = 250'000'000;

}  // namespace

std::optional<Status> StoreImpl::Refusal(const WriteBatch& batch) const {
  if (!batch.within_limits()) {
    return Status(InvalidArgument("a key, a value or the batch is larger than the store takes"));
  }
  if (health_.read_only()) {
    return Status(health_.refusal());
  }
  if (batch.empty()) {
    return OkStatus();
  }
  return std::nullopt;
}

Memtables::Appended StoreImpl::Append(const WriteBatch& batch) {
  const Memtables::Appended appended = memtables_->Append(*wal_, batch);
  if (appended.wakes_background) {
    scheduler_->Wake();
  }
  if (appended.outcome == AppendOutcome::kDone) {
    HotCounters::Line& counters = statistics_.hot.mine();
    counters.batches.fetch_add(1, std::memory_order_relaxed);
    counters.records.fetch_add(batch.count(), std::memory_order_relaxed);
    counters.user_bytes.fetch_add(batch.bytes(), std::memory_order_relaxed);
    scheduler_->MarkUnsynced();
    if (batch.range_deletes() != 0) {
      counters.range_deletes.fetch_add(batch.range_deletes(), std::memory_order_relaxed);
      scheduler_->MarkRangeDeleted();
    }
    if (batch.frees_space() || batch.range_deletes() != 0) {
      scheduler_->OnDeletesWritten();
    }
  } else if (appended.outcome == AppendOutcome::kLogFailed) {
    LogFailed(wal_->failure().error());
  }
  return appended;
}

std::optional<Status> StoreImpl::TryWrite(const WriteBatch& batch, Durability durability) {
  if (std::optional<Status> refusal = Refusal(batch)) {
    return refusal;
  }
  if (durability == Durability::kDurable || LacksRangeRoom(batch)) {
    return std::nullopt;
  }
  const bool timed =
      statistics_.hot.mine().batches.load(std::memory_order_relaxed) % StoreStatistics::kTimedOneIn == 0;
  const bool limited = scheduler_->throttle().limits();
  const uint64_t begin = timed || limited ? environment_.clock.MonotonicNanos() : 0;
  if (limited) {
    if (scheduler_->throttle().WaitNanos(begin) != 0) {
      return std::nullopt;
    }
    scheduler_->throttle().Charge(batch.bytes(), begin);
  }
  const Memtables::Appended appended = Append(batch);
  switch (appended.outcome) {
    case AppendOutcome::kDone:
      if (timed) {
        statistics_.write.Add(environment_.clock.MonotonicNanos() - begin);
      }
      return OkStatus();
    case AppendOutcome::kLogFailed:
      return Status(health_.refusal());
    case AppendOutcome::kMemtablesFull:
    case AppendOutcome::kLogFull:
    case AppendOutcome::kNoSpace:
      break;
  }
  return std::nullopt;
}

Task<Status> StoreImpl::Write(const WriteBatch& batch, Durability durability) {
  std::optional<Status> refusal = Refusal(batch);
  if (refusal) {
    co_return std::move(*refusal);
  }
  const uint64_t begin = environment_.clock.MonotonicNanos();
  SequenceNumber last_sequence;
  Status written = co_await AppendWaiting(batch, last_sequence);
  if (written.ok() && durability == Durability::kDurable) {
    written = co_await SyncTo(last_sequence);
  }
  statistics_.write_waited.Add(environment_.clock.MonotonicNanos() - begin);
  co_return written;
}

Task<Status> StoreImpl::AppendWaiting(const WriteBatch& batch, SequenceNumber& last_sequence) {
  Status room = co_await WaitForRangeRoom(batch);
  if (!room.ok()) {
    co_return room;
  }
  const uint64_t begin = environment_.clock.MonotonicNanos();
  const uint64_t wait = scheduler_->throttle().WaitNanos(begin);
  if (wait != 0) {
    co_await WaitForThrottle(wait);
  }
  scheduler_->throttle().Charge(batch.bytes(), environment_.clock.MonotonicNanos());
  while (true) {
    // First: what fails after this wakes who waits beyond it.
    const uint64_t generation = scheduler_->progress().generation();
    if (health_.read_only()) {
      co_return health_.refusal();
    }
    const Memtables::Appended appended = Append(batch);
    switch (appended.outcome) {
      case AppendOutcome::kDone:
        last_sequence = appended.last_sequence;
        co_return OkStatus();
      case AppendOutcome::kLogFailed:
        co_return health_.refusal();
      case AppendOutcome::kLogFull:
        co_await wal_->WaitForRoom(batch.bytes());
        break;
      case AppendOutcome::kMemtablesFull:
      case AppendOutcome::kNoSpace: {
        const bool no_space = appended.outcome == AppendOutcome::kNoSpace || scheduler_->flush_is_stuck();
        if (no_space && !scheduler_->AskForSpace()) {
          statistics_.refused_no_space.fetch_add(1, std::memory_order_relaxed);
          co_return NoSpace("the device is full");
        }
        const uint64_t stopped_at = environment_.clock.MonotonicNanos();
        co_await scheduler_->progress().Beyond(generation);
        statistics_.stopped.fetch_add(1, std::memory_order_relaxed);
        statistics_.stopped_nanos.fetch_add(environment_.clock.MonotonicNanos() - stopped_at,
                                            std::memory_order_relaxed);
        break;
      }
    }
  }
}

Task<void> StoreImpl::WaitForThrottle(uint64_t nanos) {
  statistics_.throttled.fetch_add(1, std::memory_order_relaxed);
  const uint64_t begin = environment_.clock.MonotonicNanos();
  while (nanos != 0) {
    co_await Executor::Current().Sleep(std::min(nanos, kThrottleSliceNanos));
    nanos = scheduler_->throttle().WaitNanos(environment_.clock.MonotonicNanos());
  }
  statistics_.throttled_nanos.fetch_add(environment_.clock.MonotonicNanos() - begin,
                                        std::memory_order_relaxed);
}

bool StoreImpl::LacksRangeRoom(const WriteBatch& batch) const {
  if (batch.range_deletes() == 0) {
    return false;
  }
  const std::shared_ptr<const Version> version = versions_->current();
  const RangeTombstones* const ranges = version->range_tombstones();
  return ranges != nullptr && ranges->memory_bytes() >= options_.range_tombstones_bytes;
}

Task<Status> StoreImpl::WaitForRangeRoom(const WriteBatch& batch) {
  const uint64_t begin = environment_.clock.MonotonicNanos();
  while (LacksRangeRoom(batch)) {
    if (environment_.clock.MonotonicNanos() - begin >= kRangeRoomNanos) {
      co_return Busy("there are too many deleted ranges whose keys cannot go yet: a snapshot sees them");
    }
    // A snapshot that was let go of tells nobody.
    scheduler_->LookForRanges();
    co_await Executor::Current().Sleep(kRangeRoomSliceNanos);
  }
  co_return OkStatus();
}

void StoreImpl::LogFailed(const Error& error) {
  health_.Fail("writing the log", error);
  // Who waits for a flush waits for nothing now.
  scheduler_->progress().WakeAll();
}

Task<Status> StoreImpl::SyncTo(SequenceNumber sequence) {
  const uint64_t begin = environment_.clock.MonotonicNanos();
  Status synced = co_await wal_->SyncTo(sequence);
  if (!synced.ok()) {
    LogFailed(synced.error());
  }
  statistics_.sync.Add(environment_.clock.MonotonicNanos() - begin);
  co_return synced;
}

Task<Status> StoreImpl::Sync() {
  if (options_.read_only) {
    co_return OkStatus();
  }
  co_return co_await SyncTo(wal_->last_sequence());
}

}  // namespace varve
