// RocksDB under test, in the shape that varve has: docs/design/benchmark.md says which setting answers which.
#include <fmt/core.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/table.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/base/units.h"
#include "tools/bench/engine.h"
#include "tools/bench/folder_space.h"
#include "tools/bench/periodic.h"

namespace varve {

namespace {

constexpr int kLevel0Trigger = 4;
constexpr int kMemtables = 3;  // one that takes writes and two on their way, as in varve
constexpr double kFilterBitsPerKey = 10;
constexpr size_t kReadAheadBytes = 2 * kMiB;
constexpr double kHighPriorityShare = 0.5;
constexpr auto kSettlePoll = std::chrono::milliseconds(10);
// The universal style says that a compaction is due as long as there are as many runs as its trigger, though
// none of them are to be merged: it has settled once nothing has run for so long.
constexpr int kQuietPolls = 30;

Status ToStatus(const rocksdb::Status& status) {
  if (status.ok()) {
    return OkStatus();
  }
  return DeviceError(fmt::format("RocksDB: {}", status.ToString()));
}

// Counts what a thread's PerfContext has counted anyway: its default level keeps these counters.
struct BlockReads {
  std::atomic<uint64_t> hits{0}, misses{0};

  struct Totals {
    uint64_t hits, misses;
  };
  static Totals OfThisThread() {
    const rocksdb::PerfContext& context = *rocksdb::get_perf_context();
    return {context.block_cache_hit_count - context.block_cache_index_hit_count -
                context.block_cache_filter_hit_count,
            context.block_read_count - context.index_block_read_count - context.filter_block_read_count};
  }
  void AddSince(const Totals& before) {
    const Totals now = OfThisThread();
    if (now.hits != before.hits) {
      hits.fetch_add(now.hits - before.hits, std::memory_order_relaxed);
    }
    if (now.misses != before.misses) {
      misses.fetch_add(now.misses - before.misses, std::memory_order_relaxed);
    }
  }
};

class JobCounter final : public rocksdb::EventListener {
 public:
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo&) override { Count("flush"); }
  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo& job) override {
    const bool moved = job.stats.num_output_files == 0 || job.output_files == job.input_files;
    Count(moved ? "trivial_move" : "merge");
  }
  std::map<std::string, uint64_t> counts() {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  void Count(const std::string& kind) {
    const std::lock_guard lock(mutex_);
    ++counts_[kind];
  }

  std::mutex mutex_;
  std::map<std::string, uint64_t> counts_;
};

rocksdb::Slice SliceOf(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}

class RocksdbSession final : public Session {
 public:
  RocksdbSession(rocksdb::DB& db, BlockReads& block_reads, bool sync) : db_(db), block_reads_(block_reads) {
    write_.sync = sync;
  }

  std::optional<Status> TryPut(std::string_view key, std::string_view value) override {
    return ToStatus(db_.Put(write_, SliceOf(key), SliceOf(value)));
  }
  Task<Status> Put(std::string_view key, std::string_view value) override { co_return *TryPut(key, value); }
  std::optional<Status> TryDelete(std::string_view key) override {
    return ToStatus(db_.Delete(write_, SliceOf(key)));
  }
  Task<Status> Delete(std::string_view key) override { co_return *TryDelete(key); }
  std::optional<Result<ReadOutcome>> TryGet(std::string_view key) override {
    const BlockReads::Totals before = BlockReads::OfThisThread();
    rocksdb::PinnableSlice value;
    const rocksdb::Status status = db_.Get(read_, db_.DefaultColumnFamily(), SliceOf(key), &value);
    block_reads_.AddSince(before);
    if (status.ok()) {
      return ReadOutcome{.found = true, .bytes = value.size()};
    }
    if (status.IsNotFound()) {
      return ReadOutcome{};
    }
    return ToStatus(status).error();
  }
  Task<Result<ReadOutcome>> Get(std::string_view key) override { co_return *TryGet(key); }
  Task<Result<ScanOutcome>> Scan(std::string_view from, size_t count) override {
    const BlockReads::Totals before = BlockReads::OfThisThread();
    ScanOutcome outcome;
    const std::unique_ptr<rocksdb::Iterator> iterator(db_.NewIterator(read_));
    for (iterator->Seek(SliceOf(from)); iterator->Valid(); iterator->Next()) {
      ++outcome.entries;
      outcome.bytes += iterator->key().size() + iterator->value().size();
      if (outcome.entries == count) {
        break;
      }
    }
    block_reads_.AddSince(before);
    if (!iterator->status().ok()) {
      co_return ToStatus(iterator->status()).error();
    }
    co_return outcome;
  }

 private:
  rocksdb::DB& db_;
  BlockReads& block_reads_;
  rocksdb::WriteOptions write_;
  rocksdb::ReadOptions read_;
};

double NumberAt(const std::map<std::string, std::string>& properties, const std::string& name) {
  const auto found = properties.find(name);
  return found == properties.end() ? 0 : std::strtod(found->second.c_str(), nullptr);
}

// "Cumulative stall: 00:00:1.234 H:M:S, 0.1 percent"
std::optional<double> StallSecondsIn(const std::string& text) {
  static constexpr std::string_view kTitle = "Cumulative stall: ";
  const size_t at = text.find(kTitle);
  int hours = 0;
  int minutes = 0;
  double seconds = 0;
  if (at == std::string::npos ||
      std::sscanf(text.c_str() + at + kTitle.size(), "%d:%d:%lf", &hours, &minutes, &seconds) != 3) {
    return std::nullopt;
  }
  return hours * 3600 + minutes * 60 + seconds;
}

class RocksdbEngine final : public Engine {
 public:
  explicit RocksdbEngine(EngineSettings settings) : settings_(std::move(settings)) {}
  ~RocksdbEngine() override {
    const Status closed = Close();
    static_cast<void>(closed);
  }

  Status Open() override {
    jobs_ = std::make_shared<JobCounter>();
    rocksdb::DB* db = nullptr;
    const rocksdb::Status opened = rocksdb::DB::Open(MakeOptions(), settings_.place, &db);
    db_.reset(db);
    if (opened.ok()) {
      // An error stays with the engine, and the next write tells it.
      log_syncs_ = std::make_unique<Periodic>(settings_.log_interval_nanos,
                                              [db] { db->SyncWAL().PermitUncheckedError(); });
    }
    return ToStatus(opened);
  }

  std::unique_ptr<Session> NewSession() override {
    return std::make_unique<RocksdbSession>(*db_, block_reads_, settings_.sync);
  }

  Status Settle() override {
    if (Status flushed = ToStatus(db_->Flush(rocksdb::FlushOptions())); !flushed.ok()) {
      return flushed;
    }
    const int quiet_polls_needed = settings_.universal ? kQuietPolls : 1;
    for (int quiet_polls = IsBusy() ? 0 : 1; quiet_polls < quiet_polls_needed;
         quiet_polls = IsBusy() ? 0 : quiet_polls + 1) {
      std::this_thread::sleep_for(kSettlePoll);
    }
    return SyncFilesystemOf(settings_.place);
  }
  Status SyncLog() override { return ToStatus(db_->SyncWAL()); }

  Status Close() override {
    Status closed;
    log_syncs_.reset();
    if (db_ != nullptr) {
      // A clean close leaves nothing to replay, as varve's does.
      closed = ToStatus(db_->Flush(rocksdb::FlushOptions()));
      const Status ended = ToStatus(db_->Close());
      if (closed.ok()) {
        closed = ended;
      }
      db_.reset();
    }
    return closed;
  }

  EngineStatistics statistics() override {
    EngineStatistics statistics;
    statistics.compactions = jobs_->counts();
    statistics.space_bytes = AllocatedBytesIn(settings_.place);
    std::string text;
    if (db_->GetProperty(rocksdb::DB::Properties::kDBStats, &text)) {
      statistics.stall_seconds = StallSecondsIn(text);
    }
    std::map<std::string, std::string> properties;
    if (!db_->GetMapProperty(rocksdb::DB::Properties::kCFStats, &properties)) {
      return statistics;
    }
    // Empty levels are left out, above others too.
    for (uint32_t level = 0; level < static_cast<uint32_t>(db_->NumberLevels()); ++level) {
      const std::string prefix = fmt::format("compaction.L{}.", level);
      if (!properties.contains(prefix + "SizeBytes")) {
        continue;
      }
      EngineStatistics::Level shown;
      shown.level = level;
      shown.bytes = static_cast<uint64_t>(NumberAt(properties, prefix + "SizeBytes"));
      shown.read_bytes = static_cast<uint64_t>(NumberAt(properties, prefix + "ReadGB") * double{kGiB});
      shown.written_bytes = static_cast<uint64_t>(NumberAt(properties, prefix + "WriteGB") * double{kGiB});
      statistics.levels.push_back(shown);
    }
    return statistics;
  }

  CacheCounts cache_counts() override { return {.hits = block_reads_.hits, .misses = block_reads_.misses}; }

  std::vector<std::string> notes() const override {
    return {
        fmt::format("RocksDB {}.{}: its log goes through the page cache; flushes run on a thread of their "
                    "own beside {} for merges",
                    ROCKSDB_MAJOR, ROCKSDB_MINOR, settings_.background_threads)};
  }

 private:
  bool IsBusy() {
    using Properties = rocksdb::DB::Properties;
    for (const std::string& name : {Properties::kMemTableFlushPending, Properties::kNumRunningFlushes,
                                    Properties::kCompactionPending, Properties::kNumRunningCompactions}) {
      uint64_t value = 0;
      if (settings_.universal && name == Properties::kCompactionPending) {
        continue;
      }
      if (db_->GetIntProperty(name, &value) && value != 0) {
        return true;
      }
    }
    return false;
  }

  rocksdb::Options MakeOptions() {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.use_direct_reads = true;
    options.use_direct_io_for_flush_and_compaction = true;
    options.compaction_readahead_size = kReadAheadBytes;
    options.write_buffer_size = settings_.memtable_bytes;
    options.max_write_buffer_number = kMemtables;
    options.target_file_size_base = settings_.table_bytes;
    options.max_bytes_for_level_base = settings_.level1_bytes;
    options.max_bytes_for_level_multiplier = settings_.level_ratio;
    options.level_compaction_dynamic_level_bytes = false;
    options.level0_file_num_compaction_trigger = kLevel0Trigger;
    if (settings_.universal) {
      options.compaction_style = rocksdb::kCompactionStyleUniversal;
    }
    const auto threads = static_cast<int>(settings_.background_threads);
    options.max_background_compactions = threads;
    options.max_background_flushes = 1;
    options.max_subcompactions = 1;
    options.env->SetBackgroundThreads(threads, rocksdb::Env::LOW);
    options.env->SetBackgroundThreads(1, rocksdb::Env::HIGH);
    options.max_open_files = -1;
    options.listeners.push_back(jobs_);

    rocksdb::BlockBasedTableOptions table;
    table.block_size = settings_.block_bytes;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kFilterBitsPerKey));
    rocksdb::LRUCacheOptions cache;
    cache.capacity = settings_.cache_bytes;
    cache.high_pri_pool_ratio = kHighPriorityShare;
    table.block_cache = rocksdb::NewLRUCache(cache);
    // Charged to the cache at high priority, as in varve.
    table.cache_index_and_filter_blocks = true;
    table.cache_index_and_filter_blocks_with_high_priority = true;
    table.pin_l0_filter_and_index_blocks_in_cache = true;
    // In pieces of a block, as in varve: whole ones of a large table would push each other out of a small
    // cache.
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.partition_filters = true;
    table.metadata_block_size = 4 * kKiB;
    table.pin_top_level_index_and_filter = true;
    table.format_version = 5;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    return options;
  }

  const EngineSettings settings_;
  BlockReads block_reads_;
  std::shared_ptr<JobCounter> jobs_;
  std::unique_ptr<rocksdb::DB> db_;
  std::unique_ptr<Periodic> log_syncs_;
};

}  // namespace

std::unique_ptr<Engine> MakeRocksdbEngine(const EngineSettings& settings) {
  return std::make_unique<RocksdbEngine>(settings);
}

}  // namespace varve
