// The fio jobs of the mount's bench, on a file of a mount or on a raw device, and what fio's report says of
// them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "tools/bench_mount/interruption.h"
#include "tools/bench_mount/phase.h"

namespace varve {

struct FioJob {
  std::string_view name;
  // fio's readwrite and its block size in bytes.
  std::string_view pattern;
  uint64_t block_bytes;
  uint32_t depth;
  // After each write; the job then goes through the page cache, as programs do that call fsync.
  bool fsync;
  // Ends when the file has been gone through once, instead of after a time.
  bool whole_file;
};

// In the order in which they must run on one file: the first makes it.
std::span<const FioJob> FioJobs();

struct FioPlace {
  // A file, made by the first job, or a block device.
  std::string file;
  uint64_t file_bytes = 0;
  // How long jobs over a part of the file run.
  uint32_t seconds = 0;
  // Through the page cache instead of O_DIRECT; writes then end with an fsync.
  bool buffered = false;
  // For fio's report and for what it complains of.
  std::string report;
  std::string log;
};

// Everything but the device's and the daemon's figures.
Result<MountPhase> RunFioJob(const FioJob& job, const FioPlace& place, Interruption& interruption);

// The phase that a report of `fio --output-format=json+` tells of.
Result<MountPhase> ParseFioReport(const FioJob& job, const std::string& report);

}  // namespace varve
