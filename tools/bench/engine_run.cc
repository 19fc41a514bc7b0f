#include "tools/bench/engine_run.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "tools/bench/workload.h"
#include "tools/device_counters.h"

namespace varve {

namespace {

using nlohmann::json;

constexpr const char* kControlGroupRoot = "/sys/fs/cgroup";

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

ControlLimits LimitsOf(const BenchOptions& options, const Bed& bed) {
  const auto or_else = [](uint64_t value, uint64_t otherwise) { return value != 0 ? value : otherwise; };
  ControlLimits limits;
  limits.memory_bytes = MemoryLimit(options, true);
  limits.device = bed.device_number();
  limits.device_written_bytes_per_second = options.throttle_bytes_per_second;
  limits.device_read_bytes_per_second =
      or_else(options.throttle_read_bytes_per_second, options.throttle_bytes_per_second);
  limits.device_writes_per_second = options.throttle_operations_per_second;
  limits.device_reads_per_second =
      or_else(options.throttle_reads_per_second, options.throttle_operations_per_second);
  return limits;
}

std::string WorkloadArgument(const std::vector<std::string>& names) {
  std::string argument;
  for (const std::string& name : names) {
    argument += (argument.empty() ? "--workloads=" : ",") + name;
  }
  return argument.empty() ? "--no-workloads" : argument;
}

}  // namespace

uint64_t MemoryLimit(const BenchOptions& options, bool writing) {
  if (!options.limit_memory) {
    return 0;
  }
  return options.memory_limit_bytes != 0 ? options.memory_limit_bytes
                                         : DefaultMemoryLimit(options.run, writing);
}

EngineRun::EngineRun(const BenchOptions& options, Bed& bed, const std::string& worker,
                     const EndSignals& signals, size_t position, uint32_t round)
    : options_(options), bed_(bed), worker_(worker), signals_(signals), position_(position), round_(round) {
}

Status EngineRun::Prepare() {
  const Result<std::string> place = bed_.Prepare(engine());
  if (!place.ok()) {
    return place.error();
  }
  group_.emplace(kControlGroupRoot, fmt::format("varve-bench-{}-{}", getpid(), position_),
                 LimitsOf(options_, bed_));
  notes_.insert(group_->problems().begin(), group_->problems().end());
  arguments_ = options_.worker_arguments;
  arguments_.insert(arguments_.end(), {"--engine", engine(), "--place", *place});
  if (const std::string stat = DeviceStatPath(bed_.device()); !stat.empty()) {
    arguments_.insert(arguments_.end(), {"--device-stat", stat});
  }
  for (const std::string& procs : group_->procs_files()) {
    arguments_.insert(arguments_.end(), {"--control-group", procs});
  }
  if (MemoryLimit(options_, false) != MemoryLimit(options_, true) && !group_->memory_limit_file().empty()) {
    arguments_.insert(arguments_.end(), {"--memory-limit-file", group_->memory_limit_file()});
  }
  return OkStatus();
}

Status EngineRun::DoAll() {
  if (Status prepared = Prepare(); !prepared.ok()) {
    return prepared;
  }
  // A worker does the workloads up to a crash and dies of it; the next one goes on behind it.
  std::vector<std::string> left = options_.run.workloads;
  std::vector<std::string> after_crash;
  while (true) {
    const auto crash = std::find(left.begin(), left.end(), "crash");
    const auto end = crash == left.end() ? crash : crash + 1;
    std::vector<std::string> these = arguments_;
    these.insert(these.end(), after_crash.begin(), after_crash.end());
    these.push_back(WorkloadArgument({left.begin(), end}));
    Result<std::unique_ptr<WorkerProcess>> process = WorkerProcess::Start(worker_, these);
    if (!process.ok()) {
      return process.error();
    }
    crashed_ = false;
    Status status = (*process)->Follow(signals_, crashed_, [&](const json& message) {
      Take(message);
      return true;
    });
    progress_.reset();
    if (!status.ok() || !crashed_) {
      return status;
    }
    if (Status refreshed = bed_.Refresh(); !refreshed.ok()) {
      return refreshed;
    }
    after_crash = {"--recovers", "--records", std::to_string(records_)};
    left.erase(left.begin(), end);
  }
}

Status EngineRun::Start() {
  if (Status prepared = Prepare(); !prepared.ok()) {
    return prepared;
  }
  std::vector<std::string> these = arguments_;
  these.insert(these.end(), {"--in-turns", WorkloadArgument(options_.run.workloads)});
  Result<std::unique_ptr<WorkerProcess>> process = WorkerProcess::Start(worker_, these);
  if (!process.ok()) {
    return process.error();
  }
  process_ = std::move(*process);
  return OkStatus();
}

Status EngineRun::TakeTurn(size_t phases) {
  Status status;
  for (size_t phase = 0; phase < phases && status.ok() && !absent_; ++phase) {
    process_->GiveTurn();
    status = process_->Follow(signals_, crashed_, [&](const json& message) { return !Take(message); });
    progress_.reset();
  }
  return status;
}

json EngineRun::figures() const {
  json figures = {{"engine", engine()}, {"round", round_}, {"phases", phases_}};
  const std::optional<uint64_t> peak = group_ ? group_->PeakMemoryBytes() : std::nullopt;
  if (peak) {
    figures["peak_memory_with_page_cache_bytes"] = *peak;
  }
  return figures;
}

bool EngineRun::Take(const json& message) {
  if (message.contains("crash")) {
    crashed_ = true;
    records_ = message["records"].get<uint64_t>();
  } else if (message.contains("absent")) {
    absent_ = true;
  } else if (message.contains("notes")) {
    for (const json& note : message["notes"]) {
      notes_.insert(note.get<std::string>());
    }
  } else if (message.contains("progress")) {
    Show(message["progress"]);
  } else if (message.contains("phase")) {
    phases_.push_back(message["phase"]);
    if (phases_.back()["name"] == "settle") {
      AddSettling(phases_);
    }
    return true;
  }
  return false;
}

void EngineRun::Show(const json& news) {
  const std::string phase = news[0].get<std::string>();
  const std::string title = options_.rounds == 1
                                ? fmt::format("{} {}", engine(), phase)
                                : fmt::format("{}/{} {} {}", round_, options_.rounds, engine(), phase);
  if (progress_ == nullptr || title != shown_) {
    progress_.reset();
    // In place: it cannot be moved. NOLINTNEXTLINE(modernize-make-unique)
    progress_.reset(new Progress(Progress::OnStandardError(title, clock_, ProgressUnit::kOperations)));
    shown_ = title;
  }
  progress_->Update(news[1].get<uint64_t>(), news[2].get<uint64_t>());
}

}  // namespace varve
