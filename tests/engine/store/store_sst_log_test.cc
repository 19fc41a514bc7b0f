// The store with SST-Logs: tables wait in them, everything is found all the same, and they come and go with
// the option.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/prng.h"
#include "engine/tree/space_bound.h"
#include "tests/engine/store/store_harness.h"
#include "tests/engine/store/version_watcher.h"

namespace varve::testing {
namespace {

// And what the tests ask about.
class Watcher final : public VersionWatcher {
 public:
  void OnInstalled(const std::shared_ptr<const Version>& version, const VersionEdit& edit) override {
    for (const VersionEdit::AddedTable& added : edit.added_tables) {
      if (added.place == Place{1, Part::kLog} && added.view.segments.size() == kSegmentsMax) {
        tree_when_full_came_ = std::min(tree_when_full_came_, newest().tree(1).totals().valid_bytes);
      }
    }
    VersionWatcher::OnInstalled(version, edit);
    most_ = std::max(most_, TablesInLogs());
    for (uint32_t level = 1; level < kLevels; level++) {
      deepest_ = std::max(deepest_, version->level(level).log_index.depth());
    }
    const bool within_log = edit.added_tables.size() == 1 &&
                            edit.added_tables.front().place.part == Part::kLog &&
                            edit.removed_tables.front().place.part == Part::kLog;
    if (within_log) {
      merged_there_++;
      segments_there_ = std::max(segments_there_, edit.added_tables.front().view.segments.size());
      return;
    }
    for (const VersionEdit::RemovedTable& removed : edit.removed_tables) {
      left_ += removed.place.part == Part::kLog ? 1 : 0;
    }
  }

  size_t TablesInLogs() const {
    size_t tables = 0;
    for (uint32_t level = 1; level < kLevels; level++) {
      tables += newest().level(level).log.size();
    }
    return tables;
  }
  size_t most() const { return most_; }
  size_t deepest() const { return deepest_; }
  size_t left() const { return left_; }
  // Tables that were merged with themselves in a Log, and the most segments that one had afterwards.
  size_t merged_there() const { return merged_there_; }
  size_t segments_there() const { return segments_there_; }
  // The least that Tree 1 held when a table with as many segments as it may have went into its Log.
  uint64_t tree_when_full_came() const { return tree_when_full_came_; }

 private:
  size_t most_ = 0;
  size_t deepest_ = 0;
  size_t left_ = 0;
  size_t merged_there_ = 0;
  size_t segments_there_ = 0;
  uint64_t tree_when_full_came_ = UINT64_MAX;
};

class StoreSstLog : public ::testing::Test {
 protected:
  StoreSstLog() {
    options_ = SmallStoreOptions();
    options_.techniques = Techniques::None();
    options_.techniques.sst_log = true;
    options_.sst_log_share = 0.5;
  }

  static std::string KeyNumbered(uint64_t n) { return "key" + std::to_string(10'000 + n); }

  // Half of them to a tenth of the keys.
  void Write(uint64_t writes, uint64_t keys, uint64_t deletes_percent = 10) {
    for (uint64_t i = 0; i < writes; i++) {
      const uint64_t n = random_.OneIn(2) ? random_.Below(keys / 10) : random_.Below(keys);
      const std::string key = KeyNumbered(n);
      if (random_.Below(100) < deletes_percent) {
        ASSERT_TRUE(harness_.Delete(key).ok());
        state_.erase(key);
      } else {
        const std::string value = std::to_string(i) + std::string(random_.Between(20, 300), 'v');
        ASSERT_TRUE(harness_.Put(key, value).ok());
        state_[key] = value;
      }
    }
  }
  void Settle() { ASSERT_TRUE(harness_.Run(harness_.store().Settle()).ok()); }
  void Reopen() {
    ASSERT_TRUE(harness_.Close().ok());
    watcher_.Forget();
    ASSERT_TRUE(harness_.Open(options_).ok());
  }
  void ExpectAll(uint64_t keys) {
    EXPECT_EQ(harness_.Scan(), state_);
    for (uint64_t n = 0; n < keys; n += 7) {
      const auto expected = state_.find(KeyNumbered(n));
      const std::optional<std::string> found = harness_.Get(KeyNumbered(n));
      EXPECT_EQ(found, expected == state_.end() ? std::nullopt : std::optional(expected->second)) << n;
    }
  }
  bool StatisticsHave(std::string_view text) {
    return harness_.store().StatisticsJson().find(text) != std::string::npos;
  }

  Watcher watcher_;
  Prng random_{1};
  StoreOptions options_;
  StoreHarness harness_{{.installs = &watcher_}};
  State state_;
};

TEST_F(StoreSstLog, TablesWaitThereAndEverythingIsFound) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  for (int round = 0; round < 3; round++) {
    Write(8'000, 4'000);
    Settle();
    ExpectAll(4'000);
    Reopen();
    ExpectAll(4'000);
  }
  EXPECT_GT(watcher_.most(), 4U);
  EXPECT_GT(watcher_.deepest(), 1U);
  EXPECT_GT(watcher_.left(), 10U) << "logs are never emptied";
}

TEST_F(StoreSstLog, TablesFullOfSegmentsWaitThereBeforeTheirLevelIsFull) {
  options_.techniques.append_merge = true;
  options_.techniques.block_merge = true;
  options_.memtable_bytes = 16 * kKiB;
  options_.level0_tables_trigger = 1;
  options_.level1_bytes = 128 * kKiB;
  ASSERT_TRUE(harness_.Open(options_).ok());
  for (int round = 0; round < 2; round++) {
    Write(24'000, 8'000);
    Settle();
    ExpectAll(8'000);
    Reopen();
  }
  ExpectAll(8'000);
  EXPECT_LT(watcher_.tree_when_full_came(), options_.level_ratio * options_.level1_bytes);
}

TEST_F(StoreSstLog, WhatTheLastLevelWastesMakesRoomForTheLog) {
  options_.techniques.append_merge = true;
  options_.memtable_bytes = 64 * kKiB;
  options_.table_bytes = 64 * kKiB;
  options_.level0_tables_trigger = 1;
  options_.level1_bytes = 64 * kKiB;
  options_.sst_log_share = 0.1;
  ASSERT_TRUE(harness_.Open(options_).ok());
  TreeConfig config;
  config.beyond_level_of_most_max = 0.44;
  bool had_to = false;
  for (int round = 0; round < 12; round++) {
    Write(8'000, 24'000, 0);
    had_to = had_to || TakesTooMuch(watcher_.newest(), config);
    Settle();
    EXPECT_FALSE(PickForSpaceBound(watcher_.newest(), config, {})) << round;
  }
  EXPECT_TRUE(had_to);
  ExpectAll(24'000);
}

TEST_F(StoreSstLog, TablesThatAreReadMuchAreMergedWithThemselvesWhereTheyLie) {
  options_.techniques.append_merge = true;
  options_.techniques.block_merge = true;
  options_.memtable_bytes = 16 * kKiB;
  options_.level0_tables_trigger = 1;
  options_.level1_bytes = 128 * kKiB;
  ASSERT_TRUE(harness_.Open(options_).ok());
  Write(24'000, 8'000);
  std::shared_ptr<const Snapshot> snapshot = harness_.store().GetSnapshot();
  const State then = state_;
  Write(6'000, 8'000);
  Settle();
  ASSERT_GT(watcher_.TablesInLogs(), 0U);
  for (int round = 0; round < 20; round++) {
    ExpectAll(8'000);
    Settle();
    EXPECT_EQ(harness_.Scan({}, {}, snapshot.get()), then);
    if (watcher_.merged_there() > 0 && round > 2) {
      break;
    }
  }
  EXPECT_GT(watcher_.merged_there(), 0U);
  EXPECT_EQ(watcher_.segments_there(), 1U);
  snapshot.reset();
  Reopen();
  ExpectAll(8'000);
  Write(6'000, 8'000);
  Settle();
  ExpectAll(8'000);
}

TEST_F(StoreSstLog, ASnapshotSeesThroughLogsWhatItSaw) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  Write(8'000, 4'000);
  const std::shared_ptr<const Snapshot> snapshot = harness_.store().GetSnapshot();
  const State then = state_;
  Write(16'000, 4'000, 30);
  Settle();
  EXPECT_EQ(harness_.Scan({}, {}, snapshot.get()), then);
  EXPECT_EQ(harness_.Scan(), state_);
  EXPECT_GT(watcher_.left(), 10U);
}

TEST_F(StoreSstLog, ALogIsEmptiedOnceItIsSwitchedOff) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  Write(16'000, 4'000);
  Settle();
  ASSERT_GT(watcher_.TablesInLogs(), 0U);
  options_.techniques.sst_log = false;
  Reopen();
  ExpectAll(4'000);
  ASSERT_TRUE(harness_.Put("one", "more").ok());
  state_["one"] = "more";
  Settle();
  EXPECT_EQ(watcher_.TablesInLogs(), 0U);
  ExpectAll(4'000);
}

TEST_F(StoreSstLog, NothingDeletedComesBackOutOfALog) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  Write(16'000, 4'000);
  Settle();
  ASSERT_GT(watcher_.TablesInLogs(), 0U);
  for (uint64_t n = 0; n < 4'000; n++) {
    ASSERT_TRUE(harness_.Delete(KeyNumbered(n)).ok());
    state_.erase(KeyNumbered(n));
  }
  Settle();
  ExpectAll(4'000);
  Reopen();
  ExpectAll(4'000);
}

TEST_F(StoreSstLog, TheMapOfHotKeysOutlivesACleanClose) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  EXPECT_TRUE(StatisticsHave("\"hot_map\":{"));
  EXPECT_TRUE(StatisticsHave("\"layers\":[{\"keys\":0,"));
  Write(4'000, 2'000);
  Settle();
  const auto layers = [&] {
    const std::string json = harness_.store().StatisticsJson();
    const size_t begin = json.find("\"layers\":[");
    return json.substr(begin, json.find(']', begin) - begin);
  };
  const std::string before = layers();
  EXPECT_EQ(before.find("\"layers\":[{\"keys\":0,"), std::string::npos) << before;
  Reopen();
  EXPECT_EQ(layers(), before);
  harness_.Crash();
  watcher_.Forget();
  ASSERT_TRUE(harness_.Open(options_).ok());
  EXPECT_TRUE(StatisticsHave("\"layers\":[{\"keys\":0,")) << "a crash leaves none";
}

TEST_F(StoreSstLog, TablesAreAsHotAsTheirKeys) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  for (int round = 0; round < 8; round++) {
    for (uint64_t n = 0; n < 400; n++) {
      ASSERT_TRUE(harness_.Put(KeyNumbered(n), std::string(100, 'h')).ok());
    }
    for (uint64_t n = 0; n < 400; n++) {
      const uint64_t cold = 1'000 + 400 * static_cast<uint64_t>(round) + n;
      ASSERT_TRUE(harness_.Put(KeyNumbered(cold), std::string(100, 'c')).ok());
    }
    Settle();
  }
  double hot = 0;
  double cold = 0;
  uint64_t hot_entries = 0;
  uint64_t cold_entries = 0;
  watcher_.newest().ForEachTable([&](const LiveTable& table) {
    const bool is_hot = table.largest_key() < KeyNumbered(400);
    const bool is_cold = table.smallest_key() >= KeyNumbered(1'000);
    hot += is_hot ? static_cast<double>(table.hotness()) : 0;
    hot_entries += is_hot ? table.entries() : 0;
    cold += is_cold ? static_cast<double>(table.hotness()) : 0;
    cold_entries += is_cold ? table.entries() : 0;
  });
  ASSERT_GT(hot_entries, 0U);
  ASSERT_GT(cold_entries, 0U);
  EXPECT_GT(hot / static_cast<double>(hot_entries), 2 * cold / static_cast<double>(cold_entries));
}

}  // namespace
}  // namespace varve::testing
