// The store and its log: which of its segments may go, and what a sync may claim.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "engine/version/version_set.h"
#include "tests/engine/store/store_harness.h"

namespace varve::testing {
namespace {

// How many writes the device had when an edit first let go of a segment of the log.
class ReleaseWatch final : public InstallObserver {
 public:
  void OnInstalled(const std::shared_ptr<const Version>& /*version*/, const VersionEdit& edit) override {
    if (!edit.released_wal_segments.empty() && writes == 0) {
      writes = WritesTo(*device);
    }
  }
  static uint64_t WritesTo(const MemoryDevice& device) {
    uint64_t writes = 0;
    for (const IoCounters::OfPurpose& of : device.counters().by_purpose) {
      writes += of.writes.load();
    }
    return writes;
  }

  const MemoryDevice* device = nullptr;
  uint64_t writes = 0;
};

// More than a segment of the log; ends early when a write fails.
void WriteMoreThanASegment(StoreHarness& h) {
  StoreOptions options = SmallStoreOptions();
  options.memtable_bytes = kMiB;
  options.level0_tables_trigger = 1000;
  ASSERT_TRUE(h.Open(options).ok());
  for (int i = 0; i < 60 && h.Put("key" + std::to_string(i), std::string(256 * kKiB, 'v')).ok(); ++i) {
  }
}

TEST(StoreLog, ALogSegmentKeepsItsSpaceUntilTheEditThatFreesItIsDurable) {
  const auto options = [](ReleaseWatch& watch) {
    // So large that space is not short: then the log would keep it for itself.
    return HarnessOptions{.device_bytes = 2048 * kMiB, .installs = &watch};
  };
  ReleaseWatch watch;
  uint64_t before = 0;
  {
    StoreHarness h(options(watch));
    watch.device = &h.device();
    before = ReleaseWatch::WritesTo(h.device());
    WriteMoreThanASegment(h);
    ASSERT_GT(watch.writes, before);
  }
  // The same again, but that edit's record cannot be written.
  ReleaseWatch none;
  StoreHarness h(options(none));
  none.device = &h.device();
  h.device().FailWrite(watch.writes - before - 1);
  WriteMoreThanASegment(h);
  EXPECT_FALSE(h.store().read_only_reason().empty());
  EXPECT_EQ(none.writes, 0U);
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

// The device as it was when an edit first let go of a segment of the log, and what was durable by then.
class ReleaseCopy final : public InstallObserver {
 public:
  void OnInstalled(const std::shared_ptr<const Version>& /*version*/, const VersionEdit& edit) override {
    if (!edit.released_wal_segments.empty() && device != nullptr && copy == nullptr) {
      copy = device->Clone();
      puts_in_copy = puts;
    }
  }

  const MemoryDevice* device = nullptr;
  int puts = 0;
  std::unique_ptr<MemoryDevice> copy;
  int puts_in_copy = 0;
};

TEST(StoreLog, ALogSegmentStaysAsLongAsAYoungerMemtableNeedsIt) {
  ReleaseCopy watch;
  StoreHarness h({.device_bytes = 2048 * kMiB, .installs = &watch});
  StoreOptions options = SmallStoreOptions();
  options.memtable_bytes = kMiB;
  options.level0_tables_trigger = 1000;
  ASSERT_TRUE(h.Open(options).ok());
  watch.device = &h.device();
  // More than a segment: while flushes lag behind, one ends in the middle of a memtable.
  for (int i = 0; i < 120; ++i) {
    ASSERT_TRUE(h.Put("key" + std::to_string(i), std::string(128 * kKiB, 'v'), Durability::kDurable).ok());
    ++watch.puts;
  }
  watch.device = nullptr;
  ASSERT_NE(watch.copy, nullptr);
  StoreEnvironment environment{*watch.copy, h.clock(), h.logger(), {&h.executor()}, 1, nullptr};
  const Result<std::unique_ptr<Store>> opened = h.Run(OpenStore(std::move(environment), options));
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  for (int i = 0; i < watch.puts_in_copy; ++i) {
    const Store::Lookup found = h.Run((*opened)->Get("key" + std::to_string(i), {}));
    EXPECT_TRUE(found.ok() && found->has_value()) << i << " of " << watch.puts_in_copy;
  }
  EXPECT_TRUE(h.Run((*opened)->Close()).ok());
}

}  // namespace
}  // namespace varve::testing
