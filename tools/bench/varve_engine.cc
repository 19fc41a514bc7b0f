// varve under test: threads and rings as a mount has them. The measuring threads bring their own reactors;
// flush and merge run on reactors with threads of their own.
#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/prng.h"
#include "engine/base/units.h"
#include "engine/device/uring_device.h"
#include "tools/bench/engine.h"
#include "tools/reactor_thread.h"
#include "tools/report.h"

namespace varve {

namespace {

// As a mount has it (src/mounted_store.cc).
constexpr int kBackgroundNice = 10;

class VarveSession final : public Session {
 public:
  VarveSession(Store& store, Durability durability) : store_(store), durability_(durability) {}

  std::optional<Status> TryPut(std::string_view key, std::string_view value) override {
    batch_.Clear();
    batch_.Put(key, value);
    return store_.TryWrite(batch_, durability_);
  }
  Task<Status> Put(std::string_view key, std::string_view value) override {
    batch_.Clear();
    batch_.Put(key, value);
    return store_.Write(batch_, durability_);
  }
  std::optional<Status> TryDelete(std::string_view key) override {
    batch_.Clear();
    batch_.Delete(key);
    return store_.TryWrite(batch_, durability_);
  }
  Task<Status> Delete(std::string_view key) override {
    batch_.Clear();
    batch_.Delete(key);
    return store_.Write(batch_, durability_);
  }
  std::optional<Result<ReadOutcome>> TryGet(std::string_view key) override {
    std::optional<Store::Lookup> found = store_.BeginGet(key, ReadOptions(), unfinished_);
    if (!found.has_value()) {
      return std::nullopt;
    }
    return OutcomeOf(*found);
  }
  Task<Result<ReadOutcome>> Get(std::string_view key) override {
    if (const std::unique_ptr<Store::UnfinishedGet> rest = std::move(unfinished_); rest != nullptr) {
      const Store::Lookup found = co_await rest->Finish();
      co_return OutcomeOf(found);
    }
    const Store::Lookup found = co_await store_.Get(key, ReadOptions());
    co_return OutcomeOf(found);
  }
  Task<Result<ScanOutcome>> Scan(std::string_view from, size_t count) override {
    const std::unique_ptr<StoreIterator> iterator = store_.NewIterator({}, {}, ReadOptions());
    ScanOutcome outcome;
    Step step = iterator->Seek(from);
    while (true) {
      if (step == Step::kNeedsIo) {
        co_await iterator->Load();
      }
      if (!iterator->Valid()) {
        break;
      }
      ++outcome.entries;
      outcome.bytes += iterator->key().size() + iterator->value().size();
      if (outcome.entries == count) {
        break;
      }
      step = iterator->Next();
    }
    if (Status status = iterator->status(); !status.ok()) {
      co_return status.error();
    }
    co_return outcome;
  }

 private:
  static Result<ReadOutcome> OutcomeOf(const Store::Lookup& found) {
    if (!found.ok()) {
      return found.error();
    }
    if (!found->has_value()) {
      return ReadOutcome{};
    }
    return ReadOutcome{.found = true, .bytes = (*found)->bytes().size()};
  }

  Store& store_;
  const Durability durability_;
  WriteBatch batch_;
  // Of a TryGet that answered nullopt; the Get that follows finishes it.
  std::unique_ptr<Store::UnfinishedGet> unfinished_;
};

uint64_t NumberAt(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<uint64_t>() : 0;
}

class VarveEngine final : public Engine {
 public:
  VarveEngine(EngineSettings settings, const Clock& clock) : settings_(std::move(settings)), clock_(clock) {}
  ~VarveEngine() override {
    const Status closed = Close();
    if (!closed.ok()) {
      logger_.Log(LogLevel::kError, closed.ToString());
    }
  }

  Status Open() override {
    if (Status started = StartBackground(); !started.ok()) {
      return started;
    }
    Result<std::unique_ptr<ClaimedDevice>> device = OpenUringDevice(settings_.place, UringDeviceOptions());
    if (!device.ok()) {
      return device.error();
    }
    device_ = std::move(*device);
    StoreEnvironment environment{
        .device = *device_, .clock = clock_, .logger = logger_, .background = {}, .seed = 0};
    environment.seed = clock_.MonotonicNanos();
    for (const std::unique_ptr<ReactorThread>& thread : background_) {
      environment.background.push_back(&thread->reactor());
    }
    StoreOptions options;
    options.memtable_bytes = settings_.memtable_bytes;
    options.block_cache_bytes = settings_.cache_bytes;
    options.table_bytes = settings_.table_bytes;
    options.level_ratio = settings_.level_ratio;
    options.level1_bytes = settings_.level1_bytes;
    options.techniques = settings_.techniques;
    if (settings_.log_interval_nanos != 0) {
      options.commit_interval_nanos = settings_.log_interval_nanos;
    }
    Result<std::unique_ptr<Store>> store = CallOn(first(), OpenStore(environment, options));
    if (!store.ok()) {
      return store.error();
    }
    store_ = std::move(*store);
    return OkStatus();
  }

  std::unique_ptr<Session> NewSession() override {
    return std::make_unique<VarveSession>(*store_,
                                          settings_.sync ? Durability::kDurable : Durability::kInterval);
  }

  Status Settle() override { return CallOn(first(), store_->Settle()); }
  Status SyncLog() override { return CallOn(first(), store_->Sync()); }

  Status Close() override {
    Status closed;
    if (store_ != nullptr) {
      closed = CallOn(first(), store_->Close());
      store_.reset();
    }
    device_.reset();
    background_.clear();
    return closed;
  }

  EngineStatistics statistics() override {
    EngineStatistics statistics;
    nlohmann::json json = nlohmann::json::parse(store_->StatisticsJson(), nullptr, false);
    if (!json.is_object()) {
      return statistics;
    }
    for (const auto& [kind, of] : json["compactions"].items()) {
      statistics.compactions[kind] = NumberAt(of, "jobs");
      statistics.compacted_tables[kind] = NumberAt(of, "tables");
    }
    const nlohmann::json& stalls = json["stalls"];
    statistics.stall_seconds =
        static_cast<double>(NumberAt(stalls, "throttled_nanos") + NumberAt(stalls, "stopped_nanos")) / 1e9;
    // Buffers count as space that users may have; here they count as what they are.
    const uint64_t buffered = NumberAt(json["compaction_buffer"], "bytes");
    statistics.space_bytes = store_->space_usage().used_bytes + buffered;
    statistics.buffer_bytes = buffered;
    for (const nlohmann::json& level : json["levels"]) {
      EngineStatistics::Level shown;
      shown.level = static_cast<uint32_t>(NumberAt(level, "level"));
      shown.bytes = NumberAt(level, "total_bytes");
      shown.wasted_bytes = NumberAt(level, "wasted_bytes");
      shown.entries = NumberAt(level, "entries");
      shown.tombstones = NumberAt(level, "tombstones");
      if (level.contains("written_bytes")) {
        shown.read_bytes = NumberAt(level, "read_bytes");
        shown.written_bytes = NumberAt(level, "written_bytes");
        shown.filters_asked = NumberAt(level, "filters_asked");
        shown.filters_misled = NumberAt(level, "filters_misled");
        shown.filter_expected_rate = level["filter_expected_rate"].get<double>();
        shown.filter_bytes = NumberAt(level, "filter_bytes");
        shown.filter_bits_per_key = level["filter_bits_per_key"].get<double>();
        shown.answered = NumberAt(level, "answered");
        shown.answered_by_log = NumberAt(level, "answered_by_log");
        shown.answered_by_buffer = NumberAt(level, "answered_by_buffer");
        shown.buffer_bytes = NumberAt(level, "buffer_bytes");
      }
      statistics.levels.push_back(shown);
    }
    return statistics;
  }

  CacheCounts cache_counts() override {
    nlohmann::json json = nlohmann::json::parse(store_->StatisticsJson(), nullptr, false);
    if (!json.is_object()) {
      return {};
    }
    const nlohmann::json& data = json["cache"]["data"];
    return {.hits = NumberAt(data, "hits"), .misses = NumberAt(data, "misses")};
  }

 private:
  Reactor& first() { return background_.front()->reactor(); }

  Status StartBackground() {
    for (uint32_t i = 0; i < settings_.background_threads; ++i) {
      ReactorThread::Options options;
      options.name = fmt::format("varve-settle-{}", i);
      options.nice = kBackgroundNice;
      Result<std::unique_ptr<ReactorThread>> thread = ReactorThread::Start(std::move(options), clock_);
      if (!thread.ok()) {
        return thread.error();
      }
      background_.push_back(std::move(*thread));
    }
    return OkStatus();
  }

  const EngineSettings settings_;
  const Clock& clock_;
  StandardErrorLogger logger_;
  std::vector<std::unique_ptr<ReactorThread>> background_;
  std::unique_ptr<ClaimedDevice> device_;
  std::unique_ptr<Store> store_;
};

}  // namespace

std::unique_ptr<Engine> MakeVarveEngine(const EngineSettings& settings, const Clock& clock) {
  return std::make_unique<VarveEngine>(settings, clock);
}

}  // namespace varve
