// `varve bench`: rounds in which every engine runs the same phases on the same device, one after the other,
// or in turns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/bench/bed.h"
#include "tools/bench/bench_options.h"

namespace varve {

struct BenchOptions {
  BedOptions bed;
  std::vector<std::string> engines = {"varve", "rocksdb", "leveldb"};
  uint32_t rounds = 1;
  // The engines run at once, each on a device of its own, and take turns: phases that read one
  // by one, others with all up to the next settle.
  bool interleave = false;
  RunOptions run;
  // Memory of an engine's process with its page cache. 0: as DefaultMemoryLimit says, phase by phase.
  uint64_t memory_limit_bytes = 0;
  bool limit_memory = true;
  uint64_t throttle_bytes_per_second = 0;
  uint64_t throttle_operations_per_second = 0;
  uint64_t throttle_reads_per_second = 0;       // 0: as all operations
  uint64_t throttle_read_bytes_per_second = 0;  // 0: as all bytes
  std::string json_file;                        // empty: none
  // For the JSON document: of varve, and what the person typed. Then the options for a worker.
  std::string version;
  std::string command_line;
  std::vector<std::string> worker_arguments;
};

// Memory that an engine's process gets by with; 0: as much as it likes.
uint64_t MemoryLimit(const BenchOptions& options, bool writing);

// Runs it, prints tables to standard output and writes the JSON document. The exit code.
int RunBench(const BenchOptions& options);

}  // namespace varve
