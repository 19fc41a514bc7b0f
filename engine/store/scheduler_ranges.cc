// What the scheduler does for range tombstones: memtables that hold one are written out soon, what they hide
// is merged away where that pays, and those that hide nothing any more leave the Version.

#include <algorithm>
#include <utility>

#include "engine/compaction/hidden_estimate.h"
#include "engine/compaction/table_merge_job.h"
#include "engine/ring/spawn_on.h"
#include "engine/store/scheduler.h"
#include "engine/version/range_deletes.h"

namespace varve {

namespace {

// A range tombstone frees space only once it has left its memtable: with it, space comes back in seconds, and
// without a table of level 0 for each. A listing of names may take as long.
constexpr uint64_t kRangeFlushNanos = 2'000'000'000;
// While they keep coming each wait is twice the one before, up to this: a trickle of them is not to write a
// table of level 0 for each.
constexpr uint64_t kRangeFlushNanosMax = 32'000'000'000;
// More are looked at by every read, and copied at each install that changes them: then what they hide has to
// go, at whatever price. The same for this share of the memory that they may take.
constexpr size_t kRangeTombstonesMax = 4096;
constexpr double kRangeTombstonesMemoryShare = 1.0 / 8;
// Indexes that are read before others have their turn, and what was learnt is used.
constexpr size_t kEstimatesAtOnce = 32;
// The same of range tombstones that may be over one another.
constexpr size_t kTombstonesAtOnce = 32;
// The same of tables that are only looked up.
constexpr size_t kTablesAtOnce = 256;

}  // namespace

Task<void> Scheduler::RangeLoop() {
  const Clock& clock = Executor::Current().clock();
  uint64_t wait = 0;
  uint64_t waited = 0;
  while (true) {
    co_await range_deleted_.Wait();
    const bool keeps_coming = wait != 0 && clock.MonotonicNanos() < waited + wait;
    wait = keeps_coming ? std::min(2 * wait, kRangeFlushNanosMax) : kRangeFlushNanos;
    if (!cancelled_.load()) {
      co_await range_sleep_.For(wait);
    }
    if (cancelled_.load()) {
      break;
    }
    waited = clock.MonotonicNanos();
    range_deleted_.Reset();
    const Memtables::Fill fill = environment_.memtables.fill();
    const bool waits = fill.active_ranges && (fill.immutables != 0 || !environment_.memtables.Switch());
    if (waits && !environment_.health.read_only()) {
      // Nothing else may come that would set it.
      range_deleted_.Set();
    }
    LookForRanges();
  }
  range_ended_.Set();
}

void Scheduler::LookForRanges() {
  {
    const std::lock_guard lock(mutex_);
    looked_for_ranges_.reset();
  }
  Wake();
}

void Scheduler::StartRangeJobLocked() {
  const std::shared_ptr<const Version> version = environment_.versions.current();
  if (version->range_tombstones() == nullptr) {
    hidden_.clear();
    return;
  }
  if (!range_job_ && (range_work_left_ || looked_for_ranges_.lock() != version)) {
    range_job_ = true;
    SpawnOn(NextExecutor(), RunRangeJob());
  }
}

void Scheduler::StartHiddenPurgesLocked() {
  const size_t jobs_max = kCompactionsPerExecutor * environment_.executors.size();
  const std::shared_ptr<const Version> version = environment_.versions.current();
  while (!hidden_.empty() && compactions_ < jobs_max && version->range_tombstones() != nullptr &&
         !compaction_lacks_space_ && !space_wanted_) {
    const PurgeNeed need = RangeDebt(*version) > 1 ? PurgeNeed::kAll : PurgeNeed::kPays;
    // While readers hold what they replace they give no space back: the shares stay with what has to be done.
    std::optional<CompactionPlan> plan = PlanHiddenLocked(*version, need, LimitsOfDeletesLocked().bytes_max);
    if (!plan) {
      return;
    }
    StartCompactionLocked(std::move(*plan));
  }
}

std::optional<CompactionPlan> Scheduler::PlanHiddenForSpaceLocked(const Version& version,
                                                                  uint64_t bytes_max) const {
  if (version.range_tombstones() == nullptr) {
    return std::nullopt;
  }
  std::optional<CompactionPlan> plan = PlanHiddenLocked(version, PurgeNeed::kSpace, bytes_max);
  if (plan) {
    plan->reason = PlanReason::kSpace;
  }
  return plan;
}

std::optional<CompactionPlan> Scheduler::PlanHiddenLocked(const Version& version, PurgeNeed need,
                                                          uint64_t bytes_max) const {
  const SequenceNumber oldest =
      environment_.snapshots.SequencesToKeep(environment_.memtables.visible_number()).front();
  return PlanHiddenPurge(version, tree_, picker_, hidden_, need, [&](const CompactionPlan& plan) {
    return SpaceNeededBy(plan, environment_.jobs.shape, version.range_tombstones(), oldest) <= bytes_max;
  });
}

double Scheduler::RangeDebt(const Version& version) const {
  const RangeTombstones* const ranges = version.range_tombstones();
  if (ranges == nullptr) {
    return 0;
  }
  return std::max(
      static_cast<double>(ranges->size()) / kRangeTombstonesMax,
      static_cast<double>(ranges->memory_bytes()) /
          (kRangeTombstonesMemoryShare * static_cast<double>(environment_.range_tombstones_bytes)));
}

Task<void> Scheduler::RunRangeJob() {
  std::shared_ptr<const Version> version = environment_.versions.current();
  const std::vector<SequenceNumber> snapshots =
      environment_.snapshots.SequencesToKeep(environment_.memtables.visible_number());
  const Status retired = co_await RetireRangeTombstones(*version, snapshots);
  if (!retired.ok() && !retired.Is(ErrorCode::kNoSpace)) {
    environment_.health.Fail("giving up range tombstones", retired.error());
  }
  HiddenTables hidden;
  const bool all = co_await EstimateAllHidden(*version, snapshots.front(), hidden);
  JobEnded([&] {
    range_job_ = false;
    range_work_left_ = !all;
    hidden_ = std::move(hidden);
    looked_for_ranges_ = version;
    version.reset();
  });
}

Task<Status> Scheduler::RetireRangeTombstones(const Version& version,
                                              const std::vector<SequenceNumber>& snapshots) {
  VersionEdit edit;
  const RangeTombstones& tombstones = *version.range_tombstones();
  const std::vector<SequenceNumber> shadowed = tombstones.Shadowed(snapshots);
  std::vector<SequenceNumber> numbers;
  numbers.reserve(tombstones.size());
  tombstones.ForEach([&](const RangeTombstone& tombstone) { numbers.push_back(tombstone.sequence); });
  for (size_t i = 0; i < numbers.size() && !cancelled_.load(); ++i) {
    if (MayRetire(version, *tombstones.Find(numbers[i]), shadowed)) {
      edit.removed_range_tombstones.push_back(numbers[i]);
    }
    if (i % kTombstonesAtOnce == kTombstonesAtOnce - 1) {
      co_await Executor::Current().Yield();
    }
  }
  if (edit.removed_range_tombstones.empty()) {
    co_return OkStatus();
  }
  const size_t count = edit.removed_range_tombstones.size();
  edit.readers = snapshots;
  const Result<std::shared_ptr<const Version>> installed =
      co_await environment_.versions.Install(std::move(edit));
  if (installed.ok()) {
    environment_.statistics.range_tombstones_retired += count;
  }
  co_return installed.status();
}

Task<bool> Scheduler::EstimateAllHidden(const Version& version, SequenceNumber oldest_snapshot,
                                        HiddenTables& hidden) {
  const RangeTombstones& tombstones = *version.range_tombstones();
  std::vector<std::pair<uint32_t, std::shared_ptr<const LiveTable>>> tables;
  for (uint32_t level = 0; level < kLevels; ++level) {
    version.ForEachSharedTableOf(
        level, [&](const std::shared_ptr<const LiveTable>& table) { tables.emplace_back(level, table); });
  }
  std::map<std::pair<TableId, Generation>, HiddenEstimate> estimates;
  size_t reads = 0;
  bool all = true;
  for (size_t i = 0; i < tables.size(); ++i) {
    if (i % kTablesAtOnce == kTablesAtOnce - 1) {
      co_await Executor::Current().Yield();
    }
    const auto& [level, table] = tables[i];
    const TableView& view = table->view();
    const SequenceNumber newest = tombstones.NewestOver(table->range(), oldest_snapshot);
    if (newest <= std::max(view.purged_up_to, view.smallest_sequence())) {
      continue;
    }
    HiddenEstimate estimate{view.data_bytes(), newest};
    const auto known = estimates_.find({view.id, view.generation});
    if (AllHidden(tombstones, view, oldest_snapshot)) {
      // Its index would say no more.
    } else if (known != estimates_.end() && known->second.as_of >= newest) {
      estimate = known->second;
    } else if (reads == kEstimatesAtOnce || cancelled_.load()) {
      all = false;
      continue;
    } else {
      const Result<uint64_t> bytes =
          co_await EstimateHidden(environment_.jobs.table, view, tombstones, oldest_snapshot);
      co_await Executor::Current().Yield();
      if (!bytes.ok()) {
        // It is asked again when some time has passed; one that can never be read is for merges to fail at.
        MarkRangeDeleted();
        continue;
      }
      reads++;
      estimate.bytes = *bytes;
    }
    estimates[{view.id, view.generation}] = estimate;
    hidden[{view.id, view.generation}] = {level, view.smallest, table->valid_bytes(), estimate.bytes};
  }
  estimates_ = std::move(estimates);
  co_return all;
}

}  // namespace varve
