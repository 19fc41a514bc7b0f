// What tests of stores with deletes of ranges have in common: a store, and what it should hold.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "engine/base/prng.h"
#include "tests/engine/store/store_harness.h"
#include "tests/engine/store/version_watcher.h"

namespace varve::testing {

class StoreRanges : public ::testing::Test {
 protected:
  StoreRanges() { options_ = SmallStoreOptions(); }

  static std::string KeyNumbered(uint64_t n) { return "key" + std::to_string(10'000 + n); }

  void Open() { ASSERT_TRUE(harness_.Open(options_).ok()); }
  void Put(uint64_t n, size_t bytes = 200) {
    const std::string value = std::to_string(written_++) + std::string(bytes, 'v');
    ASSERT_TRUE(harness_.Put(KeyNumbered(n), value).ok());
    state_[KeyNumbered(n)] = value;
  }
  void DeleteRange(uint64_t begin, uint64_t end, Durability durability = Durability::kInterval) {
    WriteBatch batch;
    batch.DeleteRange(KeyNumbered(begin), KeyNumbered(end));
    ASSERT_TRUE(harness_.Write(batch, durability).ok());
    state_.erase(state_.lower_bound(KeyNumbered(begin)), state_.lower_bound(KeyNumbered(end)));
  }
  void Fill(uint64_t keys) {
    for (uint64_t n = 0; n < keys; n++) {
      Put((n * 7919) % keys);
    }
    Settle();
  }
  void Settle() { ASSERT_TRUE(harness_.Run(harness_.store().Settle()).ok()); }
  void Wait(uint64_t nanos) { harness_.Run(SleepFor(nanos)); }
  void ExpectAll(uint64_t keys) {
    EXPECT_EQ(harness_.Scan(), state_);
    for (uint64_t n = 0; n < keys; n += 7) {
      const auto expected = state_.find(KeyNumbered(n));
      EXPECT_EQ(harness_.Get(KeyNumbered(n)),
                expected == state_.end() ? std::nullopt : std::optional(expected->second))
          << n;
    }
  }
  uint64_t entries() const { return watcher_.newest().totals().entries; }
  size_t tombstones() const {
    const RangeTombstones* const ranges = watcher_.newest().range_tombstones();
    return ranges == nullptr ? 0 : ranges->size();
  }
  // Memtables that were written out since the store was opened.
  uint64_t flushes() {
    const std::string json = harness_.store().StatisticsJson();
    const std::string name = R"("flush":{"jobs":)";
    return std::stoul(json.substr(json.find(name) + name.size()));
  }
  // Of the device, for a seek to the key by an iterator of its own.
  uint64_t ReadsOfSeek(uint64_t n) {
    const auto reads = [&]() -> uint64_t {
      return harness_.device().counters().by_purpose[static_cast<size_t>(IoPurpose::kUserRead)].reads;
    };
    const uint64_t before = reads();
    const std::unique_ptr<StoreIterator> it = harness_.store().NewIterator("", "", {.fill_cache = false});
    harness_.Finish(*it, it->Seek(KeyNumbered(n)));
    EXPECT_TRUE(it->Valid());
    EXPECT_EQ(it->key(), state_.lower_bound(KeyNumbered(n))->first);
    return reads() - before;
  }

  VersionWatcher watcher_;
  Prng random_{1};
  uint64_t written_ = 0;
  StoreOptions options_;
  StoreHarness harness_{{.installs = &watcher_}};
  State state_;

 private:
  static Task<void> SleepFor(uint64_t nanos) { co_await Executor::Current().Sleep(nanos); }
};

}  // namespace varve::testing
