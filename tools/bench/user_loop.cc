#include "tools/bench/user_loop.h"

#include <algorithm>
#include <utility>

#include "engine/ring/executor.h"

namespace varve {

namespace {

// A loop whose operations all end at once would never let its ring submit what the engine has begun there.
constexpr uint64_t kOperationsATurn = 16;

}  // namespace

std::string_view OperationKindName(OperationKind kind) {
  switch (kind) {
    case OperationKind::kRead:
      return "read";
    case OperationKind::kWrite:
      return "write";
    case OperationKind::kScan:
      return "scan";
    case OperationKind::kReadModifyWrite:
      return "read_modify_write";
  }
  return "unknown";
}

UserLoop::UserLoop(const Workload& workload, const RunOptions& options, Session& session, const Clock& clock,
                   PhaseShared& phase, ThreadShared& thread, ValueSource& values, uint64_t seed,
                   uint64_t nanos_between)
    : workload_(workload),
      options_(options),
      session_(session),
      clock_(clock),
      phase_(phase),
      thread_(thread),
      nanos_between_(nanos_between),
      random_(seed),
      numbers_(MakeGenerator(workload.distribution.value_or(options.distribution), options.zipf_constant)),
      values_(values) {
}

bool UserLoop::Ended(uint64_t now) const {
  return thread_.remaining == 0 || now >= thread_.end_nanos || phase_.stop.load(std::memory_order_relaxed);
}

Task<Status> UserLoop::Run() {
  uint64_t last = clock_.MonotonicNanos();
  uint64_t due = last;
  while (!Ended(last)) {
    --thread_.remaining;
    if (nanos_between_ != 0) {
      due += nanos_between_;
      if (due > last) {
        co_await Executor::Current().Sleep(due - last);
      }
      last = due;
    }
    const OperationKind kind = ChooseKind();
    Status status;
    std::optional<Status> at_once;
    if (kind == OperationKind::kRead) {
      EncodeBenchKey(ChooseRecord(), workload_.missing, options_.key_bytes, key_);
      at_once = TryRead();
    } else if (kind == OperationKind::kWrite) {
      ChooseWrittenKey();
      at_once = TryWrite();
    }
    if (at_once.has_value()) {
      status = std::move(*at_once);
    } else {
      status = co_await Do(kind);
    }
    if (!status.ok()) {
      phase_.stop = true;
      co_return status;
    }
    // One reading of the clock ends an operation and begins the next, as in db_bench: the choice of the key
    // belongs to the latency.
    const uint64_t now = clock_.MonotonicNanos();
    thread_.latency[static_cast<size_t>(kind)].Add(now - last);
    thread_.done.store(thread_.done.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    last = now;
    if (thread_.remaining % kOperationsATurn == 0) {
      co_await Executor::Current().Yield();
    }
  }
  co_return OkStatus();
}

OperationKind UserLoop::ChooseKind() {
  if (workload_.read == 1) {
    return OperationKind::kRead;
  }
  if (workload_.update == 1 || workload_.insert == 1) {
    return OperationKind::kWrite;
  }
  const double draw = random_.NextDouble();
  const double read = ReadShare();
  if (draw < read) {
    return OperationKind::kRead;
  }
  if (draw < read + workload_.scan) {
    return OperationKind::kScan;
  }
  if (draw < read + workload_.scan + workload_.read_modify_write) {
    return OperationKind::kReadModifyWrite;
  }
  return OperationKind::kWrite;
}

double UserLoop::ReadShare() const {
  return workload_.read * (workload_.deletes_of_all ? 1 - options_.delete_percent / 100 : 1);
}

double UserLoop::DeletesAmongWrites() const {
  const double deletes = options_.delete_percent / 100;
  return workload_.deletes_of_all ? deletes / (1 - ReadShare()) : deletes;
}

uint64_t UserLoop::ChooseRecord() {
  const uint64_t there = workload_.fills ? options_.number : phase_.records.load(std::memory_order_relaxed);
  return numbers_->Next(random_, std::max<uint64_t>(there, 1));
}

void UserLoop::ChooseWrittenKey() {
  const double writes = workload_.update + workload_.insert;
  const bool inserts =
      workload_.update == 0 || (workload_.insert != 0 && random_.NextDouble() * writes < workload_.insert);
  const uint64_t record = inserts ? phase_.records.fetch_add(1, std::memory_order_relaxed) : ChooseRecord();
  EncodeBenchKey(record, false, options_.key_bytes, key_);
  deletes_ = options_.delete_percent != 0 && !inserts && random_.NextDouble() < DeletesAmongWrites();
}

std::optional<Status> UserLoop::TryRead() {
  const std::optional<Result<ReadOutcome>> outcome = session_.TryGet(key_);
  if (!outcome.has_value()) {
    return std::nullopt;
  }
  return Count(*outcome);
}

std::optional<Status> UserLoop::TryWrite() {
  std::optional<Status> written;
  if (deletes_) {
    value_ = {};
    written = session_.TryDelete(key_);
  } else {
    value_ = values_.Next(random_);
    written = session_.TryPut(key_, value_);
  }
  if (written.has_value()) {
    CountWritten(value_.size());
  }
  return written;
}

// What TryWrite could not do at once.
Task<Status> UserLoop::Write() {
  Status status;
  if (deletes_) {
    status = co_await session_.Delete(key_);
  } else {
    status = co_await session_.Put(key_, value_);
  }
  CountWritten(value_.size());
  co_return status;
}

Task<Status> UserLoop::Do(OperationKind kind) {
  if (kind == OperationKind::kScan) {
    co_return co_await Scan();
  }
  if (kind == OperationKind::kWrite) {
    co_return co_await Write();
  }
  if (kind == OperationKind::kReadModifyWrite) {
    EncodeBenchKey(ChooseRecord(), false, options_.key_bytes, key_);
    deletes_ = false;
  }
  const Result<ReadOutcome> outcome = co_await session_.Get(key_);
  Status status = Count(outcome);
  if (status.ok() && kind == OperationKind::kReadModifyWrite) {
    value_ = values_.Next(random_);
    status = co_await Write();
  }
  co_return status;
}

Task<Status> UserLoop::Scan() {
  EncodeBenchKey(ChooseRecord(), false, options_.key_bytes, key_);
  const uint32_t most = workload_.scan_entries == 0 ? options_.scan_length : workload_.scan_entries;
  const uint64_t count = workload_.scan_entries_drawn ? random_.Between(1, most) : most;
  const Result<ScanOutcome> outcome = co_await session_.Scan(key_, count);
  if (!outcome.ok()) {
    co_return outcome.error();
  }
  thread_.found += outcome->entries != 0 ? 1 : 0;
  thread_.scanned_entries += outcome->entries;
  thread_.read_user_bytes += outcome->bytes;
  co_return OkStatus();
}

Status UserLoop::Count(const Result<ReadOutcome>& outcome) {
  if (!outcome.ok()) {
    return outcome.error();
  }
  if (outcome->found) {
    ++thread_.found;
    thread_.read_user_bytes += key_.size() + outcome->bytes;
  }
  return OkStatus();
}

void UserLoop::CountWritten(size_t value_bytes) {
  const uint64_t before = thread_.written_user_bytes.load(std::memory_order_relaxed);
  thread_.written_user_bytes.store(before + key_.size() + value_bytes, std::memory_order_relaxed);
}

}  // namespace varve
