// A store on a MemoryDevice, driven from one thread with simulated time: opening, closing, crashing, and its
// calls as plain functions.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/logger.h"
#include "engine/ring/local_executor.h"
#include "engine/store/format_store.h"
#include "engine/store/store.h"
#include "tests/engine/store/store_model.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_device.h"
#include "tests/support/small_store.h"

namespace varve::testing {

struct HarnessOptions {
  uint64_t device_bytes = 128 * kMiB;
  uint32_t sector_bytes = 512;
  // Operations of the device end later, so that background work and calls interleave.
  bool device_yields = true;
  // Hears of every Version; may be nullptr.
  InstallObserver* installs = nullptr;
};

class StoreHarness {
 public:
  explicit StoreHarness(HarnessOptions options = {})
      : installs_(options.installs),
        executor_(clock_, [this](uint64_t due) { clock_.AdvanceTo(due); }),
        device_(MemoryDeviceOptions{.size_bytes = options.device_bytes,
                                    .sector_bytes = options.sector_bytes,
                                    .yields = options.device_yields,
                                    .volatile_cache = true}) {
    FormatStoreOptions format;
    format.label = "test";
    format.uuid = MakeUuid(1, 2);
    const Result<Superblock> formatted = executor_.Run(FormatStore(device_, clock_, std::move(format)));
    EXPECT_TRUE(formatted.ok()) << formatted.ToString();
  }
  ~StoreHarness() {
    if (store_ != nullptr) {
      (void)Close();
    }
  }

  Status Open(const StoreOptions& options, uint64_t seed = 1) {
    StoreEnvironment environment{device_, clock_, logger_, {&executor_}, seed, installs_};
    Result<std::unique_ptr<Store>> opened = executor_.Run(OpenStore(std::move(environment), options));
    if (opened.ok()) {
      store_ = std::move(*opened);
    }
    return opened.status();
  }
  Status Close() {
    Status closed = executor_.Run(store_->Close());
    store_.reset();
    return closed;
  }
  // Power failure in the middle of whatever runs: what was not flushed is gone, and so is the process.
  void Crash() {
    device_.DieAtWrite();
    (void)Close();
    device_.Heal();
    device_.Crash();
  }

  Store& store() { return *store_; }
  MemoryDevice& device() { return device_; }
  ManualClock& clock() { return clock_; }
  LocalExecutor& executor() { return executor_; }
  Logger& logger() { return logger_; }

  template <typename T>
  T Run(Task<T> task) {
    return executor_.Run(std::move(task));
  }

  Status Write(const WriteBatch& batch, Durability durability = Durability::kInterval) {
    return executor_.Run(TryThenWrite(*store_, batch, durability));
  }
  Status Put(std::string_view key, std::string_view value, Durability durability = Durability::kInterval) {
    WriteBatch batch;
    batch.Put(key, value);
    return Write(batch, durability);
  }
  Status Delete(std::string_view key) {
    WriteBatch batch;
    batch.Delete(key);
    return Write(batch);
  }
  // nullopt: no such key. An error fails the test.
  std::optional<std::string> Get(std::string_view key, const Snapshot* snapshot = nullptr) {
    ReadOptions options;
    options.snapshot = snapshot;
    if (std::optional<Store::Lookup> found = store_->TryGet(key, options)) {
      return ValueOf(*found);
    }
    const Store::Lookup found = executor_.Run(store_->Get(key, options));
    return ValueOf(found);
  }

  // Everything in [lower, upper), forward.
  State Scan(std::string_view lower = {}, std::string_view upper = {}, const Snapshot* snapshot = nullptr) {
    ReadOptions options;
    options.snapshot = snapshot;
    const std::unique_ptr<StoreIterator> it = store_->NewIterator(lower, upper, options);
    State state;
    std::string before;
    for (Finish(*it, it->Seek(lower)); it->Valid(); Finish(*it, it->Next())) {
      EXPECT_TRUE(state.empty() || before < it->key());
      before = it->key();
      state.emplace(it->key(), it->value());
    }
    EXPECT_TRUE(it->status().ok()) << it->status().ToString();
    return state;
  }
  void Finish(StoreIterator& it, Step step) {
    if (step == Step::kNeedsIo) {
      executor_.Run(it.Load());
    }
  }

 private:
  static Task<Status> TryThenWrite(Store& store, const WriteBatch& batch, Durability durability) {
    std::optional<Status> done = store.TryWrite(batch, durability);
    if (done) {
      co_return *std::move(done);
    }
    co_return co_await store.Write(batch, durability);
  }
  static std::optional<std::string> ValueOf(const Store::Lookup& found) {
    EXPECT_TRUE(found.ok()) << found.ToString();
    if (!found.ok() || !found.value().has_value()) {
      return std::nullopt;
    }
    return std::string(found.value()->bytes());
  }

  InstallObserver* const installs_;
  NullLogger logger_;
  ManualClock clock_;
  LocalExecutor executor_;
  MemoryDevice device_;
  std::unique_ptr<Store> store_;
};

}  // namespace varve::testing
