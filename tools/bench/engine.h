// Engine: a storage engine under test, and Session: one user of it. Each has its own implementation of both
// (varve_engine.cc, rocksdb_engine.cc, leveldb_engine.cc); the workloads know only this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/result.h"
#include "engine/ring/task.h"
#include "engine/store/store.h"

namespace varve {

struct EngineSettings {
  // A device or image that was formatted for varve; for the others a folder, which need not be empty.
  std::string place;
  size_t memtable_bytes = 0;
  size_t cache_bytes = 0;
  uint64_t table_bytes = 0;
  uint32_t level_ratio = 0;
  uint64_t level1_bytes = 0;
  // Of the peers' tables; varve's device was formatted with it.
  uint64_t block_bytes = 0;
  uint32_t background_threads = 1;
  // Every write is durable before its call ends. Otherwise varve makes its log durable each second, and the
  // others hand theirs to the kernel at each write.
  bool sync = false;
  // How often all of them make their logs durable; 0: as above.
  uint64_t log_interval_nanos = 0;
  Techniques techniques;
  // RocksDB's size-tiered style of compaction in place of its leveled one.
  bool universal = false;
};

struct ReadOutcome {
  bool found = false;
  uint64_t bytes = 0;  // of the value
};

struct ScanOutcome {
  uint64_t entries = 0;
  uint64_t bytes = 0;  // of keys and values
};

// Counts since the engine was opened; what an engine does not tell is left out.
struct EngineStatistics {
  struct Level {
    uint32_t level = 0;
    uint64_t bytes = 0;
    // Of them, what its tables hold beside live blocks and their newest indexes and filters.
    std::optional<uint64_t> wasted_bytes;
    std::optional<uint64_t> entries, tombstones;
    std::optional<uint64_t> read_bytes, written_bytes;
    // Filters that gets asked, and those that let a get go on in vain.
    std::optional<uint64_t> filters_asked, filters_misled;
    std::optional<double> filter_expected_rate;
    std::optional<uint64_t> filter_bytes;
    // For each key that the filters have room for.
    std::optional<double> filter_bits_per_key;
    // Gets by where their version was found.
    std::optional<uint64_t> answered, answered_by_log, answered_by_buffer;
    std::optional<uint64_t> buffer_bytes;
  };
  // By kind: jobs, and the tables that they took in.
  std::map<std::string, uint64_t> compactions;
  std::map<std::string, uint64_t> compacted_tables;
  std::optional<double> stall_seconds;
  std::optional<uint64_t> space_bytes;
  // Of it, what compaction buffers hold.
  std::optional<uint64_t> buffer_bytes;
  std::vector<Level> levels;
};

// Of data blocks that users' reads looked for; blocks of indexes and filters are not counted.
struct CacheCounts {
  uint64_t hits = 0;
  uint64_t misses = 0;
};

// Made, used and destroyed on one thread, in coroutines of its reactor. Calls named Try… answer at once, or
// answer nullopt: then the Task of the same name follows, with the same arguments, and does it. Arguments
// must outlive the Task; one call at a time.
class Session {
 public:
  virtual ~Session() = default;
  virtual std::optional<Status> TryPut(std::string_view key, std::string_view value) = 0;
  virtual Task<Status> Put(std::string_view key, std::string_view value) = 0;
  virtual std::optional<Status> TryDelete(std::string_view key) = 0;
  virtual Task<Status> Delete(std::string_view key) = 0;
  virtual std::optional<Result<ReadOutcome>> TryGet(std::string_view key) = 0;
  virtual Task<Result<ReadOutcome>> Get(std::string_view key) = 0;
  // Seeks to the first key at or after `from` and reads up to `count` entries from there.
  virtual Task<Result<ScanOutcome>> Scan(std::string_view from, size_t count) = 0;
};

// Open, Settle, Close: the thread that made it, outside every executor; they block. NewSession and the
// counts: any thread while it is open. Sessions end before Close.
class Engine {
 public:
  virtual ~Engine() = default;
  // May be called again after Close.
  virtual Status Open() = 0;
  virtual std::unique_ptr<Session> NewSession() = 0;
  // Writes the memtable out, waits until no compaction is due, and sees that everything is on the device.
  virtual Status Settle() = 0;
  // Hands everything that was written to the device, so that a crash of the process loses nothing of it.
  virtual Status SyncLog() = 0;
  virtual Status Close() = 0;

  virtual EngineStatistics statistics() = 0;
  virtual CacheCounts cache_counts() = 0;
  // What a reader of the figures should know about this engine's settings; may be empty.
  virtual std::vector<std::string> notes() const { return {}; }
};

// `clock` must outlive it.
std::unique_ptr<Engine> MakeVarveEngine(const EngineSettings& settings, const Clock& clock);
// nullptr where this program was built without the library.
std::unique_ptr<Engine> MakeRocksdbEngine(const EngineSettings& settings);
std::unique_ptr<Engine> MakeLeveldbEngine(const EngineSettings& settings);

}  // namespace varve
