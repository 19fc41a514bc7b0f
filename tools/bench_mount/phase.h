// What one phase of the mount's bench measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/bench_mount/device.h"
#include "tools/bench_mount/program.h"

namespace varve {

// Microseconds.
struct LatencyFigures {
  double mean = 0;
  double p50 = 0;
  double p99 = 0;
  double p99_9 = 0;
  double p99_99 = 0;
  double max = 0;
  // (upper bound, how many took as long as that and longer than the bound before), ascending.
  std::vector<std::pair<double, uint64_t>> histogram;
};

// Of the times of single operations, in nanoseconds, in any order.
LatencyFigures FiguresOf(std::vector<uint64_t> nanos);

struct MountPhase {
  // "create 1 KiB"
  std::string name;
  double seconds = 0;
  uint64_t operations = 0;
  uint64_t user_bytes = 0;
  std::optional<LatencyFigures> latency;
  // From the mount to the end of the unmount.
  DeviceCounters device;
  // Writing out what the phase left in memory; none for the raw device.
  std::optional<double> unmount_seconds;
  std::optional<ProgramUsage> daemon;

  double OperationsPerSecond() const { return seconds > 0 ? static_cast<double>(operations) / seconds : 0; }
};

// The phases of one filesystem in one round.
struct MountRun {
  std::string filesystem;
  uint32_t round = 1;
  std::vector<MountPhase> phases;
};

}  // namespace varve
