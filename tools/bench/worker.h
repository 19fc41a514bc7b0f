// The worker: one engine, opened in a process of its own, does the phases of a run. What it finds it prints
// to standard output, one JSON object a line:
//   {"notes":[text]}                          once, when the engine is open
//   {"progress":[phase,done,total]}           now and then
//   {"phase":{...}}                           after each phase: ToJson of tools/bench/phase.h
//   {"crash":true,"records":n}                it is about to kill itself, as the phase `crash` asks
//   {"absent":true}                           this program was built without the engine; it ends
//   {"error":text}                            and ends
#pragma once

#include <cstdint>
#include <string>

#include "tools/bench/bench_options.h"

namespace varve {

struct WorkerOptions {
  std::string engine;
  std::string place;             // EngineSettings::place
  std::string device_stat_path;  // empty: the device is not counted
  // Control groups to join before anything is allocated: paths of cgroup.procs files.
  std::vector<std::string> control_groups;
  // Where the control group's limit on memory is set: each phase sets it to DefaultMemoryLimit. Empty: it
  // stays as it is.
  std::string memory_limit_file;
  // Before each phase, and before it closes the engine and ends, it waits for a byte of its standard input;
  // at the end of that it gives up.
  bool in_turns = false;
  // After a crash: records that exist; the opening is timed as the phase `crash`.
  bool recovers = false;
  uint64_t records = 0;
};

// The exit code. Blocks; only one a process.
int RunWorker(const WorkerOptions& worker, const RunOptions& run);

}  // namespace varve
