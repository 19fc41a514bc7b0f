// What the scheduler does for compaction buffers: what merges put into them, trims, and giving them up.

#include <algorithm>
#include <utility>

#include "engine/compaction_buffer/buffered_merge.h"
#include "engine/compaction_buffer/trim.h"
#include "engine/ring/spawn_on.h"
#include "engine/store/scheduler.h"

namespace varve {

void Scheduler::AddBufferElements(const CompactionPlan& plan, uint64_t dropped, VersionEdit& edit) {
  if (!environment_.shape.techniques.compaction_buffer) {
    return;
  }
  uint64_t arrived = 0;
  for (const PlanInput& input : plan.inputs) {
    arrived += input.place.level < plan.output_level ? input.table->entries() : 0;
  }
  const std::shared_ptr<const Version> version = environment_.versions.current();
  bool may_buffer = !IsShort(environment_.allocator.numbers());
  {
    const std::lock_guard lock(mutex_);
    repeats_.Add(plan.output_level, arrived, dropped);
    // A hot share of 0 keeps everything, whoever reads.
    const bool serves = environment_.shape.buffer_hot_share <= 0 || readers_.Gets(CountReaders());
    may_buffer =
        may_buffer && serves && !repeats_.frozen(plan.output_level) && !space_wanted_ && !dropping_buffers_;
  }
  // Without elements the install makes holes of all that is merged.
  if (may_buffer) {
    edit.buffer_elements =
        BufferElementsOf(environment_.jobs.table, *version, plan, environment_.shape.buffer_hot_share);
  }
  uint64_t bytes = 0;
  for (const VersionEdit::BufferElement& element : edit.buffer_elements) {
    bytes += element.view.has_value() ? element.view->allocated_bytes() : 0;
  }
  // What goes down may replace as much as it brings.
  const uint64_t all_bytes = version->totals().total_bytes;
  const uint64_t staying_bytes = all_bytes - std::min(all_bytes, plan.input_bytes());
  const auto limit =
      static_cast<uint64_t>(environment_.shape.buffer_share * static_cast<double>(staying_bytes));
  if (bytes > limit) {
    edit.buffer_elements.clear();
    bytes = 0;
  }
  const uint64_t with_new = version->buffer_bytes() + bytes;
  if (with_new > limit) {
    edit.trimmed_views = DropOldest(*version, with_new - limit);
  }
  environment_.statistics.buffered_views += static_cast<uint64_t>(
      std::count_if(edit.buffer_elements.begin(), edit.buffer_elements.end(),
                    [](const VersionEdit::BufferElement& element) { return element.view.has_value(); }));
}

// A trim comes an interval after the first view that it may find.
Task<void> Scheduler::TrimLoop() {
  while (true) {
    co_await buffered_.Wait();
    if (!cancelled_.load()) {
      co_await trim_sleep_.For(environment_.buffer_trim_interval_nanos);
    }
    if (cancelled_.load()) {
      break;
    }
    buffered_.Reset();
    if (!environment_.health.read_only()) {
      co_await Trim();
    }
    if (environment_.versions.current()->buffer_bytes() > 0) {
      buffered_.Set();
    }
  }
  trim_ended_.Set();
}

Task<void> Scheduler::Trim() {
  const std::shared_ptr<const Version> version = environment_.versions.current();
  const InstallStamp young_from = std::exchange(young_from_, version->counters().next_stamp);
  std::vector<VersionEdit::TrimmedView> trims;
  for (uint32_t level = 1; level < kLevels; level++) {
    bool frozen = false;
    {
      const std::lock_guard lock(mutex_);
      frozen = repeats_.frozen(level);
    }
    if (frozen) {
      const std::vector<VersionEdit::TrimmedView> all = DropOf(*version, level);
      trims.insert(trims.end(), all.begin(), all.end());
      continue;
    }
    for (const BufferedView& view : version->level(level).buffer.views()) {
      if (std::optional<VersionEdit::TrimmedView> trim =
              TrimOf(environment_.jobs.table, level, view, view.stamp >= young_from,
                     environment_.shape.buffer_hot_share)) {
        trims.push_back(std::move(*trim));
      }
      co_await Executor::Current().Yield();
      if (cancelled_.load()) {
        co_return;
      }
    }
  }
  const Status trimmed = co_await InstallTrims(std::move(trims));
  if (!trimmed.ok()) {
    environment_.logger.Log(LogLevel::kWarning, "trimming compaction buffers failed: " + trimmed.ToString());
  }
}

bool Scheduler::StartDropOfBuffersLocked() {
  if (environment_.versions.current()->buffer_bytes() == 0) {
    return false;
  }
  dropping_buffers_ = true;
  SpawnOn(NextExecutor(), RunDropOfBuffers());
  return true;
}

Task<void> Scheduler::RunDropOfBuffers() {
  std::vector<VersionEdit::TrimmedView> trims;
  const std::shared_ptr<const Version> version = environment_.versions.current();
  for (uint32_t level = 1; level < kLevels; level++) {
    const std::vector<VersionEdit::TrimmedView> all = DropOf(*version, level);
    trims.insert(trims.end(), all.begin(), all.end());
  }
  const Status dropped = co_await InstallTrims(std::move(trims));
  JobEnded([&] {
    dropping_buffers_ = false;
    // Whoever lacks space tries again.
    space_wanted_ = space_wanted_ || dropped.ok();
    flush_lacks_space_ = false;
    compaction_lacks_space_ = false;
  });
}

Task<Status> Scheduler::InstallTrims(std::vector<VersionEdit::TrimmedView> trims) {
  if (trims.empty()) {
    co_return OkStatus();
  }
  environment_.statistics.trimmed_views += trims.size();
  VersionEdit edit;
  edit.trimmed_views = std::move(trims);
  const Result<std::shared_ptr<const Version>> installed =
      co_await environment_.versions.Install(std::move(edit));
  co_return installed.status();
}

}  // namespace varve
