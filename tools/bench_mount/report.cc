#include "tools/bench_mount/report.h"

#include <fmt/core.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/base/units.h"

namespace varve {

namespace {

// Members in the order in which they were added.
using Json = nlohmann::ordered_json;

constexpr std::string_view kReference = "varve";

// Operations of this size and above are told in bytes a second.
constexpr uint64_t kBulkBytes = 64 * kKiB;

bool IsBulk(const MountPhase& phase) {
  return phase.operations > 0 && phase.user_bytes / phase.operations >= kBulkBytes;
}

// What a phase is measured by: higher is better.
struct Speed {
  double value = 0;
  std::string_view unit;
};

Speed SpeedOf(const MountPhase& phase) {
  if (IsBulk(phase)) {
    return {static_cast<double>(phase.user_bytes) / kMiB / std::max(phase.seconds, 1e-9), "MiB/s"};
  }
  return {phase.OperationsPerSecond(), "op/s"};
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// One row of rows: a phase, with its speed on each filesystem by round.
struct Comparison {
  std::string phase;
  std::string_view unit;
  std::vector<std::string> filesystems;
  std::map<std::string, std::map<uint32_t, double>> speeds;
};

class Comparisons {
 public:
  explicit Comparisons(const std::vector<MountRun>& runs) {
    for (const MountRun& run : runs) {
      for (const MountPhase& phase : run.phases) {
        Add(run, phase.name, SpeedOf(phase));
        // A filesystem that keeps what was created in memory pays when it is unmounted.
        if (phase.name.starts_with("create") && phase.unmount_seconds.has_value()) {
          MountPhase with_unmount = phase;
          with_unmount.seconds += *phase.unmount_seconds;
          Add(run, phase.name + " + unmount", SpeedOf(with_unmount));
        }
      }
    }
  }

  const std::vector<Comparison>& rows() const { return rows_; }

 private:
  void Add(const MountRun& run, const std::string& phase, Speed speed) {
    auto found =
        std::find_if(rows_.begin(), rows_.end(), [&](const Comparison& c) { return c.phase == phase; });
    if (found == rows_.end()) {
      rows_.push_back({phase, speed.unit, {}, {}});
      found = rows_.end() - 1;
    }
    std::map<uint32_t, double>& rounds = found->speeds[run.filesystem];
    if (rounds.empty()) {
      found->filesystems.push_back(run.filesystem);
    }
    rounds[run.round] = speed.value;
  }

  std::vector<Comparison> rows_;
};

std::string FormatSpeed(double speed) {
  return fmt::format("{:.{}f}", speed, speed < 100 ? 1 : 0);
}

// How many times as fast as `filesystem` varve is; nullopt when they share no round.
std::optional<double> RatioOf(const Comparison& row, const std::string& filesystem) {
  const auto reference = row.speeds.find(std::string(kReference));
  if (reference == row.speeds.end()) {
    return std::nullopt;
  }
  std::vector<double> ratios;
  for (const auto& [round, speed] : row.speeds.at(filesystem)) {
    const auto ours = reference->second.find(round);
    if (ours != reference->second.end() && speed > 0) {
      ratios.push_back(ours->second / speed);
    }
  }
  return ratios.empty() ? std::nullopt : std::optional(Median(std::move(ratios)));
}

void AppendRow(const Comparison& row, std::string& table) {
  std::string title = fmt::format("{}, {}", row.phase, row.unit);
  for (const std::string& filesystem : row.filesystems) {
    std::vector<double> speeds;
    std::string every;
    for (const auto& [round, speed] : row.speeds.at(filesystem)) {
      speeds.push_back(speed);
      every += fmt::format("{:>9}", FormatSpeed(speed));
    }
    const std::optional<double> ratio = RatioOf(row, filesystem);
    table +=
        fmt::format("{:<38} {:<19}{}   median {:>9}", title, filesystem, every, FormatSpeed(Median(speeds)));
    table +=
        filesystem != kReference && ratio.has_value() ? fmt::format("   varve {:6.2f} x\n", *ratio) : "\n";
    title.clear();
  }
}

Json LatencyJson(const LatencyFigures& latency) {
  Json json;
  json["mean"] = latency.mean;
  json["p50"] = latency.p50;
  json["p99"] = latency.p99;
  json["p99.9"] = latency.p99_9;
  json["p99.99"] = latency.p99_99;
  json["max"] = latency.max;
  return json;
}

Json HistogramJson(const LatencyFigures& latency) {
  Json json = Json::array();
  for (const auto& [upper_us, count] : latency.histogram) {
    Json bucket = Json::array();
    bucket.push_back(upper_us);
    bucket.push_back(count);
    json.push_back(std::move(bucket));
  }
  return json;
}

Json DeviceJson(const DeviceCounters& device) {
  Json json;
  json["read_bytes"] = device.read_bytes;
  json["written_bytes"] = device.written_bytes;
  json["reads"] = device.reads;
  json["writes"] = device.writes;
  return json;
}

Json PhaseJson(const MountPhase& phase) {
  Json json;
  json["name"] = phase.name;
  json["seconds"] = phase.seconds;
  json["operations"] = phase.operations;
  json["operations_per_second"] = phase.OperationsPerSecond();
  json["user_bytes"] = phase.user_bytes;
  if (phase.latency.has_value()) {
    json["latency_us"] = LatencyJson(*phase.latency);
    json["latency_histogram"] = HistogramJson(*phase.latency);
  }
  json["device"] = DeviceJson(phase.device);
  if (phase.unmount_seconds.has_value()) {
    json["unmount_seconds"] = *phase.unmount_seconds;
  }
  if (phase.daemon.has_value()) {
    json["cpu_seconds"] = phase.daemon->cpu_seconds;
    json["peak_memory_bytes"] = phase.daemon->peak_memory_bytes;
  }
  return json;
}

Json RunJson(const MountRun& run) {
  Json json;
  json["filesystem"] = run.filesystem;
  json["round"] = run.round;
  json["phases"] = Json::array();
  for (const MountPhase& phase : run.phases) {
    json["phases"].push_back(PhaseJson(phase));
  }
  return json;
}

std::string ProcessorModel() {
  std::ifstream list("/proc/cpuinfo");
  std::string line;
  while (std::getline(list, line)) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "";
}

Json MachineJson(const std::string& device) {
  utsname system{};
  uname(&system);
  Json json;
  json["kernel"] = system.release;
  json["processor"] = ProcessorModel();
  json["processors"] = sysconf(_SC_NPROCESSORS_ONLN);
  json["memory_bytes"] =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  json["device"] = device;
  return json;
}

Json OptionsJson(const MountBenchOptions& options) {
  Json json;
  json["rounds"] = options.rounds;
  json["device_bytes"] = options.device_bytes;
  json["files"] = options.files;
  json["file_sizes"] = options.file_sizes;
  json["fio_bytes"] = options.fio_bytes;
  json["fio_seconds"] = options.fio_seconds;
  json["fio_buffered"] = options.fio_buffered;
  return json;
}

}  // namespace

std::string PhaseLine(const MountRun& run, const MountPhase& phase) {
  const Speed speed = SpeedOf(phase);
  std::string line = fmt::format("round {}  {:<19} {:<31} {:>9} {:<5}", run.round, run.filesystem, phase.name,
                                 FormatSpeed(speed.value), speed.unit);
  if (phase.latency.has_value()) {
    line += fmt::format("  p50 {:9.1f} us  p99 {:9.1f} us", phase.latency->p50, phase.latency->p99);
  }
  return line;
}

std::string ComparisonTable(const std::vector<MountRun>& runs) {
  std::string table;
  const Comparisons comparisons(runs);
  for (const Comparison& row : comparisons.rows()) {
    AppendRow(row, table);
  }
  return table;
}

std::string MountBenchJson(const MountBenchContext& context, const MountBenchResult& result) {
  Json document;
  document["varve"] = context.varve_version;
  document["command"] = context.command;
  document["machine"] =
      MachineJson(fmt::format("loop device over a file in {}{}", context.options.folder,
                              result.direct_io ? ", direct I/O" : ", through the page cache"));
  document["options"] = OptionsJson(context.options);
  document["runs"] = Json::array();
  for (const MountRun& run : result.runs) {
    document["runs"].push_back(RunJson(run));
  }
  return document.dump() + "\n";
}

}  // namespace varve
