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
// More are looked at by every read, and copied at each install that changes them: then what they hide has to
// go, at whatever price.
constexpr size_t kRangeTombstonesMax = 4096;
// Indexes that are read before others have their turn, and what was learnt is used.
constexpr size_t kEstimatesAtOnce = 32;

}  // namespace

Task<void> Scheduler::RangeLoop() {
  while (true) {
    co_await range_deleted_.Wait();
    if (!cancelled_.load()) {
      co_await range_sleep_.For(kRangeFlushNanos);
    }
    if (cancelled_.load()) {
      break;
    }
    range_deleted_.Reset();
    const Memtables::Fill fill = environment_.memtables.fill();
    if (fill.active_ranges && fill.immutables == 0) {
      environment_.memtables.Switch();
    }
    Wake();
  }
  range_ended_.Set();
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
    const bool too_many = version->range_tombstones()->size() > kRangeTombstonesMax;
    const PurgeNeed need = too_many ? PurgeNeed::kAll : PurgeNeed::kPays;
    std::optional<CompactionPlan> plan =
        PlanHiddenPurge(*version, environment_.shape.tree, picker_, hidden_, need);
    if (!plan || SpaceNeededBy(*plan, environment_.jobs.shape) > SpaceForPlans()) {
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
  std::optional<CompactionPlan> plan =
      PlanHiddenPurge(version, environment_.shape.tree, picker_, hidden_, PurgeNeed::kSpace);
  if (plan && SpaceNeededBy(*plan, environment_.jobs.shape) > bytes_max) {
    return std::nullopt;
  }
  if (plan) {
    plan->reason = PlanReason::kSpace;
  }
  return plan;
}

Task<void> Scheduler::RunRangeJob() {
  std::shared_ptr<const Version> version = environment_.versions.current();
  const std::vector<SequenceNumber> snapshots =
      environment_.snapshots.SequencesToKeep(environment_.memtables.visible_number());
  const Status retired = co_await RetireRangeTombstones(*version, snapshots);
  if (!retired.ok() && !retired.Is(ErrorCode::kNoSpace)) {
    environment_.health.Fail("giving up range tombstones", retired.error());
  }
  const bool all = co_await EstimateAllHidden(*version, snapshots.front());
  std::vector<HiddenInTable> hidden;
  for (const auto& [table, estimate] : estimates_) {
    if (estimate.is_hidden) {
      hidden.push_back({table.first, table.second, estimate.bytes});
    }
  }
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
  edit.removed_range_tombstones = RangeTombstonesToRetire(version, snapshots);
  if (edit.removed_range_tombstones.empty()) {
    co_return OkStatus();
  }
  const size_t count = edit.removed_range_tombstones.size();
  const Result<std::shared_ptr<const Version>> installed =
      co_await environment_.versions.Install(std::move(edit));
  if (installed.ok()) {
    environment_.statistics.range_tombstones_retired += count;
  }
  co_return installed.status();
}

Task<bool> Scheduler::EstimateAllHidden(const Version& version, SequenceNumber oldest_snapshot) {
  const RangeTombstones& tombstones = *version.range_tombstones();
  std::map<std::pair<TableId, Generation>, HiddenEstimate> estimates;
  std::vector<std::shared_ptr<const LiveTable>> to_read;
  version.ForEachSharedTable([&](const std::shared_ptr<const LiveTable>& table) {
    const TableView& view = table->view();
    const SequenceNumber newest = tombstones.NewestOver(table->range(), oldest_snapshot);
    if (newest <= std::max(view.purged_up_to, view.smallest_sequence())) {
      return;
    }
    const auto known = estimates_.find({view.id, view.generation});
    if (known != estimates_.end() && known->second.as_of >= newest) {
      estimates.insert(*known);
    } else {
      to_read.push_back(table);
    }
  });
  const size_t reads = std::min(to_read.size(), kEstimatesAtOnce);
  for (size_t i = 0; i < reads && !cancelled_.load(); ++i) {
    const TableView& view = to_read[i]->view();
    const Result<uint64_t> bytes =
        co_await EstimateHidden(environment_.jobs.table, view, tombstones, oldest_snapshot);
    HiddenEstimate& estimate = estimates[{view.id, view.generation}];
    estimate.as_of = tombstones.NewestOver(to_read[i]->range(), oldest_snapshot);
    // A table that cannot be read is for the merges that need it to fail at.
    estimate.is_hidden = bytes.ok();
    estimate.bytes = bytes.ok() ? *bytes : 0;
    co_await Executor::Current().Yield();
  }
  estimates_ = std::move(estimates);
  co_return reads == to_read.size();
}

}  // namespace varve
