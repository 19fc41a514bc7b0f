#include "tools/bench/bench.h"

#include <fmt/core.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "tools/bench/comparison.h"
#include "tools/bench/engine_run.h"
#include "tools/bench/worker_process.h"
#include "tools/bench/workload.h"
#include "tools/report.h"

namespace varve {

namespace {

using nlohmann::json;

json MachineJson() {
  utsname system{};
  uname(&system);
  struct sysinfo memory {};
  sysinfo(&memory);
  std::string model;
  std::ifstream cpus("/proc/cpuinfo");
  for (std::string line; model.empty() && std::getline(cpus, line);) {
    if (line.starts_with("model name")) {
      model = line.substr(line.find(':') + 2);
    }
  }
  return {{"kernel", system.release},
          {"architecture", system.machine},
          {"cpu", model},
          {"cpus", sysconf(_SC_NPROCESSORS_ONLN)},
          {"memory_bytes", uint64_t{memory.totalram} * memory.mem_unit}};
}

// How many phases each turn has: one, but what an engine has been given to write it merges in the same turn,
// up to the phase that settles it. Else it would go on while others have their turn: beside their requests,
// and counted nowhere.
std::vector<size_t> PhasesOfTurns(const std::vector<std::string>& workloads) {
  std::vector<size_t> turns;
  bool settled = true;
  for (const std::string& name : workloads) {
    const Workload& workload = *FindWorkload(name);
    if (settled) {
      turns.push_back(0);
    }
    ++turns.back();
    settled = workload.kind == PhaseKind::kSettle || (settled && !workload.writes());
  }
  return turns;
}

class Bench {
 public:
  // Engines that take turns have a bed each, others share the first one.
  Bench(const BenchOptions& options, const std::vector<std::unique_ptr<Bed>>& beds, std::string worker,
        const EndSignals& signals)
      : options_(options), beds_(beds), worker_(std::move(worker)), signals_(signals) {}

  // Error: kCancelled. What else fails is in the runs.
  Status RunAll() {
    for (uint32_t round = 1; round <= options_.rounds; ++round) {
      const Status status = options_.interleave ? RunInTurns(round) : RunOneByOne(round);
      if (!status.ok()) {
        return status;
      }
    }
    return OkStatus();
  }

  const json& runs() const { return runs_; }
  bool failed() const { return failed_; }
  const std::set<std::string>& notes() const { return notes_; }

 private:
  Status RunOneByOne(uint32_t round) {
    for (size_t i = 0; i < options_.engines.size(); ++i) {
      if (absent_.contains(options_.engines[i])) {
        continue;
      }
      EngineRun run(options_, *beds_.front(), worker_, signals_, i, round);
      const Status status = run.DoAll();
      Keep(run, status);
      if (status.Is(ErrorCode::kCancelled)) {
        return status;
      }
    }
    return OkStatus();
  }

  // Each turn of all engines before the next one of any, in one order and then in the other: what changes on
  // the machine while they run, changes for all of them.
  Status RunInTurns(uint32_t round) {
    std::vector<std::unique_ptr<EngineRun>> runs;
    std::vector<Status> outcomes;
    for (size_t i = 0; i < options_.engines.size(); ++i) {
      if (!absent_.contains(options_.engines[i])) {
        runs.push_back(std::make_unique<EngineRun>(options_, *beds_[i], worker_, signals_, i, round));
        outcomes.push_back(runs.back()->Start());
      }
    }
    std::vector<size_t> turns = PhasesOfTurns(options_.run.workloads);
    turns.push_back(1);  // it closes
    for (size_t turn = 0; turn < turns.size(); ++turn) {
      for (size_t i = 0; i < runs.size(); ++i) {
        const size_t next = turn % 2 == 0 ? i : runs.size() - 1 - i;
        if (outcomes[next].ok() && !runs[next]->absent()) {
          outcomes[next] = runs[next]->TakeTurn(turns[turn]);
        }
        if (outcomes[next].Is(ErrorCode::kCancelled)) {
          return outcomes[next];
        }
      }
    }
    for (size_t i = 0; i < runs.size(); ++i) {
      Keep(*runs[i], outcomes[i]);
    }
    return OkStatus();
  }

  void Keep(const EngineRun& run, const Status& status) {
    notes_.insert(run.notes().begin(), run.notes().end());
    if (run.absent()) {
      absent_.insert(run.engine());
      notes_.insert(fmt::format("{} is left out: this varve was built without it", run.engine()));
      return;
    }
    runs_.push_back(run.figures());
    if (!status.ok() && !status.Is(ErrorCode::kCancelled)) {
      failed_ = true;
      PrintComplaint("bench",
                     fmt::format("{}, round {}: {}", run.engine(), run.round(), status.error().message()));
      runs_.back()["error"] = status.error().message();
    }
  }

  const BenchOptions& options_;
  const std::vector<std::unique_ptr<Bed>>& beds_;
  const std::string worker_;
  const EndSignals& signals_;
  json runs_ = json::array();
  std::set<std::string> notes_;
  // Engines that the worker was built without.
  std::set<std::string> absent_;
  bool failed_ = false;
};

json OptionsJson(const BenchOptions& options, const Bed& bed) {
  const RunOptions& run = options.run;
  return {{"workloads", run.workloads},
          {"engines", options.engines},
          {"rounds", options.rounds},
          {"interleave", options.interleave},
          {"number", run.number},
          {"operations", run.operations_of_updates()},
          {"reads", run.operations_of_reads()},
          {"key_bytes", run.key_bytes},
          {"value_bytes", {run.value_bytes_min, run.value_bytes_max}},
          {"threads", run.threads},
          {"depth", run.depth},
          {"deletes_percent", run.delete_percent},
          {"zipf_constant", run.zipf_constant},
          {"seed", run.seed},
          {"sync", run.sync},
          {"log_interval_seconds", run.log_interval_seconds},
          {"cache_bytes", run.cache_bytes},
          {"memtable_bytes", run.memtable_bytes},
          {"table_bytes", run.table_bytes},
          {"level_ratio", run.level_ratio},
          {"level1_bytes", run.level1_bytes},
          {"block_bytes", run.block_bytes},
          {"background_threads", run.background_threads},
          {"spin_micros", run.spin_micros},
          {"memory_limit_bytes", MemoryLimit(options, true)},
          {"memory_limit_bytes_while_reading", MemoryLimit(options, false)},
          {"device_bytes", bed.size_bytes()},
          {"device", options.bed.device.empty() ? "memory" : options.bed.device},
          {"throttle_bytes_per_second", options.throttle_bytes_per_second},
          {"throttle_operations_per_second", options.throttle_operations_per_second},
          {"throttle_reads_per_second", options.throttle_reads_per_second},
          {"throttle_read_bytes_per_second", options.throttle_read_bytes_per_second},
          {"worker_arguments", options.worker_arguments}};
}

Status WriteJson(const BenchOptions& options, const Bench& bench, const Bed& bed) {
  const json document = {{"varve", options.version}, {"command", options.command_line},
                         {"machine", MachineJson()}, {"options", OptionsJson(options, bed)},
                         {"notes", bench.notes()},   {"runs", bench.runs()}};
  std::ofstream file(options.json_file);
  file << document.dump(1) << "\n" << std::flush;
  return file.good() ? OkStatus() : Status(DeviceError(fmt::format("cannot write {}", options.json_file)));
}

Status RunOn(const BenchOptions& options, bool& failed) {
  const Result<std::string> worker = FindWorkerExecutable();
  if (!worker.ok()) {
    return worker.error();
  }
  // Before anything that it would have to take down.
  const EndSignals signals;
  const bool for_peers = std::any_of(options.engines.begin(), options.engines.end(),
                                     [](const std::string& engine) { return !IsVarve(engine); });
  std::vector<std::unique_ptr<Bed>> beds;
  for (size_t i = 0; i < (options.interleave ? options.engines.size() : 1); ++i) {
    Result<std::unique_ptr<Bed>> bed = Bed::Make(options.bed, for_peers);
    if (!bed.ok()) {
      return bed.error();
    }
    beds.push_back(std::move(*bed));
  }
  Bench bench(options, beds, *worker, signals);
  const Status ran = bench.RunAll();
  failed = bench.failed();
  fmt::print("{}", ComparisonTables(bench.runs()));
  for (const std::string& note : bench.notes()) {
    fmt::print("{}\n", note);
  }
  if (!options.json_file.empty()) {
    if (Status written = WriteJson(options, bench, *beds.front()); !written.ok()) {
      return written;
    }
  }
  Status outcome = ran;
  for (const std::unique_ptr<Bed>& bed : beds) {
    const Status cleared = bed->Clear();
    outcome = outcome.ok() ? cleared : outcome;
  }
  return outcome;
}

}  // namespace

int RunBench(const BenchOptions& options) {
  bool failed = false;
  const Status status = RunOn(options, failed);
  if (!status.ok()) {
    PrintComplaint("bench", status.error().message());
  }
  return status.ok() && !failed ? kExitOk : kExitFailure;
}

}  // namespace varve
