#include "tools/bench/worker.h"

#include <fmt/core.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/bound_heaps.h"
#include "tools/bench/bench_options.h"
#include "tools/bench/engine.h"
#include "tools/bench/phase.h"
#include "tools/bench/workload.h"
#include "tools/report.h"
#include "tools/sizes.h"

namespace varve {

namespace {

void Tell(const nlohmann::json& message) {
  const std::string line = message.dump() + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

std::unique_ptr<Engine> MakeEngine(const WorkerOptions& worker, const RunOptions& run, const Clock& clock) {
  EngineSettings settings;
  settings.place = worker.place;
  settings.memtable_bytes = run.memtable_bytes;
  settings.cache_bytes = run.cache_bytes;
  settings.table_bytes = run.table_bytes;
  settings.level_ratio = run.level_ratio;
  settings.level1_bytes = run.level1_bytes;
  settings.block_bytes = run.block_bytes;
  settings.background_threads = run.background_threads;
  settings.sync = run.sync;
  settings.log_interval_nanos = static_cast<uint64_t>(run.log_interval_seconds * 1e9);
  settings.techniques = run.techniques;
  if (worker.engine == kRocksdbEngine || worker.engine == kRocksdbUniversalEngine) {
    settings.universal = worker.engine == kRocksdbUniversalEngine;
    return MakeRocksdbEngine(settings);
  }
  if (worker.engine == kLeveldbEngine) {
    return MakeLeveldbEngine(settings);
  }
  if (!IsVarve(worker.engine)) {
    return nullptr;
  }
  const Result<Techniques> techniques = TechniquesOfVarve(worker.engine, run.techniques);
  if (techniques.ok()) {
    settings.techniques = *techniques;
  }
  return techniques.ok() ? MakeVarveEngine(settings, clock) : nullptr;
}

class Run {
 public:
  Run(const WorkerOptions& worker, const RunOptions& options, Engine& engine, Lanes& lanes,
      const Clock& clock)
      : worker_(worker),
        options_(options),
        engine_(engine),
        lanes_(lanes),
        clock_(clock),
        records_(worker.records) {}

  Status Open() {
    const uint64_t begin = clock_.MonotonicNanos();
    if (Status opened = engine_.Open(); !opened.ok()) {
      return opened;
    }
    Tell({{"notes", engine_.notes()}});
    if (worker_.recovers) {
      PhaseFigures figures;
      figures.name = "crash";
      TellOpening(begin, figures);
    }
    return OkStatus();
  }

  Status Do(const Workload& workload, uint64_t number_of_phase) {
    Tell({{"progress", {workload.name, 0, 1}}});
    const bool writes = workload.kind == PhaseKind::kMix && workload.writes();
    LimitMemory(writes || !settled_);
    // What was written may still be on its way out when its phase has ended.
    settled_ = !writes && (settled_ || workload.kind == PhaseKind::kSettle);
    PhaseFigures figures;
    figures.name = workload.name;
    switch (workload.kind) {
      case PhaseKind::kMix:
        return DoMix(workload, number_of_phase, figures);
      case PhaseKind::kSettle:
        return DoSettle(figures);
      case PhaseKind::kReopen:
        return DoReopen(figures);
      case PhaseKind::kCrash:
        return DoCrash();
    }
    return OkStatus();
  }

 private:
  void LimitMemory(bool writing) {
    if (worker_.memory_limit_file.empty()) {
      return;
    }
    const uint64_t bytes = DefaultMemoryLimit(options_, writing);
    std::ofstream file(worker_.memory_limit_file);
    file << bytes << std::flush;
    if (!file) {
      Tell({{"notes",
             {fmt::format("memory of {} could not be limited to {}", worker_.engine, FormatSize(bytes))}}});
    }
  }

  Status DoMix(const Workload& workload, uint64_t number_of_phase, PhaseFigures& figures) {
    if (workload.fills) {
      records_ = workload.order == KeyOrder::kSequential ? 0 : std::max(records_.load(), options_.number);
    } else if (records_ == 0) {
      return InvalidArgument(fmt::format("{} needs records: put a fill before it", workload.name));
    }
    const ReportProgress report = [&](uint64_t done, uint64_t total) {
      Tell({{"progress", {workload.name, done, total}}});
    };
    PhaseMeter meter(engine_, clock_, worker_.device_stat_path);
    Status status = RunMix(workload, options_, engine_, lanes_, clock_, records_,
                           options_.seed + number_of_phase * 104'729, meter, report, figures);
    meter.Finish(figures, false);
    if (status.ok()) {
      Tell({{"phase", ToJson(figures)}});
    }
    return status;
  }

  Status DoSettle(PhaseFigures& figures) {
    PhaseMeter meter(engine_, clock_, worker_.device_stat_path);
    Status settled = engine_.Settle();
    meter.Finish(figures, worker_.engine == kLeveldbEngine);
    // What the load has freed: the memory that readers get by with is counted from here.
    malloc_trim(0);
    if (settled.ok()) {
      Tell({{"phase", ToJson(figures)}});
    }
    return settled;
  }

  Status DoReopen(PhaseFigures& figures) {
    if (Status closed = engine_.Close(); !closed.ok()) {
      return closed;
    }
    const uint64_t begin = clock_.MonotonicNanos();
    Status opened = engine_.Open();
    if (opened.ok()) {
      TellOpening(begin, figures);
    }
    return opened;
  }

  void TellOpening(uint64_t begin_nanos, PhaseFigures& figures) {
    figures.seconds = static_cast<double>(clock_.MonotonicNanos() - begin_nanos) / 1e9;
    figures.engine.space_bytes = engine_.statistics().space_bytes;
    Tell({{"phase", ToJson(figures)}});
  }

  // Everything before is in tables; then half a memtable of records is in the log alone.
  Status DoCrash() {
    if (Status settled = engine_.Settle(); !settled.ok()) {
      return settled;
    }
    const uint64_t record_bytes =
        options_.key_bytes + (options_.value_bytes_min + options_.value_bytes_max) / 2;
    RunOptions half = options_;
    half.number = std::max<uint64_t>(1, options_.memtable_bytes / 2 / record_bytes);
    records_ = std::max(records_.load(), half.number);
    PhaseMeter meter(engine_, clock_, worker_.device_stat_path);
    PhaseFigures figures;
    Status filled = RunMix(
        *FindWorkload("overwrite"), half, engine_, lanes_, clock_, records_, options_.seed + 15'485'863,
        meter, [](uint64_t, uint64_t) {}, figures);
    if (!filled.ok()) {
      return filled;
    }
    if (Status synced = engine_.SyncLog(); !synced.ok()) {
      return synced;
    }
    Tell({{"crash", true}, {"records", records_.load()}});
    kill(getpid(), SIGKILL);
    return OkStatus();
  }

  const WorkerOptions& worker_;
  const RunOptions& options_;
  Engine& engine_;
  Lanes& lanes_;
  const Clock& clock_;
  std::atomic<uint64_t> records_;
  bool settled_ = false;
};

Status WaitForTurn(const WorkerOptions& worker) {
  if (worker.in_turns && std::getchar() == EOF) {
    return Cancelled("nobody gives turns any more");
  }
  return OkStatus();
}

Status RunPhases(const WorkerOptions& worker, const RunOptions& options) {
  for (const std::string& group : worker.control_groups) {
    std::ofstream procs(group);
    procs << getpid() << std::flush;
    if (!procs) {
      return InvalidArgument(fmt::format("cannot join {}", group));
    }
  }
  if (IsVarve(worker.engine)) {
    // As a mount's daemon does, before the first thread has got a heap.
    BoundHeaps();
  }
  const SystemClock clock;
  // Engines that are compared turn by turn ask from the same CPU: none is as busy as another with what else
  // there is to do.
  const Result<std::unique_ptr<Lanes>> lanes =
      Lanes::Start(options.threads, options.spin_micros, worker.in_turns, clock);
  if (!lanes.ok()) {
    return lanes.error();
  }
  const std::unique_ptr<Engine> engine = MakeEngine(worker, options, clock);
  if (engine == nullptr) {
    Tell({{"absent", true}});
    return OkStatus();
  }
  Run run(worker, options, *engine, **lanes, clock);
  if (Status opened = run.Open(); !opened.ok()) {
    return opened;
  }
  uint64_t number_of_phase = 0;
  for (const std::string& name : options.workloads) {
    if (Status turn = WaitForTurn(worker); !turn.ok()) {
      return turn;
    }
    if (Status done = run.Do(*FindWorkload(name), ++number_of_phase); !done.ok()) {
      return done;
    }
  }
  if (Status turn = WaitForTurn(worker); !turn.ok()) {
    return turn;
  }
  return engine->Close();
}

}  // namespace

int RunWorker(const WorkerOptions& worker, const RunOptions& run) {
  const Status status = RunPhases(worker, run);
  if (!status.ok()) {
    Tell({{"error", status.error().message()}});
    return kExitFailure;
  }
  return kExitOk;
}

}  // namespace varve
