#include "src/scrubber.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/ring/spawn_on.h"
#include "engine/store/scrub.h"
#include "fs/ops/name_damage.h"

namespace varve {

namespace {

// The least of all.
constexpr int kScrubNice = 19;
// While somebody uses the device: what a slow disk can spare without anybody noticing. While nobody does, it
// goes as fast as it can.
constexpr uint64_t kBusyBytesPerSecond = 16 * kMiB;
// Whoever used the device within this time is still there.
constexpr uint64_t kBusyNanos = 100'000'000;

// Everything that the device has done for others.
uint64_t OthersOperations(const BlockDevice& device) {
  uint64_t operations = 0;
  for (size_t i = 0; i < kIoPurposes; ++i) {
    const auto purpose = static_cast<IoPurpose>(i);
    if (purpose != IoPurpose::kCheck) {
      const IoCounters::OfPurpose& of = device.counters().of(purpose);
      operations += of.reads.load(std::memory_order_relaxed) + of.writes.load(std::memory_order_relaxed);
    }
  }
  return operations;
}

}  // namespace

// What a scrub tells goes into the report; before it reads it waits its turn.
class Scrubber::Observer final : public ScrubObserver, public DamageSink {
 public:
  Observer(Scrubber& scrubber, const BlockDevice& device) : scrubber_(scrubber), device_(device) {}

  void OnProblem(StoreProblem problem) override {
    scrubber_.logger_.Log(LogLevel::kError, fmt::format("scrub: {}", problem.what));
    const std::lock_guard lock(scrubber_.mutex_);
    scrubber_.report_.AddProblem(problem.what);
    if (problem.keys) {
      damaged_keys_.push_back(std::move(*problem.keys));
    }
  }
  void OnProgress(uint64_t done_bytes, uint64_t total_bytes) override {
    const std::lock_guard lock(scrubber_.mutex_);
    scrubber_.report_.done_bytes = done_bytes;
    scrubber_.report_.total_bytes = total_bytes;
  }
  Task<Status> BeforeRead(uint64_t bytes) override {
    if (scrubber_.stopping_.load()) {
      co_return Cancelled("stopped");
    }
    const uint64_t now = scrubber_.clock_.MonotonicNanos();
    const uint64_t operations = OthersOperations(device_);
    if (operations != others_operations_) {
      others_operations_ = operations;
      others_nanos_ = now;
    }
    if (now - others_nanos_ < kBusyNanos) {
      co_await Executor::Current().Sleep(bytes * 1'000'000'000 / kBusyBytesPerSecond);
    }
    co_return OkStatus();
  }
  void Damaged(std::string_view path, std::string_view part) override {
    scrubber_.logger_.Log(LogLevel::kError, fmt::format("scrub: cannot be read: {}: {}", path, part));
    const std::lock_guard lock(scrubber_.mutex_);
    scrubber_.report_.AddDamaged(path, part);
  }
  std::vector<KeyRange> TakeDamagedKeys() { return std::move(damaged_keys_); }

 private:
  Scrubber& scrubber_;
  const BlockDevice& device_;
  std::vector<KeyRange> damaged_keys_;
  uint64_t others_operations_ = 0;
  uint64_t others_nanos_ = 0;
};

Status Scrubber::StartThreadLocked() {
  if (thread_ != nullptr) {
    return OkStatus();
  }
  ReactorThread::Options options;
  options.name = "varve-scrub";
  options.nice = kScrubNice;
  options.low_io = true;
  Result<std::unique_ptr<ReactorThread>> thread = ReactorThread::Start(std::move(options), clock_);
  if (!thread.ok()) {
    return thread.error();
  }
  thread_ = std::move(*thread);
  return OkStatus();
}

void Scrubber::Start(Store& store, const BlockDevice& device) {
  const std::lock_guard lock(mutex_);
  if (report_.state == ScrubState::kRunning || finished_) {
    return;
  }
  const uint64_t run = report_.run + 1;
  report_ = ScrubReport();
  report_.run = run;
  const Status started = StartThreadLocked();
  if (!started.ok()) {
    report_.state = ScrubState::kFailed;
    report_.error = started.error().message();
    return;
  }
  report_.state = ScrubState::kRunning;
  stopping_.store(false);
  idle_.Reset();
  SpawnOn(thread_->reactor(), Run(store, device));
}

Task<void> Scrubber::Run(Store& store, const BlockDevice& device) {
  const Status done = co_await Scrub(store, device);
  {
    const std::lock_guard lock(mutex_);
    report_.state = done.ok()                        ? ScrubState::kFinished
                    : done.Is(ErrorCode::kCancelled) ? ScrubState::kStopped
                                                     : ScrubState::kFailed;
    report_.error = done.ok() ? "" : done.error().message();
  }
  idle_.Set();
}

Task<Status> Scrubber::Scrub(Store& store, const BlockDevice& device) {
  logger_.Log(LogLevel::kInfo, "scrub: begun");
  Observer observer(*this, device);
  const Result<ScrubSummary> scrubbed = co_await store.Scrub(observer);
  std::vector<KeyRange> damaged = observer.TakeDamagedKeys();
  Status status = scrubbed.status();
  if (!damaged.empty() && !stopping_.load()) {
    const Status named = co_await NameDamage(store, std::move(damaged), observer);
    status = status.ok() ? named : status;
  }
  logger_.Log(LogLevel::kInfo, scrubbed.ok() ? fmt::format("scrub: {} tables read, {} problems",
                                                           scrubbed->tables, scrubbed->problems)
                                             : fmt::format("scrub: ended early: {}", scrubbed.ToString()));
  co_return status;
}

Task<void> Scrubber::Finish() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  Stop();
  co_await idle_.Wait();
}

ScrubReport Scrubber::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

}  // namespace varve
