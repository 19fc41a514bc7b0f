// What the scheduler does for deletes beside what the picker makes due: memtables that hide more than they
// hold, ranges in which readers step over tombstones, and thresholds that follow what users do.

#include <algorithm>
#include <utility>

#include "engine/base/units.h"
#include "engine/store/scheduler.h"
#include "engine/tree/range_purge.h"

namespace varve {

namespace {

// A merge for deletes takes space of its own until it has ended: at most so large a part of what users have.
constexpr uint64_t kSpaceForDeletes = 2;
// What a reader pays for each tombstone that it steps over, in bytes that a merge reads and writes in that
// time: about a microsecond.
constexpr uint64_t kTombstoneBytes = 1 * kKiB;
constexpr size_t kPurgesMax = 16;

StoreOutline OutlineOf(const Version& version) {
  const TableTotals all = version.totals();
  StoreOutline outline;
  outline.level1_bytes = version.totals(1).valid_bytes;
  outline.all_bytes = all.valid_bytes;
  outline.upper_bytes = all.valid_bytes - version.totals(version.last_level()).valid_bytes;
  outline.entries = all.entries;
  outline.tombstones = all.tombstones;
  return outline;
}

}  // namespace

DeleteLimits Scheduler::LimitsOfDeletesLocked() const {
  DeleteLimits limits;
  limits.oldest_snapshot =
      environment_.snapshots.SequencesToKeep(environment_.memtables.visible_number()).front();
  // As for readers: nothing waits for it, and while readers hold what it replaces it gives no space back.
  limits.bytes_max =
      space_wanted_ ? 0 : environment_.allocator.numbers().user_available_bytes / kSpaceForDeletes;
  return limits;
}

bool Scheduler::IsAtRestLocked() const {
  return !settling_.empty() || environment_.wal.last_sequence() == at_rest_since_;
}

// Tombstones are small: a memtable of them alone may hide many times its size, which comes back only once
// they have left it.
void Scheduler::SwitchForDeletesLocked() {
  const Memtables::Fill fill = environment_.memtables.fill();
  if (fill.immutables != 0 || fill.active_deletes == 0) {
    return;
  }
  const TableTotals totals = environment_.versions.current()->totals();
  const double hidden =
      ShareOf(totals.valid_bytes, totals.entries) * static_cast<double>(fill.active_deletes);
  if (hidden >= static_cast<double>(environment_.shape.memtable_bytes)) {
    environment_.memtables.Switch();
  }
}

void Scheduler::OnTombstonesPassed(const KeyRangeView& range, uint64_t tombstones) {
  const std::lock_guard lock(mutex_);
  const uint64_t paid = tombstones * kTombstoneBytes;
  const auto met = std::find_if(purges_.begin(), purges_.end(), [&](const PaidRange& purge) {
    return KeyRangeView(purge.range).Overlaps(range);
  });
  if (met != purges_.end()) {
    ExtendToCover(met->range, range);
    met->paid_bytes += paid;
    met->flushed = false;
  } else if (purges_.size() < kPurgesMax) {
    purges_.push_back({range.Owned(), paid});
  }
  wake_.Set();
}

// After what is due, and as for readers: one step after the other, each for what readers have paid.
void Scheduler::StartPurgesLocked() {
  const size_t jobs_max = kCompactionsPerExecutor * environment_.executors.size();
  for (size_t i = 0; i < purges_.size() && compactions_ < jobs_max && !compaction_lacks_space_;) {
    PaidRange& purge = purges_[i];
    if (!purge.flushed) {
      const Memtables::Fill fill = environment_.memtables.fill();
      if (fill.active_deletes != 0 && fill.immutables == 0) {
        environment_.memtables.Switch();
        StartFlushLocked();
      }
      purge.flushed = true;
    }
    if (flushing_) {
      return;
    }
    picker_.deletes = LimitsOfDeletesLocked();
    const std::shared_ptr<const Version> version = environment_.versions.current();
    RangePurge next = PlanRangePurge(*version, tree_, picker_, purge.range);
    const uint64_t price = next.plan ? next.plan->input_bytes() + next.plan->child_bytes() : 0;
    if (next.plan && price <= purge.paid_bytes) {
      purge.paid_bytes -= price;
      StartCompactionLocked(std::move(*next.plan));
    } else if (next.plan || next.waits) {
      // Until more is paid, or a job has ended.
      ++i;
    } else {
      purges_.erase(purges_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

// Later picks go by what has changed; what runs goes on.
void Scheduler::AdaptLocked() {
  if (!mix_->IsFull(environment_.shape.memtable_bytes)) {
    return;
  }
  const TreeConfig before = tree_;
  const Mix mix = mix_->Take();
  const StoreOutline outline = OutlineOf(*environment_.versions.current());
  if (adaptation_->OnWindow(mix, outline)) {
    Apply(adaptation_->thresholds(), adaptation_->limits(), environment_.shape.tree, tree_);
  }
  WrittenLevels levels{mix.flushes, mix.flushed_bytes};
  levels.level0_tables = std::max(tree_.level0_tables_trigger, tree_.level0_tables_max);
  levels.level1_bytes = MergesLevel1Soon() ? outline.level1_bytes : 0;
  written_room_->OnWindow(levels);
  // What a lower threshold makes due is no debt of writers until there was time for it, a window's: the
  // change itself slows nobody. For the same reason the thresholds of deletes, which also say how far levels
  // may grow, stay out of it.
  pressing_.level0_tables_trigger = std::max(before.level0_tables_trigger, tree_.level0_tables_trigger);
  pressing_.level0_tables_max = std::max(before.level0_tables_max, tree_.level0_tables_max);
}

}  // namespace varve
