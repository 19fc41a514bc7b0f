// The process in which `varve bench` runs one engine: its memory, its CPU time and its crashes are that
// engine's alone, and the libraries of the others stay out of the varve executable.
#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <csignal>

#include "tools/bench/bench_options.h"
#include "tools/bench/worker.h"

int main(int argc, char** argv) {
  CLI::App app("varve-bench-worker: one engine's run; started by `varve bench`", "varve-bench-worker");
  varve::WorkerOptions worker;
  varve::RunOptions run;
  app.add_option("--engine", worker.engine, "varve, rocksdb or leveldb")->required();
  app.add_option("--place", worker.place, "A formatted device or image for varve, a folder for the others")
      ->required();
  app.add_option("--device-stat", worker.device_stat_path, "The kernel's counters of the device");
  app.add_option("--control-group", worker.control_groups, "cgroup.procs files to join");
  app.add_option("--memory-limit-file", worker.memory_limit_file, "Where to limit memory, phase by phase");
  app.add_flag("--in-turns", worker.in_turns, "Wait for a byte of standard input before each phase");
  app.add_flag("--recovers", worker.recovers, "Time the opening as the phase `crash`");
  app.add_option("--records", worker.records, "Records that exist");
  bool no_workloads = false;
  app.add_flag("--no-workloads", no_workloads, "Open and close, and nothing else");
  varve::AddRunOptions(app, run);
  CLI11_PARSE(app, argc, argv);
  if (no_workloads) {
    run.workloads.clear();
  }
  // Whoever started it takes the device away when it ends, however it ends.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return varve::RunWorker(worker, run);
}
