#include "tools/bench_mount/fio.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/base/units.h"

namespace varve {

namespace {

using nlohmann::json;

constexpr FioJob kJobs[] = {
    {"1 MiB sequential write", "write", kMiB, 4, false, true},
    {"1 MiB sequential read", "read", kMiB, 4, false, true},
    {"4 KiB random read, depth 1", "randread", 4 * kKiB, 1, false, false},
    {"4 KiB random read, depth 32", "randread", 4 * kKiB, 32, false, false},
    {"4 KiB random write, depth 1", "randwrite", 4 * kKiB, 1, false, false},
    {"4 KiB random write, depth 32", "randwrite", 4 * kKiB, 32, false, false},
    {"4 KiB random write, fsync each", "randwrite", 4 * kKiB, 1, true, false},
};

bool Writes(const FioJob& job) {
  return job.pattern.find("write") != std::string_view::npos;
}

std::vector<std::string> CommandOf(const FioJob& job, const FioPlace& place) {
  std::vector<std::string> command = {
      "fio",
      "--name=job",
      "--filename=" + place.file,
      fmt::format("--size={}", place.file_bytes),
      fmt::format("--rw={}", job.pattern),
      fmt::format("--bs={}", job.block_bytes),
      fmt::format("--iodepth={}", job.depth),
      "--ioengine=io_uring",
      fmt::format("--direct={}", job.fsync || place.buffered ? 0 : 1),
      "--randrepeat=1",
      // From submission to completion: what waits in io_uring_enter counts.
      "--lat_percentiles=1",
      "--clat_percentiles=0",
      "--percentile_list=50:99:99.9:99.99",
      "--output-format=json+",
      "--output=" + place.report,
  };
  if (!job.whole_file) {
    command.insert(command.end(), {"--time_based", fmt::format("--runtime={}", place.seconds)});
  }
  if (job.fsync) {
    command.emplace_back("--fsync=1");
  } else if (Writes(job)) {
    command.emplace_back("--end_fsync=1");
  }
  return command;
}

double Number(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

// Of fio's lat_ns: mean, max, percentile {"99.000000": ns}, bins {"ns": count}.
LatencyFigures LatencyOf(const json& times) {
  LatencyFigures figures;
  figures.mean = Number(times, "mean") / 1e3;
  figures.max = Number(times, "max") / 1e3;
  if (const auto found = times.find("percentile"); found != times.end()) {
    // The upper ends of fio's buckets, which may lie above the largest time of all.
    const auto percentile = [&](const char* name) {
      return std::min(Number(*found, name) / 1e3, figures.max);
    };
    figures.p50 = percentile("50.000000");
    figures.p99 = percentile("99.000000");
    figures.p99_9 = percentile("99.900000");
    figures.p99_99 = percentile("99.990000");
  }
  if (const auto found = times.find("bins"); found != times.end()) {
    std::map<double, uint64_t> bins;
    for (const auto& [nanos, count] : found->items()) {
      bins[std::stod(nanos) / 1e3] += count.get<uint64_t>();
    }
    figures.histogram.assign(bins.begin(), bins.end());
  }
  return figures;
}

}  // namespace

std::span<const FioJob> FioJobs() {
  return kJobs;
}

Result<MountPhase> ParseFioReport(const FioJob& job, const std::string& report) {
  // fio puts notes for people before the document.
  const size_t begin = report.find('{');
  const json document = begin == std::string::npos
                            ? json()
                            : json::parse(report.substr(begin), nullptr, /*allow_exceptions=*/false);
  const json::json_pointer place("/jobs/0");
  if (document.is_discarded() || !document.contains(place)) {
    return DeviceError("fio's report cannot be read");
  }
  const json& result = document[place];
  const char* const direction = Writes(job) ? "write" : "read";
  if (!result.contains(direction)) {
    return DeviceError(fmt::format("fio's report has no {}", direction));
  }
  const json& figures = result[direction];
  MountPhase phase;
  phase.name = job.name;
  phase.seconds = Number(figures, "runtime") / 1e3;
  phase.operations = static_cast<uint64_t>(Number(figures, "total_ios"));
  phase.user_bytes = static_cast<uint64_t>(Number(figures, "io_bytes"));
  const json::json_pointer times(job.fsync ? "/sync/lat_ns" : fmt::format("/{}/lat_ns", direction));
  if (result.contains(times)) {
    phase.latency = LatencyOf(result[times]);
  }
  return phase;
}

Result<MountPhase> RunFioJob(const FioJob& job, const FioPlace& place, Interruption& interruption) {
  if (Status run = RunProgram(CommandOf(job, place), place.log, &interruption); !run.ok()) {
    return run.error();
  }
  std::ifstream report(place.report);
  return ParseFioReport(job, std::string(std::istreambuf_iterator<char>(report), {}));
}

}  // namespace varve
