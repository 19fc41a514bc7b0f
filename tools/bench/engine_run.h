// One engine's part of a round of `varve bench`: its bed, its limits, its worker, and what that has told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/result.h"
#include "tools/bench/bench.h"
#include "tools/bench/control_group.h"
#include "tools/bench/worker_process.h"
#include "tools/progress.h"

namespace varve {

// One thread; blocks. Either DoAll(), or Start() and then a turn for each workload and one to close.
class EngineRun {
 public:
  // Of the engine at `position` of those that are asked for. What it is given must outlive it, and the bed is
  // its alone.
  EngineRun(const BenchOptions& options, Bed& bed, const std::string& worker, const EndSignals& signals,
            size_t position, uint32_t round);

  // Every workload, crashes included. Error kCancelled: a signal came.
  Status DoAll();

  // Prepares the bed and starts the worker, which opens the engine.
  Status Start();
  // Returns when the next so many phases have ended. Precondition: Start() and the turns before were
  // successes, and the engine is not absent.
  Status TakeTurn(size_t phases);

  const std::string& engine() const { return options_.engines[position_]; }
  uint32_t round() const { return round_; }
  // The worker was built without it.
  bool absent() const { return absent_; }
  // As in the JSON document.
  nlohmann::json figures() const;
  const std::set<std::string>& notes() const { return notes_; }

 private:
  // Formats, sets limits; what a worker needs to know of that is in arguments_ then.
  Status Prepare();
  // True: it told of the end of a phase.
  bool Take(const nlohmann::json& message);
  void Show(const nlohmann::json& news);

  const BenchOptions& options_;
  Bed& bed_;
  const std::string& worker_;
  const EndSignals& signals_;
  const size_t position_;
  const uint32_t round_;
  SystemClock clock_;
  std::vector<std::string> arguments_;
  nlohmann::json phases_ = nlohmann::json::array();
  std::set<std::string> notes_;
  bool absent_ = false;
  // After a crash.
  bool crashed_ = false;
  uint64_t records_ = 0;
  std::unique_ptr<Progress> progress_;
  std::string shown_;
  // Its processes end before the group goes.
  std::optional<ControlGroup> group_;
  std::unique_ptr<WorkerProcess> process_;
};

}  // namespace varve
