#include "engine/store/memtables.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "engine/base/check.h"

namespace varve {

namespace {

// Partly filled last units of data and of a second extent.
constexpr uint64_t kTableBytesFixed = 3 * kExtentUnitBytes;
// Another thread is in the middle of copying a batch: spin this long before giving it the CPU.
constexpr int kSpins = 200;

}  // namespace

Memtables::Memtables(const StoreShape& shape, ExtentAllocator& allocator, uint64_t seed,
                     std::shared_ptr<const Version> version,
                     std::vector<std::shared_ptr<HeldMemtable>> recovered, SequenceNumber last_sequence)
    : shape_(shape),
      allocator_(allocator),
      huge_pages_(std::make_shared<HugePagePool>(shape.memtable_bytes)),
      visible_(last_sequence.value),
      next_seed_(seed),
      last_appended_(last_sequence) {
  auto state = std::make_shared<ReadState>();
  state->active = std::make_shared<HeldMemtable>(shape.memtable_bytes, next_seed_++, huge_pages_);
  state->immutables = std::move(recovered);
  state->version = std::move(version);
  PublishLocked(std::move(state));
}

void Memtables::PublishLocked(std::shared_ptr<const ReadState> state) {
  state_ = state;
  states_.Publish(std::move(state));
}

Memtables::Appended Memtables::Append(WalWriter& wal, const WriteBatch& batch) {
  Appended appended;
  SequenceNumber first;
  bool write_due = false;
  // Not counted as a reference: it stays in the state at least until everything up to this batch is visible.
  HeldMemtable* into = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (state_->active->table_bytes != 0 && state_->active->memtable.IsFull(shape_.memtable_bytes)) {
      if (!SwitchLocked()) {
        appended.outcome = AppendOutcome::kMemtablesFull;
        return appended;
      }
      appended.wakes_background = true;
    }
    if (!ReserveLocked(batch, appended.wakes_background)) {
      appended.outcome = AppendOutcome::kNoSpace;
      return appended;
    }
    const WalAppend logged = wal.TryAppend(batch.records(), batch.count());
    if (logged.outcome != WalAppend::Outcome::kAppended) {
      appended.outcome =
          logged.outcome == WalAppend::Outcome::kFull ? AppendOutcome::kLogFull : AppendOutcome::kLogFailed;
      return appended;
    }
    into = state_->active.get();
    into->table_bytes += shape_.TableBytesOf(batch.bytes(), batch.count());
    into->has_deletes = into->has_deletes || batch.frees_space() || batch.range_deletes() != 0;
    into->deletes += batch.deletes();
    first = logged.first_sequence;
    write_due = logged.write_due;
    appended.last_sequence = SequenceNumber(first.value + batch.count() - 1);
    last_appended_ = appended.last_sequence;
  }
  const Status applied = into->memtable.Apply(first, batch.records());
  Check(applied.ok(), "a batch made of its own calls could not be read");
  MakeVisible(first, appended.last_sequence);
  if (write_due) {
    wal.StartWrites();
  }
  return appended;
}

void Memtables::MakeVisible(SequenceNumber first, SequenceNumber last) {
  const uint64_t before = first.value - 1;
  for (int spins = 0; visible_.load(std::memory_order_acquire) != before; spins++) {
    if (spins >= kSpins) {
      std::this_thread::yield();
    }
  }
  visible_.store(last.value, std::memory_order_release);
}

bool Memtables::ReserveLocked(const WriteBatch& batch, bool& stepped) {
  HeldMemtable& active = *state_->active;
  const uint64_t needed =
      kTableBytesFixed + active.table_bytes + shape_.TableBytesOf(batch.bytes(), batch.count());
  if (needed <= active.promised_bytes) {
    return true;
  }
  // In steps, so that few batches ask the allocator; exactly, when space is short.
  const uint64_t step = std::max<uint64_t>(shape_.memtable_bytes / 8, kExtentUnitBytes);
  for (const uint64_t extra : {step, uint64_t{0}}) {
    Result<SpaceReservation> more =
        allocator_.Reserve(needed + extra - active.promised_bytes, SpaceClass::kUser);
    if (!more.ok() && extra == 0 && batch.frees_space()) {
      more = allocator_.Reserve(needed - active.promised_bytes, SpaceClass::kFreeing);
    }
    if (more.ok()) {
      active.promised_bytes += more->bytes_left();
      active.promises.push_back(std::move(*more));
      stepped = true;
      return true;
    }
  }
  return false;
}

bool Memtables::SwitchLocked() {
  if (state_->immutables.size() >= shape_.immutable_memtables_max) {
    return false;
  }
  state_->active->last_sequence = last_appended_;
  auto state = std::make_shared<ReadState>(*state_);
  state->immutables.push_back(state->active);
  state->active = std::make_shared<HeldMemtable>(shape_.memtable_bytes, next_seed_++, huge_pages_);
  PublishLocked(std::move(state));
  return true;
}

bool Memtables::Switch() {
  const std::lock_guard lock(mutex_);
  return state_->active->table_bytes == 0 || SwitchLocked();
}

std::shared_ptr<HeldMemtable> Memtables::OldestImmutable() const {
  const std::lock_guard lock(mutex_);
  return state_->immutables.empty() ? nullptr : state_->immutables.front();
}

void Memtables::OnInstalled(const std::shared_ptr<const Version>& version) {
  // Kept beyond the lock: the last reference to a memtable frees all of its memory.
  std::shared_ptr<const ReadState> replaced;
  const std::lock_guard lock(mutex_);
  replaced = state_;
  auto state = std::make_shared<ReadState>(*state_);
  state->version = version;
  std::erase_if(state->immutables, [&](const std::shared_ptr<HeldMemtable>& held) {
    return held->last_sequence <= version->counters().last_sequence;
  });
  PublishLocked(std::move(state));
}

void Memtables::ReleasePromise(HeldMemtable& held) {
  const std::lock_guard lock(mutex_);
  held.promises.clear();
  held.promised_bytes = 0;
}

Memtables::Fill Memtables::fill() const {
  const std::lock_guard lock(mutex_);
  Fill fill;
  const HeldMemtable& active = *state_->active;
  fill.immutables = state_->immutables.size();
  fill.active_empty = active.table_bytes == 0;
  fill.active =
      static_cast<double>(active.memtable.memory_bytes()) / static_cast<double>(shape_.memtable_bytes);
  fill.any_deletes = active.has_deletes;
  fill.active_deletes = active.deletes;
  fill.active_ranges = active.memtable.ranges().any();
  fill.memory_bytes = active.memtable.memory_bytes();
  for (const std::shared_ptr<HeldMemtable>& held : state_->immutables) {
    fill.any_deletes = fill.any_deletes || held->has_deletes;
    fill.memory_bytes += held->memtable.memory_bytes();
  }
  return fill;
}

}  // namespace varve
