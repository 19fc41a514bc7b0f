#include "tools/bench/phase.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <latch>
#include <memory>
#include <mutex>
#include <utility>

#include "engine/ring/spawn_on.h"
#include "engine/ring/when_all.h"

namespace varve {

namespace {

constexpr double kNanosPerSecond = 1e9;
constexpr uint64_t kSampleNanos = 1'000'000'000;
constexpr auto kReportInterval = std::chrono::milliseconds(100);

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// proc(5): writing 5 to clear_refs makes VmHWM begin anew.
void ForgetPeakMemory() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

uint64_t PeakMemoryBytes() {
  std::ifstream file("/proc/self/status");
  std::string word;
  uint64_t kibibytes = 0;
  while (file >> word) {
    if (word == "VmHWM:" && file >> kibibytes) {
      return kibibytes * kKiB;
    }
  }
  return 0;
}

uint64_t LessBefore(uint64_t now, uint64_t before) {
  return now >= before ? now - before : now;
}

using CountsByKind = std::map<std::string, uint64_t>;

CountsByKind LessBefore(CountsByKind now, const CountsByKind& before) {
  for (auto& [kind, count] : now) {
    const auto same = before.find(kind);
    count = LessBefore(count, same == before.end() ? 0 : same->second);
  }
  return now;
}

// The users of one lane, and what they counted.
struct LaneUsers {
  ThreadShared shared;
  Status status;
};

// What the lanes of a phase share.
struct Crew {
  const RunOptions& options;
  Engine& engine;
  const Clock& clock;
  PhaseShared phase;
  std::latch ready;
  std::latch go{1};
  std::mutex mutex{};
  std::condition_variable ended{};
  // Lanes whose users have not ended; guarded by the mutex.
  size_t running = 0;
};

struct UsersOfLane {
  const Workload& workload;
  uint32_t users;
  uint64_t seed;
  uint64_t nanos_between;
};

Task<void> RunUsers(Crew& crew, LaneUsers& self, UsersOfLane what) {
  {
    ValueSource values(crew.options.value_bytes_min, crew.options.value_bytes_max, what.seed);
    std::vector<std::unique_ptr<Session>> sessions;
    std::vector<std::unique_ptr<UserLoop>> loops;
    for (uint32_t i = 0; i < what.users; ++i) {
      sessions.push_back(crew.engine.NewSession());
      loops.push_back(std::make_unique<UserLoop>(what.workload, crew.options, *sessions.back(), crew.clock,
                                                 crew.phase, self.shared, values, what.seed + i * 7919,
                                                 what.nanos_between));
    }
    crew.ready.count_down();
    crew.go.wait();
    std::vector<Task<Status>> tasks;
    tasks.reserve(loops.size());
    for (const std::unique_ptr<UserLoop>& loop : loops) {
      tasks.push_back(loop->Run());
    }
    self.status = co_await WhenAllOk(std::move(tasks));
  }
  const std::lock_guard lock(crew.mutex);
  --crew.running;
  crew.ended.notify_all();
}

uint64_t TotalDone(const std::vector<std::unique_ptr<LaneUsers>>& lanes) {
  uint64_t done = 0;
  for (const std::unique_ptr<LaneUsers>& lane : lanes) {
    done += lane->shared.done.load(std::memory_order_relaxed);
  }
  return done;
}

void Add(PhaseFigures& figures, const ThreadShared& thread) {
  figures.operations += thread.done;
  figures.found += thread.found;
  figures.scanned_entries += thread.scanned_entries;
  figures.written_user_bytes += thread.written_user_bytes;
  figures.read_user_bytes += thread.read_user_bytes;
  for (size_t kind = 0; kind < kOperationKinds; ++kind) {
    figures.latency.Merge(thread.latency[kind]);
    figures.latency_by_kind[kind].Merge(thread.latency[kind]);
  }
}

}  // namespace

PhaseMeter::PhaseMeter(Engine& engine, const Clock& clock, std::string device_stat_path)
    : engine_(engine), clock_(clock), device_stat_path_(std::move(device_stat_path)) {
  Begin();
}

void PhaseMeter::Begin() {
  ForgetPeakMemory();
  begin_engine_ = engine_.statistics();
  begin_cache_ = engine_.cache_counts();
  begin_device_ = ReadDeviceCounters(device_stat_path_);
  begin_cpu_seconds_ = CpuSeconds();
  begin_nanos_ = clock_.MonotonicNanos();
}

PhaseFigures::Moment PhaseMeter::Now(uint64_t operations) {
  const double seconds = static_cast<double>(clock_.MonotonicNanos() - begin_nanos_) / kNanosPerSecond;
  const CacheCounts cache = engine_.cache_counts();
  std::optional<DeviceCounters> device = ReadDeviceCounters(device_stat_path_);
  if (device.has_value() && begin_device_.has_value()) {
    device = device->Since(*begin_device_);
  }
  return {.seconds = seconds,
          .operations = operations,
          .cache = {.hits = LessBefore(cache.hits, begin_cache_.hits),
                    .misses = LessBefore(cache.misses, begin_cache_.misses)},
          .device = device};
}

void PhaseMeter::Finish(PhaseFigures& figures, bool engine_was_reopened) {
  if (engine_was_reopened) {
    begin_cache_ = {};
    begin_engine_.levels.clear();
  }
  const PhaseFigures::Moment end = Now(figures.operations);
  figures.seconds = end.seconds;
  figures.cpu_seconds = CpuSeconds() - begin_cpu_seconds_;
  figures.peak_memory_bytes = PeakMemoryBytes();
  figures.device = end.device;
  figures.cache = end.cache;
  figures.series.push_back(end);
  figures.engine = engine_.statistics();
  figures.engine.compactions = LessBefore(std::move(figures.engine.compactions), begin_engine_.compactions);
  figures.engine.compacted_tables =
      LessBefore(std::move(figures.engine.compacted_tables), begin_engine_.compacted_tables);
  if (figures.engine.stall_seconds.has_value()) {
    *figures.engine.stall_seconds -= begin_engine_.stall_seconds.value_or(0);
  }
  const std::vector<EngineStatistics::Level>& before = begin_engine_.levels;
  for (EngineStatistics::Level& level : figures.engine.levels) {
    const auto same = std::find_if(before.begin(), before.end(), [&](const EngineStatistics::Level& of) {
      return of.level == level.level;
    });
    if (same != before.end() && level.written_bytes.has_value()) {
      level.read_bytes = LessBefore(level.read_bytes.value_or(0), same->read_bytes.value_or(0));
      level.written_bytes = LessBefore(*level.written_bytes, same->written_bytes.value_or(0));
    }
    if (same != before.end() && level.filters_asked.has_value()) {
      level.filters_asked = LessBefore(*level.filters_asked, same->filters_asked.value_or(0));
      level.filters_misled = LessBefore(level.filters_misled.value_or(0), same->filters_misled.value_or(0));
    }
  }
}

Result<std::unique_ptr<Lanes>> Lanes::Start(uint32_t threads, uint32_t spin_micros, bool pinned,
                                            const Clock& clock) {
  const auto cpus = static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN));
  std::unique_ptr<Lanes> lanes(new Lanes());
  for (uint32_t i = 0; i <= threads; ++i) {
    ReactorThread::Options options;
    options.name = i == threads ? "bench-writer" : fmt::format("bench-{}", i);
    options.reactor.spin_nanos = uint64_t{spin_micros} * 1000;
    if (pinned && i < threads) {
      options.cpu = static_cast<int>(cpus - 1 - i % cpus);
    }
    Result<std::unique_ptr<ReactorThread>> thread = ReactorThread::Start(std::move(options), clock);
    if (!thread.ok()) {
      return thread.error();
    }
    lanes->threads_.push_back(std::move(*thread));
  }
  return lanes;
}

Status RunMix(const Workload& workload, const RunOptions& options, Engine& engine, Lanes& lanes,
              const Clock& clock, std::atomic<uint64_t>& records, uint64_t seed, PhaseMeter& meter,
              const ReportProgress& report, PhaseFigures& figures) {
  static const Workload kWriter = {
      .name = "writer", .description = {}, .update = 1, .distribution = Distribution::kUniform};
  const uint64_t total = workload.fills      ? options.number
                         : workload.writes() ? options.operations_of_updates()
                                             : options.operations_of_reads();
  const uint32_t writers = workload.with_writer ? 1 : 0;
  Crew crew{.options = options,
            .engine = engine,
            .clock = clock,
            .phase = {.records = records},
            .ready = std::latch(options.threads + writers),
            .running = options.threads + writers};
  const double users = static_cast<double>(options.threads) * options.depth;
  const uint64_t pause =
      options.rate_limit == 0
          ? 0
          : static_cast<uint64_t>(kNanosPerSecond * users / static_cast<double>(options.rate_limit));
  std::vector<std::unique_ptr<LaneUsers>> asking;
  for (uint32_t i = 0; i < options.threads; ++i) {
    asking.push_back(std::make_unique<LaneUsers>());
    ThreadShared& shared = asking.back()->shared;
    shared.remaining = total / options.threads + (i < total % options.threads ? 1 : 0);
    SpawnOn(lanes.asking(i),
            RunUsers(crew, *asking.back(), {workload, options.depth, seed + uint64_t{i} * 1'000'003, pause}));
  }
  LaneUsers writer;
  if (workload.with_writer) {
    writer.shared.remaining = UINT64_MAX;
    const auto writer_pause = static_cast<uint64_t>(kNanosPerSecond) / options.write_rate;
    SpawnOn(lanes.writer(), RunUsers(crew, writer, {kWriter, 1, ~seed, writer_pause}));
  }
  crew.ready.wait();
  if (options.duration_seconds > 0 && !workload.fills) {
    // From now on: the time that users took to get ready is not taken from them.
    const uint64_t end_nanos =
        clock.MonotonicNanos() + static_cast<uint64_t>(options.duration_seconds * kNanosPerSecond);
    for (const std::unique_ptr<LaneUsers>& lane : asking) {
      lane->shared.end_nanos = end_nanos;
    }
  }
  meter.Begin();
  crew.go.count_down();

  uint64_t sample_at = clock.MonotonicNanos() + kSampleNanos;
  std::unique_lock lock(crew.mutex);
  while (!crew.ended.wait_for(lock, kReportInterval, [&] { return crew.running <= writers; })) {
    lock.unlock();
    const uint64_t done = TotalDone(asking);
    report(done, total);
    if (clock.MonotonicNanos() >= sample_at) {
      figures.series.push_back(meter.Now(done));
      sample_at += kSampleNanos;
    }
    lock.lock();
  }
  crew.phase.stop = true;
  crew.ended.wait(lock, [&] { return crew.running == 0; });
  lock.unlock();
  Status status = writer.status;
  for (const std::unique_ptr<LaneUsers>& lane : asking) {
    Add(figures, lane->shared);
    if (status.ok()) {
      status = lane->status;
    }
  }
  figures.writer_latency = writer.shared.latency[static_cast<size_t>(OperationKind::kWrite)];
  figures.written_user_bytes += writer.shared.written_user_bytes;
  return status;
}

}  // namespace varve
