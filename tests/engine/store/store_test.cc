// What the Store's contract says, one claim at a time.
#include "engine/store/store.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/store/check_store.h"
#include "tests/engine/store/store_harness.h"

namespace varve::testing {
namespace {

std::string KeyNumbered(int n) {
  return "key" + std::to_string(1000 + n);
}

// "k" is "v" in a table of which nothing is in memory.
void OpenWithColdKey(StoreHarness& h) {
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  ASSERT_TRUE(h.Put("k", "v").ok());
  ASSERT_TRUE(h.Run(h.store().Settle()).ok());
  ASSERT_TRUE(h.Close().ok());
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
}

constexpr uint64_t kNever = 1'000'000'000'000'000;

TEST(Store, PutIsReadBackFromMemoryAndFromTables) {
  StoreHarness h;
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  ASSERT_TRUE(h.Put("apple", "red").ok());
  EXPECT_EQ(h.Get("apple"), "red");
  ASSERT_TRUE(h.Run(h.store().Settle()).ok());
  EXPECT_EQ(h.Get("apple"), "red");
  EXPECT_EQ(h.Get("apples"), std::nullopt);
  ASSERT_TRUE(h.Delete("apple").ok());
  EXPECT_EQ(h.Get("apple"), std::nullopt);
}

TEST(Store, CloseLeavesNoLogAndTheNextOpenFindsEverything) {
  StoreHarness h;
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  for (int i = 0; i < 2000; i++) {
    ASSERT_TRUE(h.Put("key" + std::to_string(i), std::string(100, 'v')).ok());
  }
  const Status closed = h.Close();
  ASSERT_TRUE(closed.ok()) << closed.ToString();
  const uint64_t before = h.device().counters().of(IoPurpose::kRecovery).read_bytes;
  const Status opened = h.Open(SmallStoreOptions());
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  EXPECT_EQ(h.device().counters().of(IoPurpose::kRecovery).read_bytes, before);
  EXPECT_EQ(h.Scan().size(), 2000U);
}

TEST(Store, CloseIsIdempotent) {
  StoreHarness h;
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  ASSERT_TRUE(h.Put("a", "1").ok());
  EXPECT_TRUE(h.Run(h.store().Close()).ok());
  EXPECT_TRUE(h.Run(h.store().Close()).ok());
}

TEST(Store, AValueThatIsPinnedOutlivesItsOverwriteAndItsMemtable) {
  StoreHarness h;
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  ASSERT_TRUE(h.Put("k", "first").ok());
  std::optional<Store::Lookup> found = h.store().TryGet("k", {});
  ASSERT_TRUE(found && found->ok() && found->value());
  ASSERT_TRUE(h.Put("k", "second").ok());
  ASSERT_TRUE(h.Run(h.store().Settle()).ok());
  EXPECT_EQ(found->value()->bytes(), "first");
}

TEST(Store, ACachedKeyIsAnsweredWithoutATask) {
  StoreHarness h;
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  ASSERT_TRUE(h.Put("k", "v").ok());
  ASSERT_TRUE(h.Run(h.store().Settle()).ok());
  ASSERT_EQ(h.Get("k"), "v");
  const std::optional<Store::Lookup> found = h.store().TryGet("k", {});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->value()->bytes(), "v");
}

// Where nobody reads, a flush copies nothing; nor does it without a technique that leaves blocks where they
// are.
TEST(Store, WhatIsFlushedStaysCachedWhileThereAreReads) {
  for (const char technique : {'b', 'a', '-'}) {
    for (const int gets : {0, 5, 10}) {
      StoreHarness h;
      StoreOptions options = SmallStoreOptions();
      options.techniques = {.block_merge = technique == 'b', .append_merge = technique == 'a'};
      ASSERT_TRUE(h.Open(options).ok());
      for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 40; ++i) {
          ASSERT_TRUE(h.Put(KeyNumbered(i + 100 * round), "v").ok());
        }
        for (int i = 0; i < gets; ++i) {
          ASSERT_TRUE(h.Get(KeyNumbered(100 * round)).has_value());
        }
        ASSERT_TRUE(h.Run(h.store().Settle()).ok());
        EXPECT_EQ(h.store().TryGet(KeyNumbered(100 * round + 39), {}).has_value(),
                  gets == 10 && technique != '-')
            << gets << technique;
      }
    }
  }
}

TEST(Store, AnUnfinishedGetAnswersAsOfWhenItBegan) {
  StoreHarness h({.device_bytes = 64 * kMiB});
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  const auto put_all = [&](const std::string& value) {
    for (int i = 0; i < 400; ++i) {
      ASSERT_TRUE(h.Put(KeyNumbered(i), value).ok());
    }
    ASSERT_TRUE(h.Run(h.store().Settle()).ok());
  };
  put_all("old");
  ASSERT_TRUE(h.Close().ok());
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  std::string key = KeyNumbered(7);
  std::unique_ptr<Store::UnfinishedGet> present;
  ASSERT_FALSE(h.store().BeginGet(key, {}, present).has_value());
  std::unique_ptr<Store::UnfinishedGet> dropped;
  key = KeyNumbered(300);
  ASSERT_FALSE(h.store().BeginGet(key, {}, dropped).has_value());
  key = std::string(key.size(), '~');
  dropped.reset();
  // The tables that it looks into are merged away meanwhile, and more is written than the device holds: were
  // their space free, it would be written upon.
  const std::atomic<uint64_t>& flushed = h.device().counters().of(IoPurpose::kFlush).written_bytes;
  std::string newest;
  for (int round = 0; flushed < h.device().size_bytes(); ++round) {
    newest = std::string(2000, static_cast<char>('a' + round % 26));
    put_all(newest);
  }
  const Store::Lookup found = h.Run(present->Finish());
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->bytes(), "old");
  present.reset();
  EXPECT_EQ(h.Get(KeyNumbered(7)), newest);
}

TEST(Store, AnUnfinishedGetGoesOnFromEveryStageOfItsSearch) {
  StoreHarness h;
  StoreOptions options = SmallStoreOptions();
  options.level0_tables_trigger = 10;
  ASSERT_TRUE(h.Open(options).ok());
  const auto value_of = [](int i) { return std::to_string(i) + std::string(100, '.'); };
  // Two tables of level 0 over one range, of some blocks each: the older one has the even keys, the newer one
  // the odd ones.
  for (const int first : {0, 1}) {
    for (int i = first; i < 300; i += 2) {
      ASSERT_TRUE(h.Put(KeyNumbered(i), value_of(i)).ok());
    }
    ASSERT_TRUE(h.Run(h.store().Settle()).ok());
  }
  int unfinished = 0;
  for (int i = 0; i < 300; i += 7) {
    ASSERT_TRUE(h.Close().ok());
    ASSERT_TRUE(h.Open(options).ok());
    // What is in memory decides where the search stands: nothing, or what the search for another key has
    // read.
    for (int warm = 0; warm < i % 3; ++warm) {
      (void)h.Get(KeyNumbered((i + 150 + warm) % 300));
    }
    std::string key = KeyNumbered(i);
    std::unique_ptr<Store::UnfinishedGet> rest;
    std::optional<Store::Lookup> found = h.store().BeginGet(key, {}, rest);
    if (!found) {
      key.assign(key.size(), '~');
      ++unfinished;
      found = h.Run(rest->Finish());
    }
    ASSERT_TRUE(found->ok() && (*found)->has_value()) << i;
    EXPECT_EQ((**found)->bytes(), value_of(i));
    // A value may outlive its search, but nothing the store.
    found.reset();
  }
  EXPECT_GT(unfinished, 30);
}

TEST(Store, AnUnfinishedGetOfAnUnreadableBlockIsAnError) {
  StoreHarness h;
  ASSERT_NO_FATAL_FAILURE(OpenWithColdKey(h));
  std::unique_ptr<Store::UnfinishedGet> rest;
  ASSERT_FALSE(h.store().BeginGet("k", {}, rest).has_value());
  h.device().FailRead();
  EXPECT_TRUE(h.Run(rest->Finish()).Is(ErrorCode::kDeviceError));
  EXPECT_EQ(h.Get("k"), "v");
}

TEST(Store, AGetCountsOnceHoweverItIsAsked) {
  StoreHarness h;
  ASSERT_NO_FATAL_FAILURE(OpenWithColdKey(h));
  const auto counted = [&](std::string_view counts) {
    return h.store().StatisticsJson().find(counts) != std::string::npos;
  };
  ASSERT_FALSE(h.store().TryGet("k", {}).has_value());
  EXPECT_TRUE(counted(R"("gets":0,"gets_found":0,"gets_from_device":0,)"));
  std::unique_ptr<Store::UnfinishedGet> rest;
  ASSERT_FALSE(h.store().BeginGet("k", {}, rest).has_value());
  ASSERT_TRUE(h.Run(rest->Finish()).ok());
  rest.reset();
  EXPECT_TRUE(counted(R"("gets":1,"gets_found":1,"gets_from_device":1,)"));
  ASSERT_TRUE(h.store().BeginGet("k", {}, rest).has_value());
  EXPECT_EQ(rest, nullptr);
  ASSERT_TRUE(h.Run(h.store().Get("k", {})).ok());
  EXPECT_TRUE(counted(R"("gets":3,"gets_found":3,"gets_from_device":1,)"));
}

TEST(Store, WhatIsTooLargeIsRefusedAndNothingIsWritten) {
  StoreHarness h;
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  EXPECT_TRUE(h.Put(std::string(kKeyBytesMax + 1, 'k'), "v").Is(ErrorCode::kInvalidArgument));
  EXPECT_TRUE(h.Put("k", std::string(kValueBytesMax + 1, 'v')).Is(ErrorCode::kInvalidArgument));
  EXPECT_TRUE(h.Scan().empty());
  ASSERT_TRUE(h.Put(std::string(kKeyBytesMax, 'k'), std::string(kValueBytesMax, 'v')).ok());
  ASSERT_TRUE(h.Run(h.store().Settle()).ok());
  EXPECT_EQ(h.Get(std::string(kKeyBytesMax, 'k'))->size(), kValueBytesMax);
}

TEST(Store, ADurableWriteSurvivesAPowerFailureWithAllBeforeIt) {
  StoreHarness h;
  StoreOptions options;
  options.commit_interval_nanos = kNever;
  ASSERT_TRUE(h.Open(options).ok());
  ASSERT_TRUE(h.Put("a", "1").ok());
  ASSERT_TRUE(h.Put("b", "2", Durability::kDurable).ok());
  ASSERT_TRUE(h.Put("c", "3").ok());
  h.Crash();
  ASSERT_TRUE(h.Open(options).ok());
  EXPECT_EQ(h.Get("a"), "1");
  EXPECT_EQ(h.Get("b"), "2");
}

TEST(Store, WhatIsWrittenIsDurableWithinTheCommitIntervalThoughNothingElseHappens) {
  StoreHarness h;
  StoreOptions options;
  options.commit_interval_nanos = 1'000'000'000;
  ASSERT_TRUE(h.Open(options).ok());
  ASSERT_TRUE(h.Put("a", "1").ok());
  const uint64_t begin = h.clock().MonotonicNanos();
  while (h.clock().MonotonicNanos() < begin + options.commit_interval_nanos) {
    h.executor().RunReady();
    h.clock().Advance(10'000'000);
  }
  h.Crash();
  ASSERT_TRUE(h.Open(options).ok());
  EXPECT_EQ(h.Get("a"), "1");
}

TEST(Store, AnIdleStoreDoesNotWriteToTheLog) {
  StoreHarness h;
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  ASSERT_TRUE(h.Put("a", "1", Durability::kDurable).ok());
  for (int i = 0; i < 300; i++) {
    h.executor().RunReady();
    h.clock().Advance(10'000'000);
  }
  const uint64_t before = h.device().counters().of(IoPurpose::kWal).writes;
  for (int i = 0; i < 1000; i++) {
    h.executor().RunReady();
    h.clock().Advance(10'000'000);
  }
  EXPECT_EQ(h.device().counters().of(IoPurpose::kWal).writes, before);
}

TEST(Store, AFailedLogWriteMakesItReadOnlyWithAReasonAndReadsGoOn) {
  StoreHarness h;
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  ASSERT_TRUE(h.Put("a", "1", Durability::kDurable).ok());
  EXPECT_EQ(h.store().read_only_reason(), "");
  h.device().FailWrite();
  EXPECT_FALSE(h.Put("b", "2", Durability::kDurable).ok());
  EXPECT_TRUE(h.Put("c", "3").Is(ErrorCode::kReadOnly));
  EXPECT_NE(h.store().read_only_reason(), "");
  EXPECT_EQ(h.Get("a"), "1");
  EXPECT_FALSE(h.Close().ok());
  h.device().Heal();
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  EXPECT_EQ(h.Get("a"), "1");
  EXPECT_TRUE(h.Put("c", "3").ok());
}

TEST(Store, AFailedManifestWriteMakesItReadOnlyAndLosesNothingDurable) {
  StoreHarness h;
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  for (int i = 0; i < 300; i++) {
    ASSERT_TRUE(h.Put("key" + std::to_string(i), std::string(60, 'v')).ok());
  }
  ASSERT_TRUE(h.Run(h.store().Sync()).ok());
  h.device().DieAtWrite();
  EXPECT_FALSE(h.Run(h.store().Settle()).ok());
  EXPECT_NE(h.store().read_only_reason(), "");
  EXPECT_EQ(h.Scan().size(), 300U);
  EXPECT_FALSE(h.Close().ok());
  h.device().Heal();
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  EXPECT_EQ(h.Scan().size(), 300U);
}

TEST(Store, WritersThatWaitForADeadDeviceEndWithAnError) {
  for (const bool yields : {false, true}) {
    StoreHarness h({.device_yields = yields});
    ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
    h.device().DieAtWrite(20);
    Status last;
    for (int i = 0; i < 5000 && last.ok(); i++) {
      last = h.Put("key" + std::to_string(i), std::string(500, 'v'));
    }
    EXPECT_FALSE(last.ok());
    EXPECT_NE(h.store().read_only_reason(), "");
    EXPECT_TRUE(h.Put("a", "b").Is(ErrorCode::kReadOnly));
  }
}

TEST(Store, WhatAFailedFlushLeftInTheCacheAndAnOpenHasShownSurvivesThePower) {
  StoreHarness h;
  ASSERT_TRUE(h.Open({}).ok());
  // Large enough to be written before anybody waits: the sync is then a flush.
  const std::string value(kMiB, 'v');
  ASSERT_TRUE(h.Put("large", value, Durability::kInterval).ok());
  h.executor().RunReady();
  h.device().FailFlush();
  ASSERT_FALSE(h.Put("small", "v", Durability::kDurable).ok());
  (void)h.Close();
  h.device().Heal();
  ASSERT_TRUE(h.Open({}).ok());
  ASSERT_EQ(h.Get("large"), value);
  ASSERT_TRUE(h.Put("after", "v", Durability::kDurable).ok());
  h.Crash();
  const Status opened = h.Open({});
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  EXPECT_EQ(h.Get("large"), value);
  EXPECT_EQ(h.Get("after"), "v");
}

TEST(Store, AReadOnlyOpenOfACrashedStoreShowsItsLogAndWritesNothing) {
  StoreHarness h;
  StoreOptions options = SmallStoreOptions();
  ASSERT_TRUE(h.Open(options).ok());
  for (int i = 0; i < 1000; i++) {
    ASSERT_TRUE(h.Put("key" + std::to_string(i), std::string(60, 'v')).ok());
  }
  ASSERT_TRUE(h.Run(h.store().Sync()).ok());
  h.Crash();
  options.read_only = true;
  h.device().DieAtWrite();
  const Status opened = h.Open(options);
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  EXPECT_EQ(h.Scan().size(), 1000U);
  EXPECT_TRUE(h.Put("a", "b").Is(ErrorCode::kReadOnly));
  EXPECT_TRUE(h.Close().ok());
}

TEST(Store, AnUnreadableBlockIsAnErrorNotAnAnswer) {
  StoreHarness h;
  StoreOptions options = SmallStoreOptions();
  options.block_cache_bytes = 1;
  ASSERT_TRUE(h.Open(options).ok());
  ASSERT_TRUE(h.Put("k", "v").ok());
  ASSERT_TRUE(h.Run(h.store().Settle()).ok());
  h.device().FailRead();
  const Store::Lookup found = h.Run(h.store().Get("k", {}));
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code(), ErrorCode::kDeviceError);
}

TEST(Store, EveryBlockWrittenVerifies) {
  StoreHarness h;
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  for (int i = 0; i < 5000; i++) {
    ASSERT_TRUE(h.Put("key" + std::to_string(i * 7919 % 3000), std::string(100, 'v')).ok());
  }
  class Problems final : public CheckObserver {
   public:
    void OnProblem(StoreProblem problem) override { ADD_FAILURE() << problem.what; }
    void OnProgress(uint64_t /*done_bytes*/, uint64_t /*total_bytes*/) override {}
  } problems;
  // As a crash leaves it, log included; then after a close.
  ASSERT_TRUE(h.Run(h.store().Sync()).ok());
  const std::unique_ptr<MemoryDevice> copy = h.device().Clone();
  const Result<CheckSummary> crashed = h.Run(CheckStore(*copy, CheckDepth::kOrder, problems));
  ASSERT_TRUE(crashed.ok()) << crashed.ToString();
  EXPECT_TRUE(crashed->complete);
  ASSERT_TRUE(h.Close().ok());
  const Result<CheckSummary> closed = h.Run(CheckStore(h.device(), CheckDepth::kOrder, problems));
  ASSERT_TRUE(closed.ok()) << closed.ToString();
  EXPECT_GE(closed->entries, 3000U);
}

TEST(Store, StatisticsAreOneJsonObjectWithEveryPart) {
  StoreHarness h;
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  ASSERT_TRUE(h.Put("k", "v").ok());
  const std::string json = h.store().StatisticsJson();
  EXPECT_EQ(json.front(), '{');
  EXPECT_EQ(json.back(), '}');
  for (const char* part : {"operations", "latency_nanos", "stalls", "device", "compactions", "levels",
                           "cache", "space", "memtables", "wal"}) {
    EXPECT_NE(json.find('"' + std::string(part) + "\":"), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace varve::testing
