// The store with compaction buffers: they answer, they answer right, and they go when nobody needs them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/prng.h"
#include "tests/engine/store/store_harness.h"
#include "tests/engine/store/version_watcher.h"

namespace varve::testing {
namespace {

// And what the tests ask about.
class Watcher final : public VersionWatcher {
 public:
  void OnInstalled(const std::shared_ptr<const Version>& version, const VersionEdit& edit) override {
    VersionWatcher::OnInstalled(version, edit);
    if (version->totals().total_bytes > 0) {
      most_of_share_ = std::max(most_of_share_, static_cast<double>(version->buffer_bytes()) /
                                                    static_cast<double>(version->totals().total_bytes));
    }
    for (const VersionEdit::BufferElement& element : edit.buffer_elements) {
      views_ += element.view.has_value() ? 1 : 0;
    }
  }
  size_t views() const { return views_; }
  // Of all bytes in tables, the most that buffers held.
  double most_of_share() const { return most_of_share_; }

 private:
  size_t views_ = 0;
  double most_of_share_ = 0;
};

class StoreBuffer : public ::testing::Test {
 protected:
  StoreBuffer() {
    options_ = SmallStoreOptions();
    options_.techniques = Techniques::None();
    options_.techniques.compaction_buffer = true;
    options_.block_cache_bytes = 4 * kMiB;
    options_.buffer_share = 1;
    options_.buffer_hot_share = 0.3;
  }

  static constexpr uint64_t kKeys = 4'000;
  static std::string KeyNumbered(uint64_t n) { return "key" + std::to_string(10'000 + n); }

  // Writes all over, and between them gets of the first half of the keys, each of which must be right.
  void WriteAndRead(uint64_t writes, uint64_t deletes_percent = 10) {
    for (uint64_t i = 0; i < writes; i++) {
      const std::string key = KeyNumbered(random_.Below(kKeys));
      if (random_.Below(100) < deletes_percent) {
        ASSERT_TRUE(harness_.Delete(key).ok());
        state_.erase(key);
      } else {
        const std::string value = std::to_string(++values_) + std::string(random_.Between(20, 300), 'v');
        ASSERT_TRUE(harness_.Put(key, value).ok());
        state_[key] = value;
      }
      for (int reads = 0; reads < 3; reads++) {
        ExpectKey(random_.Below(kKeys / 2));
      }
    }
  }
  void ExpectKey(uint64_t n) {
    const auto expected = state_.find(KeyNumbered(n));
    const std::optional<std::string> found = harness_.Get(KeyNumbered(n));
    ASSERT_EQ(found, expected == state_.end() ? std::nullopt : std::optional(expected->second)) << n;
  }
  void ExpectAll() {
    EXPECT_EQ(harness_.Scan(), state_);
    for (uint64_t n = 0; n < kKeys; n++) {
      ExpectKey(n);
    }
  }
  void Settle() { ASSERT_TRUE(harness_.Run(harness_.store().Settle()).ok()); }
  void Reopen() {
    ASSERT_TRUE(harness_.Close().ok());
    watcher_.Forget();
    ASSERT_TRUE(harness_.Open(options_).ok());
  }
  uint64_t BufferAnswers() { return BufferAnswersOf(harness_.store()); }
  static uint64_t BufferAnswersOf(const Store& store) {
    const std::string json = store.StatisticsJson();
    const std::string name = "\"answered_by_buffer\":";
    uint64_t answers = 0;
    for (size_t at = json.find(name); at != std::string::npos; at = json.find(name, at)) {
      at += name.size();
      answers += std::stoull(json.substr(at));
    }
    return answers;
  }
  uint64_t UnreadMerges() {
    const std::string json = harness_.store().StatisticsJson();
    const std::string name = "\"unread_merges\":";
    const size_t at = json.find(name);
    EXPECT_NE(at, std::string::npos);
    return std::stoull(json.substr(at + name.size()));
  }
  // Lets so many trims happen.
  void PassTrims(int trims) {
    for (int i = 0; i < trims; i++) {
      harness_.Run([](uint64_t nanos) -> Task<bool> {
        co_await Executor::Current().Sleep(nanos);
        co_return true;
      }(options_.buffer_trim_interval_nanos + 1'000'000));
    }
  }

  Watcher watcher_;
  Prng random_{1};
  StoreOptions options_;
  StoreHarness harness_{{.installs = &watcher_}};
  State state_;
  uint64_t values_ = 0;
};

TEST_F(StoreBuffer, BuffersAnswerAsTheLevelsWould) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  for (int round = 0; round < 3; round++) {
    WriteAndRead(5'000);
    ExpectAll();
    Settle();
    ExpectAll();
    EXPECT_GT(BufferAnswers(), 500U);
    Reopen();
    ExpectAll();
  }
  EXPECT_GT(watcher_.views(), 20U);
}

TEST_F(StoreBuffer, TheyAnswerRightBesideEveryOtherTechnique) {
  options_.techniques.block_merge = true;
  options_.techniques.append_merge = true;
  options_.techniques.sst_log = true;
  options_.sst_log_share = 0.5;
  ASSERT_TRUE(harness_.Open(options_).ok());
  for (int round = 0; round < 2; round++) {
    WriteAndRead(6'000);
    ExpectAll();
    Settle();
    ExpectAll();
    PassTrims(2);
    ExpectAll();
  }
  EXPECT_GT(watcher_.views(), 20U);
  EXPECT_GT(BufferAnswers(), 500U);
}

TEST_F(StoreBuffer, ASnapshotSeesThroughBuffersWhatItSaw) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  WriteAndRead(5'000);
  const std::shared_ptr<const Snapshot> snapshot = harness_.store().GetSnapshot();
  const State then = state_;
  WriteAndRead(6'000, 30);
  ASSERT_GT(BufferAnswers(), 500U);
  for (uint64_t n = 0; n < kKeys; n++) {
    const auto expected = then.find(KeyNumbered(n));
    const std::optional<std::string> found = harness_.Get(KeyNumbered(n), snapshot.get());
    ASSERT_EQ(found, expected == then.end() ? std::nullopt : std::optional(expected->second)) << n;
  }
  EXPECT_EQ(harness_.Scan({}, {}, snapshot.get()), then);
}

// Two stores with one history, of which one has no buffers.
TEST_F(StoreBuffer, EverySnapshotSeesThroughBuffersWhatItSeesWithoutThem) {
  for (const bool others : {false, true}) {
    options_.techniques.block_merge = others;
    options_.techniques.append_merge = others;
    options_.techniques.sst_log = others;
    StoreOptions plain_options = options_;
    plain_options.techniques.compaction_buffer = false;
    StoreHarness buffered{{.installs = &watcher_}};
    StoreHarness plain;
    uint64_t answers = 0;
    const auto each = [&](const auto& call) {
      call(buffered, options_);
      call(plain, plain_options);
    };
    each([](StoreHarness& harness, const StoreOptions& options) { ASSERT_TRUE(harness.Open(options).ok()); });
    for (int restart = 0; restart < 4; restart++) {
      std::vector<std::shared_ptr<const Snapshot>> snapshots;
      std::vector<std::shared_ptr<const Snapshot>> plain_snapshots;
      for (int round = 0; round < 5; round++) {
        snapshots.push_back(buffered.store().GetSnapshot());
        plain_snapshots.push_back(plain.store().GetSnapshot());
        for (int i = 0; i < 1'500; i++) {
          const std::string key = KeyNumbered(random_.Below(kKeys));
          const std::string value = std::to_string(++values_) + std::string(random_.Between(20, 300), 'v');
          const bool deletes = random_.Below(100) < 20;
          each([&](StoreHarness& harness, const StoreOptions&) {
            ASSERT_TRUE((deletes ? harness.Delete(key) : harness.Put(key, value)).ok());
          });
          for (int reads = 0; reads < 3; reads++) {
            const std::string read = KeyNumbered(random_.Below(kKeys / 2));
            const size_t at = random_.Below(snapshots.size() + 1);
            const bool now = at == snapshots.size();
            ASSERT_EQ(buffered.Get(read, now ? nullptr : snapshots[at].get()),
                      plain.Get(read, now ? nullptr : plain_snapshots[at].get()))
                << read << " in snapshot " << at << ", restart " << restart;
          }
        }
      }
      for (uint64_t n = 0; n < kKeys; n++) {
        const std::string key = KeyNumbered(n);
        ASSERT_EQ(buffered.Get(key), plain.Get(key)) << key;
        for (size_t i = 0; i < snapshots.size(); i++) {
          ASSERT_EQ(buffered.Get(key, snapshots[i].get()), plain.Get(key, plain_snapshots[i].get()))
              << key << " in snapshot " << i << ", restart " << restart;
        }
      }
      answers += BufferAnswersOf(buffered.store());
      snapshots.clear();
      plain_snapshots.clear();
      watcher_.Forget();
      each([&](StoreHarness& harness, const StoreOptions& options) {
        if (restart % 2 == 0) {
          ASSERT_TRUE(harness.Run(harness.store().Sync()).ok());
          harness.Crash();
        } else {
          ASSERT_TRUE(harness.Close().ok());
        }
        ASSERT_TRUE(harness.Open(options).ok());
      });
      for (uint64_t n = 0; n < kKeys; n++) {
        ASSERT_EQ(buffered.Get(KeyNumbered(n)), plain.Get(KeyNumbered(n))) << n << ", restart " << restart;
      }
    }
    EXPECT_GT(answers, 5'000U) << "others: " << others;
  }
}

TEST_F(StoreBuffer, AStoreOpensWithEmptyOnesAfterACrashToo) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  WriteAndRead(5'000);
  ASSERT_GT(watcher_.newest().buffer_bytes(), 0U);
  ASSERT_TRUE(harness_.Run(harness_.store().Sync()).ok());
  harness_.Crash();
  watcher_.Forget();
  ASSERT_TRUE(harness_.Open(options_).ok());
  EXPECT_NE(harness_.store().StatisticsJson().find("\"compaction_buffer\":{\"bytes\":0,"), std::string::npos);
  ExpectAll();
  WriteAndRead(3'000);
  ExpectAll();
}

TEST_F(StoreBuffer, WhatIsOnlyWrittenIsNotBuffered) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  for (uint64_t i = 0; i < 20'000; i++) {
    ASSERT_TRUE(harness_.Put(KeyNumbered(random_.Below(kKeys)), std::string(200, 'w')).ok());
  }
  EXPECT_EQ(watcher_.views(), 0U);
  EXPECT_EQ(watcher_.newest().buffer_bytes(), 0U);
}

// All of the data is cached, and nobody asks for it any more.
TEST_F(StoreBuffer, MergesLongAfterTheLastReaderNeitherCarryNorBuffer) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  WriteAndRead(5'000);
  EXPECT_EQ(UnreadMerges(), 0U);
  for (uint64_t i = 0; i < 5'000; i++) {
    ASSERT_TRUE(harness_.Put(KeyNumbered(i % kKeys), std::string(200, 'w')).ok());
  }
  EXPECT_GT(UnreadMerges(), 0U);
  const size_t views = watcher_.views();
  const uint64_t unread = UnreadMerges();
  for (uint64_t i = 0; i < 5'000; i++) {
    ASSERT_TRUE(harness_.Put(KeyNumbered(random_.Below(kKeys)), std::string(200, 'x')).ok());
  }
  Settle();
  EXPECT_EQ(watcher_.views(), views);
  EXPECT_GT(UnreadMerges(), unread);
}

// Walks use what merges carry and ask no view.
TEST_F(StoreBuffer, NothingIsBufferedForWalks) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  for (uint64_t i = 0; i < 8'000; i++) {
    ASSERT_TRUE(harness_.Put(KeyNumbered(random_.Below(kKeys)), std::string(200, 'v')).ok());
    if (i % 20 == 0) {
      harness_.Scan();
    }
  }
  Settle();
  EXPECT_EQ(watcher_.views(), 0U);
  EXPECT_EQ(UnreadMerges(), 0U);
}

TEST_F(StoreBuffer, WhatIsNotReadAnyMoreIsTrimmedAway) {
  options_.block_cache_bytes = 512 * kKiB;
  ASSERT_TRUE(harness_.Open(options_).ok());
  WriteAndRead(5'000);
  ASSERT_GT(watcher_.newest().buffer_bytes(), 0U);
  // Other keys take the cache.
  for (uint64_t i = 0; i < 6'000; i++) {
    ASSERT_TRUE(harness_.Put("other" + std::to_string(i), std::string(300, 'o')).ok());
  }
  Settle();
  for (int round = 0; round < 3; round++) {
    for (uint64_t i = 0; i < 6'000; i++) {
      (void)harness_.Get("other" + std::to_string(i));
    }
  }
  PassTrims(3);
  EXPECT_EQ(watcher_.newest().buffer_bytes(), 0U) << watcher_.newest().BuffersToString();
  for (uint64_t n = 0; n < kKeys; n++) {
    ExpectKey(n);
  }
}

TEST_F(StoreBuffer, BuffersStayWithinTheirShare) {
  options_.buffer_share = 0.05;
  ASSERT_TRUE(harness_.Open(options_).ok());
  WriteAndRead(8'000);
  EXPECT_GT(watcher_.views(), 5U);
  EXPECT_LE(watcher_.most_of_share(), 0.06) << "what shares a moment with a merge may shrink under it";
}

TEST(StoreBufferOfASmallDevice, BuffersGoBeforeAWriterIsRefused) {
  Watcher watcher;
  StoreHarness harness({.device_bytes = 64 * kMiB, .installs = &watcher});
  StoreOptions options;
  options.techniques = Techniques::None();
  options.techniques.compaction_buffer = true;
  options.block_cache_bytes = 32 * kMiB;
  options.buffer_share = 1;
  options.buffer_hot_share = 0;
  options.buffer_trim_interval_nanos = uint64_t{1} << 60;  // never
  options.table_bytes = 256 * kKiB;
  options.level1_bytes = 1 * kMiB;
  options.level_ratio = 40;  // level 2 keeps what it has
  ASSERT_TRUE(harness.Open(options).ok());
  // Until much is buffered of the first keys. The others lie apart: they make no hole over it.
  bool first = true;
  std::vector<std::string> keys;
  Status written;
  while (written.ok()) {
    keys.push_back((first ? "a" : "b") + std::to_string(keys.size() * 7919 % 1'000'003));
    written = harness.Put(keys.back(), std::string(4'000, 'v'));
    if (first) {
      // Cached when it is merged.
      (void)harness.Get(keys[keys.size() / 2]);
      (void)harness.Get(keys.back());
      first = watcher.newest().level(2).buffer.total_bytes() < 512 * kKiB;
    }
  }
  EXPECT_FALSE(first);
  EXPECT_TRUE(written.Is(ErrorCode::kNoSpace)) << written.ToString();
  EXPECT_EQ(watcher.newest().buffer_bytes(), 0U);
  keys.pop_back();
  for (const std::string& key : keys) {
    ASSERT_TRUE(harness.Get(key).has_value()) << key;
  }
}

TEST_F(StoreBuffer, WithoutTheTechniqueThereAreNone) {
  options_.techniques.compaction_buffer = false;
  ASSERT_TRUE(harness_.Open(options_).ok());
  WriteAndRead(3'000);
  EXPECT_EQ(watcher_.views(), 0U);
  EXPECT_EQ(BufferAnswers(), 0U);
}

}  // namespace
}  // namespace varve::testing
