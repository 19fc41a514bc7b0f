// What the mount's bench tells: a line a phase while it runs, a table at the end, and everything as JSON for
// programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/bench_mount/phase.h"
#include "tools/bench_mount/run.h"

namespace varve {

// "round 1  ext4  stat, 1 KiB  31200 op/s  p50 29.1 us  p99 48.0 us"
std::string PhaseLine(const MountRun& run, const MountPhase& phase);

// For each phase every round of every filesystem, the median, and by how much varve is faster: the median of
// the rounds' own ratios.
std::string ComparisonTable(const std::vector<MountRun>& runs);

// What is the same for all runs.
struct MountBenchContext {
  std::string varve_version;
  std::string command;
  MountBenchOptions options;
};

std::string MountBenchJson(const MountBenchContext& context, const MountBenchResult& result);

}  // namespace varve
