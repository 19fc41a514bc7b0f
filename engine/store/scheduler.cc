#include "engine/store/scheduler.h"

#include <algorithm>
#include <utility>

#include "engine/compaction/table_merge_job.h"
#include "engine/ring/spawn_on.h"
#include "engine/store/space_picker.h"
#include "engine/tree/space_bound.h"

namespace varve {

Scheduler::Scheduler(SchedulerEnvironment environment)
    : environment_(std::move(environment)),
      home_(*environment_.executors.front()),
      tree_(environment_.shape.tree),
      pressing_(environment_.shape.tree) {
  environment_.jobs.cancelled = &cancelled_;
  // What levels give up for their deletes is no debt of writers. Where segments are appended level 0 may wait
  // for so much that it is one.
  pressing_.deletes.presses = pressing_.level0_always_waits;
  if (tree_.deletes.enabled()) {
    mix_.emplace(environment_.statistics, environment_.device.counters(), environment_.shape.block_bytes);
    adaptation_.emplace(environment_.shape.adaptation);
    written_room_.emplace(environment_.jobs.table.cache);
  }
}

Scheduler::~Scheduler() {
  Check(!started_ || loop_ended_.IsSet(), "the scheduler was destroyed while it ran");
}

void Scheduler::Start() {
  started_ = true;
  SpawnOn(home_, Loop());
  SpawnOn(home_, CommitLoop());
  SpawnOn(home_, TrimLoop());
  SpawnOn(home_, RangeLoop());
  Wake();
}

Task<void> Scheduler::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  cancelled_.store(true);
  Wake();
  SpawnOn(home_, InterruptLoops());
  co_await loop_ended_.Wait();
  co_await commit_ended_.Wait();
  co_await trim_ended_.Wait();
  co_await range_ended_.Wait();
  // The loops may have ended by themselves before its interruption had its turn.
  co_await interruption_ended_.Wait();
  progress_.WakeAll();
}

Task<void> Scheduler::Loop() {
  while (true) {
    co_await wake_.Wait();
    wake_.Reset();
    std::vector<AsyncEvent*> settled;
    bool ended = false;
    {
      const std::lock_guard lock(mutex_);
      StartDueLocked();
      if (IdleLocked()) {
        settled.swap(settling_);
        ended = stopping_;
      }
    }
    UpdatePressure();
    for (AsyncEvent* const event : settled) {
      event->Set();
    }
    if (ended) {
      break;
    }
  }
  loop_ended_.Set();
}

// A commit begins half an interval after the first write that it covers: the other half is for the device.
Task<void> Scheduler::CommitLoop() {
  while (true) {
    co_await unsynced_.Wait();
    if (!cancelled_.load()) {
      co_await commit_sleep_.For(environment_.commit_interval_nanos / 2);
    }
    if (cancelled_.load()) {
      break;
    }
    // Before the sync: what is appended later sets it again.
    unsynced_.Reset();
    if (tree_.deletes.enabled()) {
      // What was deleted since may be worth a flush.
      Wake();
    }
    if (environment_.health.read_only()) {
      continue;
    }
    const Status synced = co_await environment_.wal.Sync();
    if (!synced.ok()) {
      environment_.health.Fail("writing the log", synced.error());
      progress_.WakeAll();
    } else if (environment_.wal.last_sequence() > environment_.wal.durable_sequence()) {
      unsynced_.Set();
    } else if (tree_.level0_tables_max > tree_.level0_tables_trigger) {
      at_rest_since_ = environment_.wal.durable_sequence();
      Wake();
    }
  }
  commit_ended_.Set();
}

Task<void> Scheduler::InterruptLoops() {
  commit_sleep_.Interrupt();
  unsynced_.Set();
  trim_sleep_.Interrupt();
  buffered_.Set();
  range_sleep_.Interrupt();
  range_deleted_.Set();
  interruption_ended_.Set();
  co_return;
}

void Scheduler::StartDueLocked() {
  if (stopping_ || environment_.health.read_only()) {
    return;
  }
  StartEraseLocked();
  SwitchForLogLocked();
  if (tree_.deletes.enabled()) {
    AdaptLocked();
    SwitchForDeletesLocked();
  }
  StartFlushLocked();
  StartCompactionsLocked();
  StartForReadersLocked();
  StartForSpaceBoundLocked();
  StartPurgesLocked();
  StartRangeJobLocked();
  StartHiddenPurgesLocked();
  const SpaceNumbers space = environment_.allocator.numbers();
  if (space.released_bytes != 0 &&
      (IsShort(space) || space_wanted_ || space.released_bytes >= environment_.shape.reclaim_batch_bytes)) {
    StartReclaimLocked();
  }
  if (space_wanted_) {
    WorkForSpaceLocked();
  }
}

bool Scheduler::IdleLocked() const {
  const bool flush_due =
      environment_.memtables.OldestImmutable() != nullptr && !stopping_ && !environment_.health.read_only();
  return !flushing_ && compactions_ == 0 && !reclaiming_ && !erasing_ && !waiting_for_readers_ &&
         !dropping_buffers_ && !range_job_ && (!flush_due || flush_lacks_space_);
}

size_t Scheduler::LogSegmentsInUse() const {
  return environment_.versions.current()->wal_segments().size();
}

// Small records that are synced one by one fill a memtable slowly and the log fast, since each takes a sector
// there.
void Scheduler::SwitchForLogLocked() {
  if (LogSegmentsInUse() <= environment_.shape.wal_segments_max) {
    return;
  }
  const Memtables::Fill fill = environment_.memtables.fill();
  if (fill.immutables == 0 && !fill.active_empty) {
    environment_.memtables.Switch();
  }
}

void Scheduler::StartFlushLocked() {
  if (flushing_ || flush_lacks_space_) {
    return;
  }
  std::shared_ptr<HeldMemtable> oldest = environment_.memtables.OldestImmutable();
  if (oldest == nullptr) {
    return;
  }
  flushing_ = true;
  SpawnOn(NextExecutor(), RunFlushJob(std::move(oldest)));
}

void Scheduler::StartCompactionsLocked() {
  const size_t jobs_max = kCompactionsPerExecutor * environment_.executors.size();
  while (compactions_ < jobs_max && !compaction_lacks_space_) {
    const std::shared_ptr<const Version> version = environment_.versions.current();
    if (tree_.deletes.enabled()) {
      picker_.deletes = LimitsOfDeletesLocked();
    }
    std::optional<CompactionPlan> plan = PickTreeCompaction(*version, tree_, picker_);
    if (!plan && IsAtRestLocked()) {
      plan = PickLevel0AtRest(*version, tree_, picker_);
    }
    if (!plan) {
      return;
    }
    // Two large merges at once could each take what the other needs.
    if (SpaceNeededBy(*plan, environment_.jobs.shape) > SpaceForPlans()) {
      compaction_lacks_space_ = true;
      space_wanted_ = true;
      return;
    }
    StartCompactionLocked(std::move(*plan));
  }
}

// After what is due: it makes reads cheaper, and nothing waits for it.
void Scheduler::StartForReadersLocked() {
  const size_t jobs_max = kCompactionsPerExecutor * environment_.executors.size();
  while (compactions_ < jobs_max && !compaction_lacks_space_ && !space_wanted_ &&
         readers_have_paid_.exchange(false)) {
    const std::shared_ptr<const Version> version = environment_.versions.current();
    readers_wait_ = false;
    std::optional<CompactionPlan> plan = PickForReaders(*version, tree_, picker_, readers_wait_);
    if (!plan) {
      return;
    }
    // It gives no space back while readers hold what it replaces: the shares stay with what has to be done.
    if (SpaceNeededBy(*plan, environment_.jobs.shape) >
        environment_.allocator.numbers().user_available_bytes) {
      readers_wait_ = true;
      return;
    }
    readers_have_paid_.store(true);
    StartCompactionLocked(std::move(*plan));
  }
}

// One small merge at a time, and only where nothing else runs: what is due does not wait for more than that.
void Scheduler::StartForSpaceBoundLocked() {
  if (compactions_ != 0 || compaction_lacks_space_ || space_wanted_) {
    return;
  }
  std::optional<CompactionPlan> plan =
      PickForSpaceBound(*environment_.versions.current(), tree_, picker_.busy);
  if (plan && SpaceNeededBy(*plan, environment_.jobs.shape) <=
                  environment_.allocator.numbers().user_available_bytes) {
    StartCompactionLocked(std::move(*plan));
  }
}

void Scheduler::StartCompactionLocked(CompactionPlan plan) {
  picker_.Started(plan);
  compactions_++;
  SpawnOn(NextExecutor(), RunCompactionJob(std::move(plan)));
}

uint64_t Scheduler::SpaceForPlans() const {
  const SpaceNumbers space = environment_.allocator.numbers();
  return space.free_bytes > space.reserved_bytes ? space.free_bytes - space.reserved_bytes : 0;
}

// One step at a time, and only when nothing runs that may give space back by itself: whoever still lacks
// space after it asks again.
void Scheduler::WorkForSpaceLocked() {
  if (flushing_ || compactions_ != 0 || reclaiming_ || waiting_for_readers_ || dropping_buffers_ ||
      range_job_) {
    return;
  }
  space_wanted_ = false;
  // What they hold is elsewhere too.
  if (StartDropOfBuffersLocked()) {
    return;
  }
  const Memtables::Fill fill = environment_.memtables.fill();
  // The log that a flush lets go of is space too.
  const bool flush_helps = fill.any_deletes || LogSegmentsInUse() > kLogSegmentsAtRest;
  if (flush_helps && fill.immutables == 0 && !fill.active_empty && environment_.memtables.Switch()) {
    StartFlushLocked();
    return;
  }
  const bool held = environment_.versions.replaced_tables_held() != 0;
  if (held && !readers_in_vain_) {
    waiting_for_readers_ = true;
    SpawnOn(home_, WaitForReaders());
    return;
  }
  // A merge whose inputs stay held takes space and gives none: then the shares are left to deletes.
  const uint64_t bytes_max = held ? environment_.allocator.numbers().user_available_bytes : SpaceForPlans();
  const std::shared_ptr<const Version> version = environment_.versions.current();
  std::optional<CompactionPlan> plan = PlanHiddenForSpaceLocked(*version, bytes_max);
  if (!plan) {
    plan = PickForSpace(*version, tree_, picker_, environment_.jobs.shape, bytes_max, !last_level_in_vain_);
  }
  if (plan) {
    StartCompactionLocked(std::move(*plan));
    return;
  }
  space_exhausted_.store(true, std::memory_order_release);
  progress_.WakeAll();
}

void Scheduler::StartReclaimLocked() {
  if (!reclaiming_) {
    reclaiming_ = true;
    SpawnOn(NextExecutor(), RunReclaimJob());
  }
}

void Scheduler::OnTableGone(TableId table) {
  {
    const std::lock_guard lock(gone_mutex_);
    gone_tables_.push_back(table);
  }
  Wake();
}

std::vector<TableId> Scheduler::TakeGoneTables() {
  const std::lock_guard lock(gone_mutex_);
  return std::exchange(gone_tables_, {});
}

void Scheduler::StartEraseLocked() {
  if (erasing_) {
    return;
  }
  {
    const std::lock_guard lock(gone_mutex_);
    erasing_ = !gone_tables_.empty();
  }
  if (erasing_) {
    SpawnOn(home_, RunEraseJob());
  }
}

bool Scheduler::AskForSpace() {
  const std::lock_guard lock(mutex_);
  // What was released since then is about to be free.
  const bool exhausted =
      space_exhausted_.load(std::memory_order_relaxed) && environment_.allocator.released_bytes() == 0;
  if (stopping_ || environment_.health.read_only() || exhausted) {
    return false;
  }
  space_wanted_ = true;
  wake_.Set();
  return true;
}

void Scheduler::ForgetExhaustion() {
  const std::lock_guard lock(mutex_);
  space_exhausted_.store(false, std::memory_order_release);
  last_level_in_vain_ = false;
  flush_lacks_space_ = false;
  compaction_lacks_space_ = false;
  // The flush that lacked space is due again, and somebody may wait for it already.
  wake_.Set();
}

Task<void> Scheduler::Settle() {
  AsyncEvent settled;
  {
    const std::lock_guard lock(mutex_);
    settling_.push_back(&settled);
  }
  Wake();
  co_await settled.Wait();
}

Executor& Scheduler::NextExecutor() {
  return *environment_.executors[next_executor_++ % environment_.executors.size()];
}

size_t Scheduler::running_jobs() const {
  const std::lock_guard lock(mutex_);
  return compactions_ + (flushing_ ? 1 : 0) + (reclaiming_ ? 1 : 0) + (range_job_ ? 1 : 0);
}

void Scheduler::UpdatePressure() {
  const Memtables::Fill fill = environment_.memtables.fill();
  const std::shared_ptr<const Version> version = environment_.versions.current();
  Debt debt;
  debt.immutable_memtables = fill.immutables;
  debt.immutable_memtables_max = environment_.shape.immutable_memtables_max;
  debt.memtable_fill = fill.active;
  debt.level0_tables = version->level0().size();
  const LevelSlack slack = SlackOfLevels(*version, pressing_);
  debt.level0_tables_trigger = static_cast<size_t>(slack[0] * pressing_.level0_tables_trigger);
  debt.overdue_bytes = CompactionDebtBytes(*version, pressing_, slack);
  debt.concern_bytes = ConcernBytes(pressing_, slack);
  debt.range_tombstones = RangeDebt(*version);
  throttle_.SetRate(RateAt(PressureOf(debt)));
}

}  // namespace varve
