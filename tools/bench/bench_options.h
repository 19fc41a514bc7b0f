// What a person asks `varve bench` for. The command and its worker process read the same options.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/units.h"
#include "engine/store/store.h"
#include "tools/bench/generators.h"

namespace CLI {
class App;
}  // namespace CLI

namespace varve {

// What a run of one engine does: the worker's part.
struct RunOptions {
  std::vector<std::string> workloads = {"fillrandom", "settle", "readrandom"};
  uint64_t number = 1'000'000;
  uint64_t operations = 0;  // of phases that do not fill; 0: number
  uint64_t reads = 0;       // of phases that only read; 0: as others
  uint64_t key_bytes = 16;
  uint64_t value_bytes_min = 100;
  uint64_t value_bytes_max = 100;
  uint32_t threads = 1;
  uint32_t depth = 1;  // requests in flight on each thread
  Distribution distribution = Distribution::kUniform;
  double zipf_constant = 0.99;
  double delete_percent = 0;
  uint32_t scan_length = 50;
  uint64_t rate_limit = 0;  // operations a second over all threads; 0: none
  uint64_t write_rate = 1000;
  double duration_seconds = 0;  // 0: none
  uint64_t seed = 1;
  bool sync = false;
  double log_interval_seconds = 1;  // 0: each engine's own way

  uint64_t cache_bytes = 256 * kMiB;
  uint64_t memtable_bytes = 64 * kMiB;
  uint64_t table_bytes = 64 * kMiB;
  uint32_t level_ratio = 10;
  uint64_t level1_bytes = 256 * kMiB;
  uint64_t block_bytes = 4 * kKiB;  // target of a data block's size
  uint32_t background_threads = 1;
  uint32_t spin_micros = 50;  // of varve's threads that ask
  Techniques techniques;

  uint64_t operations_of_updates() const { return operations != 0 ? operations : number; }
  uint64_t operations_of_reads() const { return reads != 0 ? reads : operations_of_updates(); }
};

// "varve", or "varve:" and techniques.
inline constexpr const char* kVarveEngine = "varve";
inline constexpr const char* kRocksdbEngine = "rocksdb";
// With its universal style of compaction, which is size-tiered.
inline constexpr const char* kRocksdbUniversalEngine = "rocksdb:universal";
inline constexpr const char* kLeveldbEngine = "leveldb";
bool IsVarve(std::string_view engine);
// Those that the engine's name gives, or else `unless_named`. Precondition: IsVarve. kInvalidArgument: a name
// is not known.
Result<Techniques> TechniquesOfVarve(std::string_view engine, const Techniques& unless_named);

// What every engine is to get by with, its page cache included: the cache, the write buffers that may exist
// at once, and room for the rest of it. In reads of a settled store one write buffer exists, so that only as
// much is left for the page cache as an engine with direct I/O was given.
uint64_t DefaultMemoryLimit(const RunOptions& run, bool writing);

// Adds the options of RunOptions to `command`. `options` must outlive it. Errors of values are CLI11's.
void AddRunOptions(CLI::App& command, RunOptions& options);

// The options that AddRunOptions added, as they were given to `command`, but for --workloads: arguments for a
// worker.
std::vector<std::string> GivenRunOptions(const CLI::App& command);

}  // namespace varve
