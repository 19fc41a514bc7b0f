// The ends of work: Settle, and Close, which leaves no log to replay.

#include <utility>

#include "engine/store/store_impl.h"

namespace varve {

namespace {

// The hot map is saved where so many times its size is left to users.
constexpr uint64_t kHotMapSpareSpace = 16;

}  // namespace

// Until no memtable holds anything. Ends early, with success, where no space can be found for it: the log has
// it.
Task<Status> StoreImpl::FlushAll() {
  while (true) {
    // First: what fails after this wakes who waits beyond it.
    const uint64_t generation = scheduler_->progress().generation();
    if (health_.read_only()) {
      co_return health_.refusal();
    }
    const bool switched = memtables_->Switch();
    if (switched && memtables_->OldestImmutable() == nullptr) {
      co_return OkStatus();
    }
    if (scheduler_->flush_is_stuck()) {
      co_return OkStatus();
    }
    scheduler_->Wake();
    co_await scheduler_->progress().Beyond(generation);
  }
}

Task<Status> StoreImpl::Settle() {
  if (options_.read_only) {
    co_return OkStatus();
  }
  Status flushed = co_await FlushAll();
  if (!flushed.ok()) {
    co_return flushed;
  }
  co_await scheduler_->Settle();
  co_await scheduler_->ReclaimAll();
  if (health_.read_only()) {
    co_return health_.refusal();
  }
  co_return OkStatus();
}

Task<Status> StoreImpl::Close() {
  if (closed_.exchange(true)) {
    co_return OkStatus();
  }
  co_await background_reads_.End();
  if (options_.read_only) {
    co_return OkStatus();
  }
  Status status = co_await wal_->Sync();
  if (!status.ok()) {
    LogFailed(status.error());
  }
  Status flushed = co_await FlushAll();
  if (status.ok()) {
    status = std::move(flushed);
  }
  co_await scheduler_->Stop();
  co_await wal_->Close();
  if (status.ok() && !health_.read_only()) {
    co_await scheduler_->ReclaimAll();
    status = co_await InstallClean();
  }
  co_return status;
}

Task<Status> StoreImpl::InstallClean() {
  if (memtables_->OldestImmutable() != nullptr || !memtables_->fill().active_empty) {
    co_return OkStatus();
  }
  VersionEdit edit;
  edit.clean = true;
  edit.last_sequence = wal_->last_sequence();
  edit.log_start = wal_->next_lsn();
  // It may make the manifest roll: not where space is short.
  if (hot_map_ != nullptr &&
      kHotMapSpareSpace * hot_map_->bytes() < allocator_->numbers().user_available_bytes) {
    edit.hot_map = hot_map_->Encode();
  }
  // They hold nothing any more, but keep their space for the next epoch (log_segments.h).
  const VersionCounters& counters = versions_->current()->counters();
  edit.added_wal_segments =
      log_segments_->HandOverSpares(counters.next_wal_segment, counters.epoch, *edit.log_start);
  const Result<std::shared_ptr<const Version>> installed = co_await versions_->Install(std::move(edit));
  co_return installed.status();
}

}  // namespace varve
