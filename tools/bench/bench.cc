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
#include <optional>
#include <set>

#include "engine/base/clock.h"
#include "tools/bench/comparison.h"
#include "tools/bench/control_group.h"
#include "tools/bench/worker_process.h"
#include "tools/bench/workload.h"
#include "tools/device_counters.h"
#include "tools/progress.h"
#include "tools/report.h"

namespace varve {

namespace {

using nlohmann::json;

constexpr const char* kControlGroupRoot = "/sys/fs/cgroup";

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

// Write amplification of a phase that writes is only told by what it leaves to be done: the settling after it
// is added.
void AddSettling(json& phases) {
  json& settle = phases.back();
  if (!settle.contains("device")) {
    return;
  }
  for (size_t i = phases.size() - 1; i > 0; --i) {
    json& phase = phases[i - 1];
    const uint64_t user_bytes = phase["user_bytes"].get<uint64_t>();
    if (phase["name"] == "settle") {
      return;
    }
    if (user_bytes == 0) {
      continue;
    }
    const uint64_t written =
        phase["device"]["written_bytes"].get<uint64_t>() + settle["device"]["written_bytes"].get<uint64_t>();
    const uint64_t read =
        phase["device"]["read_bytes"].get<uint64_t>() + settle["device"]["read_bytes"].get<uint64_t>();
    phase["write_amplification_before_settling"] = phase["write_amplification"];
    phase["write_amplification"] = static_cast<double>(written) / static_cast<double>(user_bytes);
    phase["read_write_amplification"] = static_cast<double>(written + read) / static_cast<double>(user_bytes);
    return;
  }
}

class Bench {
 public:
  Bench(const BenchOptions& options, Bed& bed, std::string worker, const EndSignals& signals)
      : options_(options), bed_(bed), worker_(std::move(worker)), signals_(signals) {}

  Status RunAll() {
    for (uint32_t round = 1; round <= options_.rounds; ++round) {
      for (const std::string& engine : options_.engines) {
        if (absent_.contains(engine)) {
          continue;
        }
        Status status = RunEngine(engine, round);
        if (status.Is(ErrorCode::kCancelled)) {
          return status;
        }
        if (!status.ok()) {
          failed_ = true;
          PrintComplaint("bench", fmt::format("{}, round {}: {}", engine, round, status.error().message()));
          runs_.back()["error"] = status.error().message();
        } else if (absent_.contains(engine)) {
          runs_.erase(runs_.size() - 1);
          notes_.insert(fmt::format("{} is left out: this varve was built without it", engine));
        }
      }
    }
    return OkStatus();
  }

  const json& runs() const { return runs_; }
  bool failed() const { return failed_; }
  const std::set<std::string>& notes() const { return notes_; }
  // 0: none.
  uint64_t memory_limit(bool writing) const {
    if (!options_.limit_memory) {
      return 0;
    }
    return options_.memory_limit_bytes != 0 ? options_.memory_limit_bytes
                                            : DefaultMemoryLimit(options_.run, writing);
  }

 private:
  Status RunEngine(const std::string& engine, uint32_t round) {
    runs_.push_back({{"engine", engine}, {"round", round}, {"phases", json::array()}});
    const Result<std::string> place = bed_.Prepare(engine);
    if (!place.ok()) {
      return place.error();
    }
    ControlLimits limits;
    limits.memory_bytes = memory_limit(true);
    limits.device = bed_.device_number();
    limits.device_written_bytes_per_second = options_.throttle_bytes_per_second;
    limits.device_read_bytes_per_second = options_.throttle_read_bytes_per_second != 0
                                              ? options_.throttle_read_bytes_per_second
                                              : options_.throttle_bytes_per_second;
    limits.device_writes_per_second = options_.throttle_operations_per_second;
    limits.device_reads_per_second = options_.throttle_reads_per_second != 0
                                         ? options_.throttle_reads_per_second
                                         : options_.throttle_operations_per_second;
    const ControlGroup group(kControlGroupRoot, limits);
    notes_.insert(group.problems().begin(), group.problems().end());
    std::vector<std::string> arguments = options_.worker_arguments;
    arguments.insert(arguments.end(), {"--engine", engine, "--place", *place});
    if (const std::string stat = DeviceStatPath(bed_.device()); !stat.empty()) {
      arguments.insert(arguments.end(), {"--device-stat", stat});
    }
    for (const std::string& procs : group.procs_files()) {
      arguments.insert(arguments.end(), {"--control-group", procs});
    }
    if (memory_limit(false) != memory_limit(true) && !group.memory_limit_file().empty()) {
      arguments.insert(arguments.end(), {"--memory-limit-file", group.memory_limit_file()});
    }
    Status status = RunWorkloads(engine, round, arguments);
    if (const std::optional<uint64_t> peak = group.PeakMemoryBytes(); peak.has_value()) {
      runs_.back()["peak_memory_with_page_cache_bytes"] = *peak;
    }
    return status;
  }

  // A worker does the workloads up to a crash and dies of it; the next one goes on behind it.
  Status RunWorkloads(const std::string& engine, uint32_t round, const std::vector<std::string>& arguments) {
    std::vector<std::string> left = options_.run.workloads;
    std::vector<std::string> after_crash;
    while (true) {
      const auto crash = std::find(left.begin(), left.end(), "crash");
      const bool crashes = crash != left.end();
      std::string names;
      for (auto name = left.begin(); name != (crashes ? crash + 1 : crash); ++name) {
        names += (names.empty() ? "" : ",") + *name;
      }
      std::vector<std::string> these = arguments;
      these.insert(these.end(), after_crash.begin(), after_crash.end());
      these.push_back(names.empty() ? "--no-workloads" : "--workloads=" + names);
      bool crashed = false;
      uint64_t records = 0;
      std::unique_ptr<Progress> progress;
      Status status = RunWorkerProcess(worker_, these, signals_, crashed, [&](const json& message) {
        if (message.contains("crash")) {
          crashed = true;
          records = message["records"].get<uint64_t>();
        }
        Take(message, engine, round, progress);
      });
      progress.reset();
      if (!status.ok() || !crashed) {
        return status;
      }
      if (Status refreshed = bed_.Refresh(); !refreshed.ok()) {
        return refreshed;
      }
      after_crash = {"--recovers", "--records", std::to_string(records)};
      left.erase(left.begin(), crash + 1);
    }
  }

  void Take(const json& message, const std::string& engine, uint32_t round,
            std::unique_ptr<Progress>& progress) {
    if (message.contains("absent")) {
      absent_.insert(engine);
    } else if (message.contains("notes")) {
      for (const json& note : message["notes"]) {
        notes_.insert(note.get<std::string>());
      }
    } else if (message.contains("phase")) {
      json& phases = runs_.back()["phases"];
      phases.push_back(message["phase"]);
      if (phases.back()["name"] == "settle") {
        AddSettling(phases);
      }
    } else if (message.contains("progress")) {
      const json& news = message["progress"];
      const std::string title =
          options_.rounds == 1
              ? fmt::format("{} {}", engine, news[0].get<std::string>())
              : fmt::format("{}/{} {} {}", round, options_.rounds, engine, news[0].get<std::string>());
      if (progress == nullptr || title != shown_) {
        progress.reset();
        // In place: it cannot be moved. NOLINTNEXTLINE(modernize-make-unique)
        progress.reset(new Progress(Progress::OnStandardError(title, clock_, ProgressUnit::kOperations)));
        shown_ = title;
      }
      progress->Update(news[1].get<uint64_t>(), news[2].get<uint64_t>());
    }
  }

  const BenchOptions& options_;
  Bed& bed_;
  const std::string worker_;
  const EndSignals& signals_;
  SystemClock clock_;
  json runs_ = json::array();
  std::set<std::string> notes_;
  // Engines that the worker was built without.
  std::set<std::string> absent_;
  std::string shown_;
  bool failed_ = false;
};

json OptionsJson(const BenchOptions& options, const Bed& bed, const Bench& bench) {
  const RunOptions& run = options.run;
  return {{"workloads", run.workloads},
          {"engines", options.engines},
          {"rounds", options.rounds},
          {"number", run.number},
          {"operations", run.operations_of_reads()},
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
          {"memory_limit_bytes", bench.memory_limit(true)},
          {"memory_limit_bytes_while_reading", bench.memory_limit(false)},
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
                         {"machine", MachineJson()}, {"options", OptionsJson(options, bed, bench)},
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
  const Result<std::unique_ptr<Bed>> bed = Bed::Make(options.bed, for_peers);
  if (!bed.ok()) {
    return bed.error();
  }
  Bench bench(options, **bed, *worker, signals);
  const Status ran = bench.RunAll();
  failed = bench.failed();
  fmt::print("{}", ComparisonTables(bench.runs()));
  for (const std::string& note : bench.notes()) {
    fmt::print("{}\n", note);
  }
  if (!options.json_file.empty()) {
    if (Status written = WriteJson(options, bench, **bed); !written.ok()) {
      return written;
    }
  }
  const Status cleared = (*bed)->Clear();
  return ran.ok() ? cleared : ran;
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
