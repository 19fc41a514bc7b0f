// One phase of a run: a workload's operations by as many users as asked, what they measured, and what device,
// process and engine counted meanwhile.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/result.h"
#include "tools/bench/bench_options.h"
#include "tools/bench/engine.h"
#include "tools/bench/latency_histogram.h"
#include "tools/bench/user_loop.h"
#include "tools/bench/workload.h"
#include "tools/device_counters.h"
#include "tools/reactor_thread.h"

namespace varve {

struct PhaseFigures {
  struct Moment {
    double seconds = 0;
    uint64_t operations = 0;
    CacheCounts cache;
    std::optional<DeviceCounters> device;  // nullopt: the kernel counts none
  };
  std::string name;
  double seconds = 0;
  uint64_t operations = 0;
  uint64_t found = 0;
  uint64_t scanned_entries = 0;
  uint64_t written_user_bytes = 0;
  uint64_t read_user_bytes = 0;
  // Of all operations, and by kind; of the writer beside reads apart.
  LatencyHistogram latency;
  std::array<LatencyHistogram, kOperationKinds> latency_by_kind;
  LatencyHistogram writer_latency;
  std::optional<DeviceCounters> device;
  CacheCounts cache;
  EngineStatistics engine;  // counts of this phase alone; sizes at its end
  double cpu_seconds = 0;
  uint64_t peak_memory_bytes = 0;
  std::vector<Moment> series;  // about one each second, from the phase's beginning
};

// Times and counters from the last Begin() to Finish().
class PhaseMeter {
 public:
  // Begins.
  PhaseMeter(Engine& engine, const Clock& clock, std::string device_stat_path);
  void Begin();
  // A point of the series.
  PhaseFigures::Moment Now(uint64_t operations);
  // Fills everything but what users measured. `engine_was_reopened`: its counts of cache
  // and levels began anew in the phase.
  void Finish(PhaseFigures& figures, bool engine_was_reopened);

 private:
  Engine& engine_;
  const Clock& clock_;
  const std::string device_stat_path_;
  uint64_t begin_nanos_ = 0;
  double begin_cpu_seconds_ = 0;
  std::optional<DeviceCounters> begin_device_;
  CacheCounts begin_cache_;
  EngineStatistics begin_engine_;
};

// `done` of `total` operations.
using ReportProgress = std::function<void(uint64_t done, uint64_t total)>;

// The threads that ask, each with its reactor: they live from before the engine opens until it is closed, as
// a mount's do, since an engine may go on writing where a user began it.
class Lanes {
 public:
  // `threads` that ask, and one for the writer beside reads. `spin_micros`: how long each looks for the
  // device's answer before it sleeps. `pinned`: each that asks stays on one CPU, the first on the last.
  // `clock` must outlive them.
  static Result<std::unique_ptr<Lanes>> Start(uint32_t threads, uint32_t spin_micros, bool pinned,
                                              const Clock& clock);

  Reactor& asking(uint32_t number) { return threads_[number]->reactor(); }
  Reactor& writer() { return threads_.back()->reactor(); }

 private:
  Lanes() = default;

  std::vector<std::unique_ptr<ReactorThread>> threads_;
};

// Runs a mix to its end. Blocks. `records` as in PhaseShared. The meter is the caller's; it begins anew when
// the users are ready. What this fills are the users' figures and the series.
Status RunMix(const Workload& workload, const RunOptions& options, Engine& engine, Lanes& lanes,
              const Clock& clock, std::atomic<uint64_t>& records, uint64_t seed, PhaseMeter& meter,
              const ReportProgress& report, PhaseFigures& figures);

// The shape that docs/design/benchmark.md describes.
nlohmann::json ToJson(const PhaseFigures& figures);

}  // namespace varve
