// The store and its log: which of its segments may go, and what a sync may claim.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "engine/version/version_set.h"
#include "tests/engine/store/store_harness.h"

namespace varve::testing {
namespace {

// Does something when an edit first lets go of a segment of the log.
class FirstRelease final : public InstallObserver {
 public:
  void OnInstalled(const std::shared_ptr<const Version>& /*version*/, const VersionEdit& edit) override {
    if (!edit.released_wal_segments.empty() && then != nullptr) {
      std::exchange(then, nullptr)();
    }
  }

  std::function<void()> then;
};

// On a device so large that space is not short: then the log would keep its segments for itself.
HarnessOptions WatchedBy(FirstRelease& release) {
  return {.device_bytes = 2048 * kMiB, .installs = &release};
}

// A memtable is much smaller than a segment of the log, and nothing is merged.
StoreOptions OptionsForTheLog() {
  StoreOptions options = SmallStoreOptions();
  options.memtable_bytes = kMiB;
  options.level0_tables_trigger = 1000;
  return options;
}

uint64_t WritesTo(const MemoryDevice& device) {
  uint64_t writes = 0;
  for (const IoCounters::OfPurpose& of : device.counters().by_purpose) {
    writes += of.writes.load();
  }
  return writes;
}

// More than a segment of the log; ends early when a write fails. Durable now and then, else what memtables
// overtake would never come to the log.
void WriteMoreThanASegment(StoreHarness& h) {
  ASSERT_TRUE(h.Open(OptionsForTheLog()).ok());
  for (int i = 0; i < 60 && h.Put("key" + std::to_string(i), std::string(256 * kKiB, 'v')).ok(); ++i) {
    if (i % 4 == 3 && !h.Run(h.store().Sync()).ok()) {
      break;
    }
  }
}

TEST(StoreLog, ALogSegmentKeepsItsSpaceUntilTheEditThatFreesItIsDurable) {
  uint64_t before = 0;
  uint64_t writes = 0;
  {
    FirstRelease release;
    StoreHarness h(WatchedBy(release));
    release.then = [&] { writes = WritesTo(h.device()); };
    before = WritesTo(h.device());
    WriteMoreThanASegment(h);
    ASSERT_GT(writes, before);
  }
  // The same again, but that edit's record cannot be written.
  bool released = false;
  FirstRelease none;
  StoreHarness h(WatchedBy(none));
  none.then = [&] { released = true; };
  h.device().FailWrite(writes - before - 1);
  WriteMoreThanASegment(h);
  EXPECT_FALSE(h.store().read_only_reason().empty());
  EXPECT_FALSE(released);
  const std::string json = h.store().StatisticsJson();
  EXPECT_NE(json.find("\"released_bytes\":0,"), std::string::npos) << json;
  EXPECT_EQ(h.device().counters().discards.load(), 0U);
}

TEST(StoreLog, NoSyncClaimsWhatAFailedFlushOfAnotherPartHasLost) {
  int failed = 0;
  for (uint64_t later = 0; later < 60; ++later) {
    StoreHarness h;
    StoreOptions options = SmallStoreOptions();
    options.memtable_bytes = 512 * kKiB;
    ASSERT_TRUE(h.Open(options).ok());
    h.device().FailFlush(later);
    // Large enough that the log is written before it is synced, and that memtables are flushed meanwhile.
    int durable = 0;
    for (int i = 0; i < 40 && h.Put("key" + std::to_string(i), std::string(200 * kKiB, 'v')).ok(); ++i) {
      if (i % 3 == 2 && h.Run(h.store().Sync()).ok()) {
        durable = i + 1;
      }
    }
    failed += h.store().read_only_reason().empty() ? 0 : 1;
    h.Crash();
    ASSERT_TRUE(h.Open(options).ok());
    for (int i = 0; i < durable; ++i) {
      ASSERT_TRUE(h.Get("key" + std::to_string(i)).has_value())
          << "key " << i << " of " << durable << ", where flush " << later << " failed";
    }
    ASSERT_TRUE(h.Close().ok());
  }
  EXPECT_GE(failed, 20);
}

TEST(StoreLog, ALogSegmentStaysAsLongAsAYoungerMemtableNeedsIt) {
  int durable = 0;
  // The device as it was then, and what was durable on it.
  std::unique_ptr<MemoryDevice> copy;
  int durable_in_copy = 0;
  FirstRelease release;
  StoreHarness h(WatchedBy(release));
  ASSERT_TRUE(h.Open(OptionsForTheLog()).ok());
  release.then = [&] {
    copy = h.device().Clone();
    durable_in_copy = durable;
  };
  // More than a segment: while flushes lag behind, one ends in the middle of a memtable.
  for (; durable < 120; ++durable) {
    const std::string key = "key" + std::to_string(durable);
    ASSERT_TRUE(h.Put(key, std::string(128 * kKiB, 'v'), Durability::kDurable).ok());
  }
  release.then = nullptr;
  ASSERT_NE(copy, nullptr);
  StoreEnvironment environment{*copy, h.clock(), h.logger(), {&h.executor()}, 1, nullptr};
  const Result<std::unique_ptr<Store>> opened = h.Run(OpenStore(std::move(environment), OptionsForTheLog()));
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  for (int i = 0; i < durable_in_copy; ++i) {
    const Store::Lookup found = h.Run((*opened)->Get("key" + std::to_string(i), {}));
    EXPECT_TRUE(found.ok() && found->has_value()) << i << " of " << durable_in_copy;
  }
  EXPECT_TRUE(h.Run((*opened)->Close()).ok());
}

}  // namespace
}  // namespace varve::testing
