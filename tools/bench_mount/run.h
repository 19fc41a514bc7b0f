// A run of the mount's bench: every phase on every filesystem, round by round, on devices that are equal.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "tools/bench_mount/filesystem.h"
#include "tools/bench_mount/interruption.h"
#include "tools/bench_mount/phase.h"

namespace varve {

// The name under which the device itself runs the fio jobs.
inline constexpr char kRawDevice[] = "raw device";

struct MountBenchOptions {
  // Of those of KnownFilesystems that are to run here, and whether the raw device does.
  std::vector<FilesystemKind> filesystems;
  bool raw_device = true;
  uint32_t rounds = 3;
  // The device's file is made in this folder.
  std::string folder;
  uint64_t device_bytes = 0;
  // The small-file workload is left out when there are no files or no sizes.
  uint64_t files = 0;
  std::vector<uint64_t> file_sizes;
  // The fio jobs are left out at 0.
  uint64_t fio_bytes = 0;
  uint32_t fio_seconds = 0;
  bool fio_buffered = false;
};

struct MountBenchResult {
  std::vector<MountRun> runs;
  bool direct_io = false;
};

// Called after each phase.
using MountPhaseDone = std::function<void(const MountRun& run, const MountPhase& phase)>;

// Makes the device, the filesystems and the mounts, and takes them away again whatever happens. Needs root.
// Every phase begins on a filesystem that was mounted just before, with nothing of its device in the page
// cache.
Result<MountBenchResult> RunMountBench(const MountBenchOptions& options, const MountPhaseDone& done,
                                       Interruption& interruption);

}  // namespace varve
