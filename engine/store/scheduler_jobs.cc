// The jobs that the scheduler starts: how each takes its turn, installs what it made, and reports its end.

#include <algorithm>
#include <utility>

#include "engine/compaction/flush_job.h"
#include "engine/compaction/merge_job.h"
#include "engine/compaction/table_merge_job.h"
#include "engine/ring/when_all.h"
#include "engine/store/memtable_iterator.h"
#include "engine/store/scheduler.h"
#include "engine/store/space_picker.h"

namespace varve {

namespace {

// Discards in flight at once.
constexpr size_t kDiscardsAtOnce = 8;

// Where the device is full and nothing but readers of what was replaced keeps space: how long they are waited
// for, and how often one looks. A walk of a directory takes less, a reader that forgot itself more.
constexpr uint64_t kReadersWaitNanos = 5'000'000'000;
constexpr uint64_t kReadersPollNanos = 5'000'000;

CompactionKind KindOf(const CompactionPlan& plan) {
  switch (plan.kind) {
    case MergeKind::kTrivialMove:
      return CompactionKind::kTrivialMove;
    case MergeKind::kPseudoCompaction:
      return CompactionKind::kPseudoCompaction;
    case MergeKind::kTableMerge:
    case MergeKind::kBlockMerge:
    case MergeKind::kAppendMerge:
      break;
  }
  const bool leaves_log = plan.inputs.front().place.part == Part::kLog && plan.output_part == Part::kTree;
  return leaves_log ? CompactionKind::kAggregatedCompaction : CompactionKind::kMerge;
}

// The number that a Result's error or a Status tells apart from success.
bool LacksSpace(const Status& status) {
  return status.Is(ErrorCode::kNoSpace);
}
bool WasCancelled(const Status& status) {
  return status.Is(ErrorCode::kCancelled);
}

}  // namespace

Task<void> Scheduler::RunFlushJob(std::shared_ptr<HeldMemtable> held) {
  const uint64_t begin = home_.clock().MonotonicNanos();
  const Status status = co_await Flush(*held);
  const Memtable::Totals totals = held->memtable.totals();
  held.reset();
  StoreStatistics::OfKind& counters = environment_.statistics.of(CompactionKind::kFlush);
  counters.jobs++;
  counters.nanos += home_.clock().MonotonicNanos() - begin;
  if (!status.ok()) {
    counters.failed++;
    if (!LacksSpace(status) && !WasCancelled(status)) {
      environment_.health.Fail("writing a memtable out", status.error());
    }
  }
  JobEnded([&] {
    flushing_ = false;
    flush_lacks_space_ = LacksSpace(status);
    space_wanted_ = space_wanted_ || flush_lacks_space_;
    compaction_lacks_space_ = false;
    if (status.ok()) {
      space_exhausted_.store(false, std::memory_order_release);
    }
    if (status.ok() && mix_) {
      mix_->OnFlushed(totals);
    }
  });
}

Task<Status> Scheduler::FlushBeforeStart() {
  while (const std::shared_ptr<HeldMemtable> oldest = environment_.memtables.OldestImmutable()) {
    Status flushed = co_await Flush(*oldest);
    if (!flushed.ok()) {
      co_return flushed;
    }
  }
  co_await Reclaim();
  co_return OkStatus();
}

ReaderMeter::Readers Scheduler::CountReaders() const {
  return {environment_.statistics.hot.Sum(&HotCounters::Line::gets),
          environment_.statistics.iterators.load(std::memory_order_relaxed)};
}

Task<Status> Scheduler::Flush(HeldMemtable& held) {
  // Writers that got their place before it was switched away may still be copying: microseconds.
  while (environment_.memtables.visible() < held.last_sequence) {
    co_await Executor::Current().Yield();
  }
  environment_.memtables.ReleasePromise(held);
  const Memtable::Totals totals = held.memtable.totals();
  FlushInput input;
  input.records = std::make_unique<MemtableSource>(held.memtable);
  input.bytes_max = totals.user_bytes;
  input.entries_max = totals.entries;
  input.ranges = held.memtable.ranges().any() ? &held.memtable.ranges().Complete() : nullptr;
  input.snapshots = environment_.snapshots.SequencesToKeep(environment_.memtables.visible_number());
  input.base = environment_.versions.current();
  {
    const std::lock_guard lock(mutex_);
    input.is_read = readers_.AddFlush(totals.entries, CountReaders()) && environment_.jobs.carries_cached;
  }
  JobEnvironment jobs = environment_.jobs;
  // Its data was acknowledged: a close waits for it.
  jobs.cancelled = nullptr;
  Result<JobOutput> output = co_await RunFlush(std::move(jobs), std::move(input));
  if (!output.ok()) {
    co_return output.error();
  }
  environment_.statistics.of(CompactionKind::kFlush).written_bytes += output->statistics.written_bytes;
  environment_.statistics.by_level[0].written_bytes += output->statistics.written_bytes;
  environment_.statistics.tombstones_removed_early += output->statistics.tombstones_removed_early;
  environment_.statistics.hidden_by_ranges += output->statistics.hidden_by_ranges;

  VersionEdit& edit = output->edit;
  edit.last_sequence = held.last_sequence;
  const WalWriter::Releasable log = environment_.wal.ReleaseUpTo(held.last_sequence);
  log_released_.insert(log_released_.end(), log.segments.begin(), log.segments.end());
  if (log.log_start) {
    log_released_start_ = log.log_start;
  }
  // Also what an earlier flush let go of and could not install.
  edit.log_start = log_released_start_;
  for (const WalSegment& segment : log_released_) {
    edit.released_wal_segments.push_back(segment.number);
  }
  Status installed = co_await InstallOutput(std::move(*output));
  if (installed.ok()) {
    environment_.wal.DropUpTo(held.last_sequence);
    for (const WalSegment& segment : log_released_) {
      environment_.log_segments.Recycle(segment.extent);
    }
    log_released_.clear();
    log_released_start_.reset();
  }
  co_return installed;
}

Task<Status> Scheduler::InstallOutput(JobOutput output) {
  VersionEdit edit = output.edit;
  const Result<std::shared_ptr<const Version>> installed =
      co_await environment_.versions.Install(std::move(edit));
  if (!installed.ok()) {
    // These two say that nothing was done; after any other error the edit may be on the device.
    if (installed.Is(ErrorCode::kCorruption) || installed.Is(ErrorCode::kNoSpace)) {
      DiscardOutput(environment_.jobs, output);
    }
    co_return installed.error();
  }
  for (const BlockKey& block : output.dead_blocks) {
    environment_.jobs.table.cache.Erase(block);
  }
  co_return OkStatus();
}

Task<void> Scheduler::RunCompactionJob(CompactionPlan plan) {
  // A merge of a table with itself gives space only where it drops something.
  const bool within_level = !plan.inputs.empty() && plan.inputs.front().place.level == plan.output_level;
  const bool wasteful = within_level && IsWasteful(plan.inputs.front().table->view());
  const uint64_t begin = home_.clock().MonotonicNanos();
  uint64_t dropped = 0;
  const Status status = co_await Compact(plan, dropped);
  StoreStatistics::OfKind& counters = environment_.statistics.of(KindOf(plan));
  counters.jobs++;
  counters.tables += plan.inputs.size() + plan.children.size();
  if (plan.reason == PlanReason::kDeletes) {
    environment_.statistics.for_deletes.jobs++;
    environment_.statistics.for_deletes.tables += plan.inputs.size() + plan.children.size();
    environment_.statistics.purged_records += dropped;
  }
  counters.nanos += home_.clock().MonotonicNanos() - begin;
  if (!status.ok()) {
    counters.failed++;
    if (!LacksSpace(status) && !WasCancelled(status)) {
      environment_.health.Fail("compaction (" + ToString(plan) + ")", status.error());
    }
  }
  JobEnded([&] {
    picker_.Ended(plan);
    compactions_--;
    compaction_lacks_space_ = LacksSpace(status);
    space_wanted_ = space_wanted_ || compaction_lacks_space_;
    flush_lacks_space_ = false;
    const bool in_vain = plan.reason == PlanReason::kSpace && within_level && !wasteful && dropped == 0;
    last_level_in_vain_ = last_level_in_vain_ || in_vain;
    if (readers_wait_) {
      readers_have_paid_.store(true);
    }
    if (status.ok() && (!within_level || wasteful)) {
      space_exhausted_.store(false, std::memory_order_release);
    } else if (compaction_lacks_space_ && plan.reason == PlanReason::kSpace) {
      // It was picked because it fits, and nothing else ran: to pick it again would go on for ever.
      space_wanted_ = false;
      space_exhausted_.store(true, std::memory_order_release);
    }
    // Its tables are let go before the loop may end.
    plan = CompactionPlan();
  });
}

Task<Status> Scheduler::Compact(const CompactionPlan& plan, uint64_t& dropped) {
  if (MovesTables(plan.kind)) {
    JobOutput moved;
    moved.edit = MoveEdit(plan);
    if (written_room_ && plan.output_level > (MergesLevel1Soon() ? 1 : 0)) {
      // They are to lie there for long, and the room is for what merges read soon.
      for (const PlanInput& input : plan.inputs) {
        environment_.jobs.table.cache.DropWritten(input.table->id(), 0, input.table->view().used_bytes);
      }
    }
    co_return co_await InstallOutput(std::move(moved));
  }
  const std::shared_ptr<const Version> base = environment_.versions.current();
  SnapshotList snapshots = environment_.snapshots.SequencesToKeep(environment_.memtables.visible_number());
  JobEnvironment jobs = environment_.jobs;
  if (jobs.carries_cached) {
    const std::lock_guard lock(mutex_);
    jobs.carries_cached = readers_.ReadsTables(CountReaders());
    environment_.statistics.unread_merges += jobs.carries_cached ? 0 : 1;
  }
  CompactionPlan copy = plan;
  // Where space is short, or deleted records are to go, nothing that is dead may stay.
  const bool purges = plan.reason == PlanReason::kSpace || plan.reason == PlanReason::kDeletes;
  Task<Result<JobOutput>> merge =
      purges ? RunTableMerge(std::move(jobs), std::move(copy), base, std::move(snapshots))
             : RunMerge(std::move(jobs), std::move(copy), base, std::move(snapshots));
  Result<JobOutput> output = co_await std::move(merge);
  if (!output.ok()) {
    co_return output.error();
  }
  dropped = output->statistics.entries_in - output->statistics.entries_out;
  StoreStatistics::OfKind& counters = environment_.statistics.of(KindOf(plan));
  counters.read_bytes += output->statistics.read_bytes;
  counters.written_bytes += output->statistics.written_bytes;
  if (plan.reason == PlanReason::kDeletes) {
    environment_.statistics.for_deletes.read_bytes += output->statistics.read_bytes;
    environment_.statistics.for_deletes.written_bytes += output->statistics.written_bytes;
  }
  environment_.statistics.tombstones_removed_early += output->statistics.tombstones_removed_early;
  environment_.statistics.hidden_by_ranges += output->statistics.hidden_by_ranges;
  for (size_t i = 0; i < kChildMerges; i++) {
    environment_.statistics.children_by[i] += output->statistics.children_by[i];
  }
  StoreStatistics::OfLevel& level = environment_.statistics.by_level[plan.output_level];
  level.read_bytes += output->statistics.read_bytes;
  level.written_bytes += output->statistics.written_bytes;
  AsyncMutex::Guard buffering;
  if (environment_.shape.techniques.compaction_buffer) {
    buffering = co_await buffering_.Lock();
  }
  AddBufferElements(plan, dropped, output->edit);
  const bool buffers = !output->edit.buffer_elements.empty();
  const Status installed = co_await InstallOutput(std::move(*output));
  if (installed.ok() && buffers) {
    buffered_.Set();
  }
  co_return installed;
}

Task<void> Scheduler::RunReclaimJob() {
  co_await Reclaim();
  JobEnded([&] {
    reclaiming_ = false;
    readers_in_vain_ = false;
    flush_lacks_space_ = false;
    compaction_lacks_space_ = false;
    space_exhausted_.store(false, std::memory_order_release);
  });
}

Task<void> Scheduler::RunEraseJob() {
  for (const TableId table : TakeGoneTables()) {
    while (environment_.jobs.table.cache.EraseSomeOf(table) && !cancelled_.load()) {
      co_await Executor::Current().Yield();
    }
  }
  JobEnded([&] { erasing_ = false; });
}

Task<void> Scheduler::WaitForReaders() {
  const size_t held = environment_.versions.replaced_tables_held();
  const uint64_t end = home_.clock().MonotonicNanos() + kReadersWaitNanos;
  bool let_go = false;
  while (!let_go && !cancelled_.load() && home_.clock().MonotonicNanos() < end) {
    co_await home_.Sleep(kReadersPollNanos);
    let_go = environment_.versions.replaced_tables_held() < held;
  }
  JobEnded([&] {
    waiting_for_readers_ = false;
    readers_in_vain_ = !let_go;
    // Each tries again.
    flush_lacks_space_ = false;
    compaction_lacks_space_ = false;
  });
}

Task<void> Scheduler::ReclaimAll() {
  if (!environment_.health.read_only()) {
    co_await Reclaim();
  }
}

Task<void> Scheduler::Reclaim() {
  const std::vector<Extent> extents = environment_.allocator.BeginReclaim();
  for (size_t begin = 0; begin < extents.size(); begin += kDiscardsAtOnce) {
    std::vector<Task<Status>> discards;
    for (size_t i = begin; i < std::min(begin + kDiscardsAtOnce, extents.size()); i++) {
      discards.push_back(environment_.device.Discard(extents[i].offset(), extents[i].bytes()));
      environment_.statistics.reclaimed_bytes += extents[i].bytes();
    }
    // A device that cannot discard still lets the space be written again.
    const Status discarded = co_await WhenAllOk(std::move(discards));
    if (!discarded.ok()) {
      environment_.logger.Log(LogLevel::kWarning, "discarding freed space failed: " + discarded.ToString());
    }
  }
  environment_.allocator.FinishReclaim(extents);
}

}  // namespace varve
