#include "engine/compaction/merge_loop.h"

#include "engine/ring/executor.h"

namespace varve {

Task<Status> EndMergeSlice(const JobEnvironment& environment, uint64_t bytes) {
  if (environment.cancelled != nullptr && environment.cancelled->load(std::memory_order_relaxed)) {
    co_return Cancelled("the job was told to stop");
  }
  const uint64_t pause = environment.pacer != nullptr ? environment.pacer->PauseNanos(bytes) : 0;
  if (pause > 0) {
    co_await Executor::Current().Sleep(pause);
  } else {
    co_await Executor::Current().Yield();
  }
  co_return OkStatus();
}

Task<Status> MergeRecords(const JobEnvironment& environment, InternalIterator& records, MergeRules& rules,
                          MergeObserver* observer, RecordSink& output, JobStatistics& statistics) {
  uint64_t slice_bytes = 0;
  Step step = records.SeekToFirst();
  while (true) {
    if (step == Step::kNeedsIo) {
      co_await records.Load();
    }
    if (!records.Valid()) {
      co_return records.status();
    }
    const std::string_view key = records.key();
    slice_bytes += key.size() + records.value().size();
    ++statistics.entries_in;
    if (observer != nullptr) {
      observer->OnMergedKey(UserKeyOf(key));
    }
    if (!rules.Follows(key)) {
      co_return Corruption("the records of a table are out of order");
    }
    bool keep = rules.Keep(key);
    if (keep && rules.in_doubt()) {
      keep = co_await rules.older_data().MayHoldByTables(UserKeyOf(key));
      statistics.tombstones_removed_early += keep ? 0 : 1;
    }
    statistics.hidden_by_ranges += rules.hidden() ? 1 : 0;
    if (keep) {
      Status status;
      if (output.NeedsCut(UserKeyOf(key))) {
        status = co_await output.Cut();
      }
      if (status.ok()) {
        output.Add(key, records.value(), records.standing());
        ++statistics.entries_out;
        if (output.WantsDrain()) {
          status = co_await output.Drain();
        }
      }
      if (!status.ok()) {
        co_return status;
      }
    }
    if (slice_bytes >= kMergeSliceBytes) {
      Status status = co_await EndMergeSlice(environment, slice_bytes);
      if (!status.ok()) {
        co_return status;
      }
      slice_bytes = 0;
    }
    step = records.Next();
  }
}

}  // namespace varve
