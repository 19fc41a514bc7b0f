// Scheduler: what runs in the background, and when: flushes, compactions by the pickers' plans, trims of
// compaction buffers, the end of range tombstones, reclaim of space, and the commit interval. It decides; the
// jobs of engine/compaction do the work.
//
// Threads: one loop on the first background executor makes all decisions; jobs run on the background
// executors in turn. Any thread may call what is public. mutex_ guards the bookkeeping, is held for a
// decision at most, and inside it only leaf locks are taken (allocator, snapshots, waiters).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/key_range.h"
#include "engine/base/logger.h"
#include "engine/base/result.h"
#include "engine/compaction/job_environment.h"
#include "engine/compaction_buffer/freeze.h"
#include "engine/ring/async_event.h"
#include "engine/ring/async_mutex.h"
#include "engine/ring/executor.h"
#include "engine/ring/interruptible_sleep.h"
#include "engine/ring/task.h"
#include "engine/space/extent_allocator.h"
#include "engine/store/back_pressure.h"
#include "engine/store/health.h"
#include "engine/store/log_segments.h"
#include "engine/store/memtables.h"
#include "engine/store/mix_meter.h"
#include "engine/store/reader_meter.h"
#include "engine/store/snapshots.h"
#include "engine/store/statistics.h"
#include "engine/store/store_shape.h"
#include "engine/store/wait_list.h"
#include "engine/store/written_room.h"
#include "engine/tree/delete_adaptation.h"
#include "engine/tree/hidden_purge.h"
#include "engine/tree/tree_picker.h"
#include "engine/version/version_set.h"
#include "engine/wal/wal_writer.h"

namespace varve {

// All must outlive the scheduler.
struct SchedulerEnvironment {
  BlockDevice& device;
  Logger& logger;
  const std::vector<Executor*>& executors;
  const StoreShape& shape;
  JobEnvironment jobs;
  ExtentAllocator& allocator;
  VersionSet& versions;
  Memtables& memtables;
  LogSegments& log_segments;
  WalWriter& wal;
  HeldSnapshots& snapshots;
  Health& health;
  StoreStatistics& statistics;
  uint64_t commit_interval_nanos;
  uint64_t buffer_trim_interval_nanos;
  // StoreOptions::range_tombstones_bytes.
  size_t range_tombstones_bytes;
};

class Scheduler {
 public:
  explicit Scheduler(SchedulerEnvironment environment);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Before Start: writes out what recovery found, and frees the log that held it. Errors: of the flush, and
  // of the edit that installs it.
  Task<Status> FlushBeforeStart();
  // Once.
  void Start();
  // Lets running jobs end (merges are cancelled, a flush is not), starts no more, and waits for it. Last.
  Task<void> Stop();

  // Something may be due: a memtable was switched, space was released.
  void Wake() { wake_.Set(); }
  // Something was appended to the log that nobody syncs: the commit interval begins.
  void MarkUnsynced() {
    if (!unsynced_.IsSet()) {
      unsynced_.Set();
    }
  }
  // No generation of the table lives on: its blocks leave the cache, in slices. Any thread, whatever it
  // holds.
  void OnTableGone(TableId table);
  // A range was deleted: the memtable that says so is not to wait until it is full.
  void MarkRangeDeleted() {
    if (!range_deleted_.IsSet()) {
      range_deleted_.Set();
    }
  }
  // Someone waits for range tombstones to go: what kept them when they were looked at last may be gone.
  void LookForRanges();
  // A batch did not fit. True: work that may make room is under way or due, wait for progress(); false: there
  // is none.
  bool AskForSpace();
  // What was written since frees space: asking is worth while again.
  void OnDeletesWritten() {
    if (space_exhausted_.load(std::memory_order_relaxed)) {
      ForgetExhaustion();
    }
  }
  // A table of several segments is worth being written as one. Any thread.
  void OnReadersHavePaid() {
    readers_have_paid_.store(true);
    wake_.Set();
  }
  // A reader has stepped over so many tombstones in the range. Any thread.
  void OnTombstonesPassed(const KeyRangeView& range, uint64_t tombstones);
  // A flush found too little space, and nothing more can be done for space.
  bool flush_is_stuck() const {
    const std::lock_guard lock(mutex_);
    return flush_lacks_space_ && space_exhausted_.load(std::memory_order_relaxed);
  }
  // Woken when a job has ended, or nothing more can be done for space.
  WaitList& progress() { return progress_; }
  const Throttle& throttle() const { return throttle_; }
  Throttle& throttle() { return throttle_; }

  // Waits until no memtable waits for its flush and no compaction is due.
  Task<void> Settle();
  // Makes all released space free.
  Task<void> ReclaimAll();

  size_t running_jobs() const;
  // The sizes and thresholds in force, and how they came to it; nullopt: they are the shape's.
  TreeConfig tree_config() const {
    const std::lock_guard lock(mutex_);
    return tree_;
  }
  std::optional<DeleteAdaptation> adaptation() const {
    const std::lock_guard lock(mutex_);
    return adaptation_;
  }
  // Of the block cache, for what merges read soon.
  uint64_t reserved_bytes() const {
    const std::lock_guard lock(mutex_);
    return written_room_ ? written_room_->reserved_bytes() : 0;
  }

 private:
  // A merge waits for the device at its beginning and its end, whatever it has in flight between: there the
  // second has its turn. More would only take memory.
  static constexpr size_t kCompactionsPerExecutor = 2;
  // Of the device.
  static constexpr uint64_t kShortShare = 8;

  Task<void> Loop();
  Task<void> CommitLoop();
  Task<void> TrimLoop();
  Task<void> RangeLoop();
  Task<void> InterruptLoops();

  // Decisions; on the loop's executor, with mutex_ held.
  void StartDueLocked();
  void SwitchForLogLocked();
  void StartFlushLocked();
  void StartCompactionsLocked();
  void StartCompactionLocked(CompactionPlan plan);
  void StartForReadersLocked();
  void StartForSpaceBoundLocked();
  // scheduler_deletes.cc
  DeleteLimits LimitsOfDeletesLocked() const;
  void SwitchForDeletesLocked();
  // Whether users write nothing: somebody waits for the store to settle, or nothing was written since a
  // commit at the end of an interval (users who sync all that they write leave none to do).
  bool IsAtRestLocked() const;
  void StartPurgesLocked();
  void AdaptLocked();
  // As TableOutput has it, what merges write there.
  bool MergesLevel1Soon() const {
    return !environment_.shape.techniques.append_merge && !environment_.shape.techniques.sst_log;
  }
  // scheduler_ranges.cc
  void StartRangeJobLocked();
  void StartHiddenPurgesLocked();
  // What gives space back at all, and takes no more than that to do so.
  std::optional<CompactionPlan> PlanHiddenForSpaceLocked(const Version& version, uint64_t bytes_max) const;
  std::optional<CompactionPlan> PlanHiddenLocked(const Version& version, PurgeNeed need,
                                                 uint64_t bytes_max) const;
  // How many range tombstones there are, in units of too many.
  double RangeDebt(const Version& version) const;
  void WorkForSpaceLocked();
  void StartReclaimLocked();
  void StartEraseLocked();
  // Gives up all buffers; false: there is nothing in them.
  bool StartDropOfBuffersLocked();
  bool IdleLocked() const;
  // So little of the device is left to users that space is reclaimed at once, and nothing is buffered.
  static bool IsShort(const SpaceNumbers& space) {
    return space.user_available_bytes < space.total_bytes / kShortShare;
  }
  void UpdatePressure();

  // Jobs; each ends with JobEnded. scheduler_jobs.cc.
  Task<void> RunFlushJob(std::shared_ptr<HeldMemtable> held);
  ReaderMeter::Readers CountReaders() const;
  Task<Status> Flush(HeldMemtable& held);
  Task<void> RunCompactionJob(CompactionPlan plan);
  // `dropped`: the records that the merge left out.
  Task<Status> Compact(const CompactionPlan& plan, uint64_t& dropped);
  Task<Status> InstallOutput(JobOutput output);
  // scheduler_buffer.cc. What the edit of a merge puts into buffers; `dropped`: as in Compact.
  void AddBufferElements(const CompactionPlan& plan, uint64_t dropped, VersionEdit& edit);
  Task<void> Trim();
  Task<void> RunDropOfBuffers();
  Task<Status> InstallTrims(std::vector<VersionEdit::TrimmedView> trims);
  // scheduler_ranges.cc
  Task<void> RunRangeJob();
  Task<Status> RetireRangeTombstones(const Version& version, const std::vector<SequenceNumber>& snapshots);
  // How much of each table is hidden from everybody. Reads where that has changed; false: some are left.
  Task<bool> EstimateAllHidden(const Version& version, SequenceNumber oldest_snapshot, HiddenTables& hidden);
  Task<void> RunReclaimJob();
  // Takes the blocks of tables that are gone out of the cache.
  Task<void> RunEraseJob();
  std::vector<TableId> TakeGoneTables();
  // Ends when readers have let go of a replaced table, or have not for long.
  Task<void> WaitForReaders();
  Task<void> Reclaim();
  template <typename Update>
  void JobEnded(Update update);

  size_t LogSegmentsInUse() const;
  Executor& NextExecutor();
  void ForgetExhaustion();
  uint64_t SpaceForPlans() const;

  SchedulerEnvironment environment_;
  Executor& home_;
  std::atomic<bool> cancelled_{false};
  Throttle throttle_;
  AsyncEvent wake_;
  AsyncEvent unsynced_;
  // Something came into a buffer: the trim interval begins.
  AsyncEvent buffered_;
  AsyncEvent range_deleted_;
  // What may come into buffers goes by what is in them: held from that look to the install.
  AsyncMutex buffering_;
  WaitList progress_;
  std::atomic<bool> space_exhausted_{false};
  std::atomic<bool> readers_have_paid_{false};
  // Under mutex_: a table that readers have paid for could not be merged yet; the end of a job is the time to
  // try again.
  bool readers_wait_ = false;

  // What pickers go by, and what presses on writers. Written on home_ with mutex_ held; read on home_, or
  // with mutex_ held.
  TreeConfig tree_;
  TreeConfig pressing_;

  // On home_ only.
  InterruptibleSleep commit_sleep_;
  InterruptibleSleep trim_sleep_;
  InterruptibleSleep range_sleep_;
  AsyncEvent loop_ended_;
  AsyncEvent commit_ended_;
  AsyncEvent trim_ended_;
  AsyncEvent range_ended_;
  AsyncEvent interruption_ended_;
  bool started_ = false;
  // The last that was written when a commit found all of it durable.
  SequenceNumber at_rest_since_;

  mutable std::mutex mutex_;
  // All under mutex_.
  bool stopping_ = false;
  TreePickerState picker_;
  size_t compactions_ = 0;
  bool flushing_ = false;
  bool reclaiming_ = false;
  bool erasing_ = false;
  bool waiting_for_readers_ = false;
  bool dropping_buffers_ = false;
  RepeatMeter repeats_;
  ReaderMeter readers_;
  // The last try of each found too little space; cleared by any progress.
  bool flush_lacks_space_ = false;
  bool compaction_lacks_space_ = false;
  bool space_wanted_ = false;
  bool last_level_in_vain_ = false;
  // They have kept what they hold for as long as anybody waits for it. Until space is reclaimed.
  bool readers_in_vain_ = false;
  size_t next_executor_ = 0;
  // Where readers step over tombstones, and what they have paid there.
  struct PaidRange {
    KeyRange range;
    uint64_t paid_bytes = 0;
    // What of the tombstones was in a memtable is on its way to level 0.
    bool flushed = false;
  };
  std::vector<PaidRange> purges_;
  // Where merges for deletes are on.
  std::optional<MixMeter> mix_;
  std::optional<DeleteAdaptation> adaptation_;
  std::optional<WrittenRoom> written_room_;
  bool range_job_ = false;
  // The last range job has not looked at all tables.
  bool range_work_left_ = false;
  // The Version that it looked at, and what it found there.
  std::weak_ptr<const Version> looked_for_ranges_;
  HiddenTables hidden_;
  std::vector<AsyncEvent*> settling_;

  // A leaf: tables go also while mutex_ is held.
  std::mutex gone_mutex_;
  std::vector<TableId> gone_tables_;

  // What the log has let go of and the manifest still names. The flush job's own: there is one at a time.
  std::vector<WalSegment> log_released_;
  // Where the log starts without them.
  std::optional<Lsn> log_released_start_;
  // The range job's own: what it knows of tables.
  struct HiddenEstimate {
    uint64_t bytes = 0;
    // With the range tombstones up to this one.
    SequenceNumber as_of;
  };
  std::map<std::pair<TableId, Generation>, HiddenEstimate> estimates_;
  // The trim loop's: views from this stamp on came since the last trim.
  InstallStamp young_from_;
};

template <typename Update>
void Scheduler::JobEnded(Update update) {
  // Everything under the lock: once the loop sees that nothing runs, this may be destroyed.
  const std::lock_guard lock(mutex_);
  update();
  wake_.Set();
  progress_.WakeAll();
}

}  // namespace varve
