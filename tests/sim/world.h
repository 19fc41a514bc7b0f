// World: what every simulation runs in: one seed, a clock that only the executor moves, an executor that
// resumes whoever it draws, a device, and the trace of it all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/logger.h"
#include "engine/base/prng.h"
#include "engine/ring/local_executor.h"
#include "engine/version/version_set.h"
#include "tests/sim/sim_device.h"
#include "tests/sim/trace.h"
#include "tests/support/manual_clock.h"

namespace varve::sim {

struct Figures {
  uint64_t crashes = 0;         // losses of power and kills
  uint64_t operations = 0;      // of clients
  uint64_t versions = 0;        // that were checked
  uint64_t errors = 0;          // injected
  uint64_t lies = 0;            // lost, misdirected and rotten I/O
  uint64_t noticed = 0;         // operations that answered an error because of either
  uint64_t refused = 0;         // writes on a full device
  uint64_t buffered = 0;        // versions with something in a buffer
  uint64_t buffer_answers = 0;  // gets that a buffer answered
  uint64_t settled = 0;         // stores with tables in Logs that were checked when nothing was due
  uint64_t ranges = 0;          // range tombstones that came into Versions
  uint64_t ranges_retired = 0;  // and that left them

  Figures& operator+=(const Figures& other);
};

// What a seed has led to.
struct Outcome {
  uint64_t seed = 0;
  // Empty: everything was as promised.
  std::string failure;
  std::string trace;  // its last lines
  uint64_t trace_lines = 0;
  uint64_t trace_digest = 0;
  Figures figures;
};

class World : private InstallObserver, private Logger {
 public:
  World(uint64_t seed, uint64_t device_bytes, uint32_t sector_bytes);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() override;

  Outcome Finish();

  // Checks the invariants of every Version and of the edit that made it.
  InstallObserver& installs() { return *this; }
  Logger& logger() { return *this; }
  // The newest that was installed; nullptr before that.
  const Version* version() const { return version_.get(); }

  bool failed() const { return !trace.failure().empty(); }
  // `status` is an error: fails the run unless a fault of the device explains it.
  void OnError(std::string_view doing, const Status& status);

  const uint64_t seed;
  Prng random;
  ManualClock clock;
  Trace trace;
  SimDevice device;
  LocalExecutor executor;
  Figures figures;

 private:
  size_t ChooseNext(size_t ready);
  void OnInstalled(const std::shared_ptr<const Version>& version, const VersionEdit& edit) override;
  void Log(LogLevel level, std::string_view message) override;

  // What the next edit will be applied to.
  std::shared_ptr<const Version> version_;
  Prng order_;
  uint64_t resumed_ = 0;
  // Runs differ in how much their order is shuffled: now and then, or at every step.
  uint64_t shuffles_one_in_;
};

// When a check of the product fails, the process ends: it prints seed and trace of the world that runs.
void PrintTraceOnAbort();

}  // namespace varve::sim
