// LevelDB under test: its nearest equal to varve's shape. It has no direct I/O, so what it reads stays in the
// page cache too, which only a limit on its memory keeps small.
#include <fmt/core.h>
#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <leveldb/options.h>
#include <leveldb/write_batch.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>
#include <utility>

#include "engine/base/units.h"
#include "tools/bench/engine.h"
#include "tools/bench/folder_space.h"
#include "tools/bench/periodic.h"

namespace varve {

namespace {

constexpr int kFilterBitsPerKey = 10;
constexpr uint32_t kLevels = 7;
// It does not tell when its background thread has nothing left to do: no write for so long means that. The
// wait itself is part of what settling is said to take.
constexpr auto kQuiet = std::chrono::milliseconds(300);
constexpr auto kQuietPoll = std::chrono::milliseconds(20);

Status ToStatus(const leveldb::Status& status) {
  if (status.ok()) {
    return OkStatus();
  }
  return DeviceError(fmt::format("LevelDB: {}", status.ToString()));
}

// LevelDB's own cache, counting lookups of blocks.
class CountingCache final : public leveldb::Cache {
 public:
  explicit CountingCache(size_t capacity) : cache_(leveldb::NewLRUCache(capacity)) {}

  Handle* Insert(const leveldb::Slice& key, void* value, size_t charge,
                 void (*deleter)(const leveldb::Slice& key, void* value)) override {
    return cache_->Insert(key, value, charge, deleter);
  }
  Handle* Lookup(const leveldb::Slice& key) override {
    Handle* found = cache_->Lookup(key);
    (found != nullptr ? hits_ : misses_).fetch_add(1, std::memory_order_relaxed);
    return found;
  }
  void Release(Handle* handle) override { cache_->Release(handle); }
  void* Value(Handle* handle) override { return cache_->Value(handle); }
  void Erase(const leveldb::Slice& key) override { cache_->Erase(key); }
  uint64_t NewId() override { return cache_->NewId(); }
  void Prune() override { cache_->Prune(); }
  size_t TotalCharge() const override { return cache_->TotalCharge(); }

  CacheCounts counts() const { return {.hits = hits_, .misses = misses_}; }

 private:
  std::unique_ptr<leveldb::Cache> cache_;
  std::atomic<uint64_t> hits_{0}, misses_{0};
};

// Counts the jobs that LevelDB writes into its log of messages: it tells of them nowhere else.
class JobCounter final : public leveldb::Logger {
 public:
  void Logv(const char* format, std::va_list) override {
    const std::string_view message = format;
    if (message.starts_with("Level-0 table") && message.ends_with(": started")) {
      ++flushes_;
    } else if (message.starts_with("Compacting ")) {
      ++merges_;
    } else if (message.starts_with("Moved #")) {
      ++moves_;
    }
  }

  std::map<std::string, uint64_t> counts() const {
    return {{"flush", flushes_}, {"merge", merges_}, {"trivial_move", moves_}};
  }

 private:
  std::atomic<uint64_t> flushes_{0}, merges_{0}, moves_{0};
};

leveldb::Slice SliceOf(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}

class LeveldbSession final : public Session {
 public:
  LeveldbSession(leveldb::DB& db, bool sync) : db_(db) {
    write_.sync = sync;
    // As the others do without being asked.
    read_.verify_checksums = true;
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
    const leveldb::Status status = db_.Get(read_, SliceOf(key), &value_);
    if (status.ok()) {
      return ReadOutcome{.found = true, .bytes = value_.size()};
    }
    if (status.IsNotFound()) {
      return ReadOutcome{};
    }
    return ToStatus(status).error();
  }
  Task<Result<ReadOutcome>> Get(std::string_view key) override { co_return *TryGet(key); }
  Task<Result<ScanOutcome>> Scan(std::string_view from, size_t count) override {
    ScanOutcome outcome;
    const std::unique_ptr<leveldb::Iterator> iterator(db_.NewIterator(read_));
    for (iterator->Seek(SliceOf(from)); iterator->Valid(); iterator->Next()) {
      ++outcome.entries;
      outcome.bytes += iterator->key().size() + iterator->value().size();
      if (outcome.entries == count) {
        break;
      }
    }
    if (!iterator->status().ok()) {
      co_return ToStatus(iterator->status()).error();
    }
    co_return outcome;
  }

 private:
  leveldb::DB& db_;
  leveldb::WriteOptions write_;
  leveldb::ReadOptions read_;
  std::string value_;
};

// What this process has handed to write calls so far (proc(5), io).
uint64_t WrittenByThisProcess() {
  std::ifstream file("/proc/self/io");
  std::string name;
  uint64_t value = 0;
  while (file >> name >> value) {
    if (name == "wchar:") {
      return value;
    }
  }
  return 0;
}

class LeveldbEngine final : public Engine {
 public:
  explicit LeveldbEngine(EngineSettings settings)
      : settings_(std::move(settings)), filter_(leveldb::NewBloomFilterPolicy(kFilterBitsPerKey)) {}
  ~LeveldbEngine() override {
    const Status closed = Close();
    static_cast<void>(closed);
  }

  Status Open() override {
    // A new one: blocks of an earlier opening would still be found.
    cache_ = std::make_unique<CountingCache>(settings_.cache_bytes);
    leveldb::Options options;
    options.create_if_missing = true;
    options.compression = leveldb::kNoCompression;
    options.write_buffer_size = settings_.memtable_bytes;
    options.max_file_size = settings_.table_bytes;
    options.block_size = settings_.block_bytes;
    options.block_cache = cache_.get();
    options.filter_policy = filter_.get();
    options.info_log = &jobs_;
    leveldb::DB* db = nullptr;
    const leveldb::Status opened = leveldb::DB::Open(options, settings_.place, &db);
    db_.reset(db);
    if (opened.ok()) {
      // A synced batch of nothing takes the log before it along. An error is told by the next write too.
      log_syncs_ = std::make_unique<Periodic>(settings_.log_interval_nanos, [db] {
        leveldb::WriteOptions synced;
        synced.sync = true;
        leveldb::WriteBatch nothing;
        static_cast<void>(db->Write(synced, &nothing));
      });
    }
    return ToStatus(opened);
  }

  std::unique_ptr<Session> NewSession() override {
    return std::make_unique<LeveldbSession>(*db_, settings_.sync);
  }

  Status Settle() override {
    // Opening writes the log's records out as a table: the only way, short of merging every level.
    if (Status closed = Close(); !closed.ok()) {
      return closed;
    }
    if (Status opened = Open(); !opened.ok()) {
      return opened;
    }
    auto quiet_since = std::chrono::steady_clock::now();
    for (uint64_t before = WrittenByThisProcess(); std::chrono::steady_clock::now() - quiet_since < kQuiet;) {
      std::this_thread::sleep_for(kQuietPoll);
      if (const uint64_t now = WrittenByThisProcess(); now != before) {
        before = now;
        quiet_since = std::chrono::steady_clock::now();
      }
    }
    return SyncFilesystemOf(settings_.place);
  }
  Status SyncLog() override { return SyncFilesystemOf(settings_.place); }

  Status Close() override {
    log_syncs_.reset();
    db_.reset();
    return OkStatus();
  }

  EngineStatistics statistics() override {
    EngineStatistics statistics;
    statistics.compactions = jobs_.counts();
    statistics.space_bytes = AllocatedBytesIn(settings_.place);
    std::string text;
    if (!db_->GetProperty("leveldb.stats", &text)) {
      return statistics;
    }
    // Two lines of headings and one of dashes, then: level, files, MiB, seconds, MiB read, MiB written.
    std::istringstream lines(text);
    std::string line;
    for (int skipped = 0; skipped < 3 && std::getline(lines, line); ++skipped) {
    }
    uint32_t level = 0;
    double files = 0, size = 0, seconds = 0, read = 0, written = 0;
    while (lines >> level >> files >> size >> seconds >> read >> written && level < kLevels) {
      EngineStatistics::Level shown;
      shown.level = level;
      shown.bytes = static_cast<uint64_t>(size * double{kMiB});
      shown.read_bytes = static_cast<uint64_t>(read * double{kMiB});
      shown.written_bytes = static_cast<uint64_t>(written * double{kMiB});
      statistics.levels.push_back(shown);
    }
    return statistics;
  }

  CacheCounts cache_counts() override { return cache_->counts(); }

  std::vector<std::string> notes() const override {
    return {
        "LevelDB: level 1 is 10 MiB and the ratio 10 whatever is asked; reads and writes go through the "
        "page cache; it keeps the log when closed and writes it out when opened; its counts of merges and "
        "levels begin anew when it settles"};
  }

 private:
  const EngineSettings settings_;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::unique_ptr<CountingCache> cache_;
  JobCounter jobs_;
  std::unique_ptr<leveldb::DB> db_;
  std::unique_ptr<Periodic> log_syncs_;
};

}  // namespace

std::unique_ptr<Engine> MakeLeveldbEngine(const EngineSettings& settings) {
  return std::make_unique<LeveldbEngine>(settings);
}

}  // namespace varve
