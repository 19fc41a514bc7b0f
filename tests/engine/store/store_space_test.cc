// A full device: what was written stays, deletes work, and then writes work again.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>

#include "engine/base/coding.h"
#include "engine/base/prng.h"
#include "engine/ring/spawn_on.h"
#include "engine/store/check_store.h"
#include "tests/engine/store/store_harness.h"

namespace varve::testing {
namespace {

std::string Key(uint64_t n) {
  return "file" + std::to_string(n * 7919 % 1'000'003) + "/" + std::to_string(n);
}

std::string Value(uint64_t n, uint64_t round) {
  Prng random(n * 1000 + round);
  std::string value(2000 + random.Below(4000), '\0');
  for (size_t i = 0; i + sizeof(uint64_t) <= value.size(); i += sizeof(uint64_t)) {
    StoreFixed(value.data() + i, random.Next());
  }
  return value;
}

// Writes until the store is full; how many keys went in.
uint64_t Fill(StoreHarness& h, uint64_t round) {
  for (uint64_t n = 0;; n++) {
    const Status written = h.Put(Key(n), Value(n, round));
    if (written.Is(ErrorCode::kNoSpace)) {
      return n;
    }
    EXPECT_TRUE(written.ok()) << written.ToString();
    if (!written.ok()) {
      return n;
    }
  }
}

class Problems final : public CheckObserver {
 public:
  void OnProblem(StoreProblem problem) override { ADD_FAILURE() << problem.what; }
  void OnProgress(uint64_t /*done_bytes*/, uint64_t /*total_bytes*/) override {}
};

// Sectors, and whether merges mend and append, and are buffered.
class FullStore : public ::testing::TestWithParam<std::tuple<uint32_t, bool>> {
 protected:
  static uint32_t sector_bytes() { return std::get<0>(GetParam()); }
  static StoreOptions Options() {
    StoreOptions options;
    options.block_cache_bytes = 1 * kMiB;
    options.techniques.block_merge = std::get<1>(GetParam());
    options.techniques.append_merge = std::get<1>(GetParam());
    // With all that is merged kept: whoever needs the space must get it.
    options.techniques.compaction_buffer = std::get<1>(GetParam());
    options.buffer_share = 1;
    options.buffer_hot_share = 0;
    return options;
  }
};

TEST_P(FullStore, KeepsEverythingTakesDeletesAndThenWritesAgain) {
  StoreHarness h({.device_bytes = 64 * kMiB, .sector_bytes = sector_bytes(), .device_yields = true});
  const StoreOptions options = Options();
  ASSERT_TRUE(h.Open(options).ok());
  for (uint64_t round = 0; round < (sector_bytes() == 512 ? 10 : 3); round++) {
    SCOPED_TRACE("round " + std::to_string(round));
    const uint64_t keys = Fill(h, round);
    ASSERT_GT(keys, 4000U) << h.store().StatisticsJson();
    ASSERT_LT(keys, 20'000U);
    // Still refused, and still readable.
    EXPECT_TRUE(h.Put("one more", std::string(64 * kKiB, 'x')).Is(ErrorCode::kNoSpace));
    for (uint64_t n = 0; n < keys; n += round == 0 ? 1 : 37) {
      ASSERT_EQ(h.Get(Key(n)), Value(n, round)) << n;
    }
    if (round == 3) {
      const Status closed = h.Close();
      ASSERT_TRUE(closed.ok()) << closed.ToString();
      const Status opened = h.Open(options);
      ASSERT_TRUE(opened.ok()) << opened.ToString();
    }
    if (round == 5) {
      ASSERT_TRUE(h.Run(h.store().Sync()).ok());
      h.Crash();
      const Status opened = h.Open(options);
      ASSERT_TRUE(opened.ok()) << opened.ToString();
    }
    for (uint64_t n = 0; n < keys; n++) {
      const Status deleted = h.Delete(Key(n));
      ASSERT_TRUE(deleted.ok()) << n << ": " << deleted.ToString();
    }
    ASSERT_TRUE(h.Scan().empty());
  }
  ASSERT_TRUE(h.Close().ok());
  Problems problems;
  const Result<CheckSummary> checked = h.Run(CheckStore(h.device(), CheckDepth::kOrder, problems));
  ASSERT_TRUE(checked.ok()) << checked.ToString();
  EXPECT_TRUE(checked->complete);
}

// Each takes a sector of the log, and next to nothing of a memtable.
TEST_P(FullStore, TakesAnyNumberOfSyncedDeletesAndOpensAgain) {
  StoreHarness h({.device_bytes = 64 * kMiB, .sector_bytes = sector_bytes(), .device_yields = false});
  const StoreOptions options = Options();
  ASSERT_TRUE(h.Open(options).ok());
  const uint64_t tiny = 100 * kMiB / sector_bytes();
  for (uint64_t n = 0; n < tiny; n++) {
    ASSERT_TRUE(h.Put("tiny" + std::to_string(n), "x").ok());
  }
  Fill(h, 0);
  for (uint64_t n = 0; n < tiny; n++) {
    WriteBatch batch;
    batch.Delete("tiny" + std::to_string(n));
    const Status deleted = h.Write(batch, Durability::kDurable);
    ASSERT_TRUE(deleted.ok()) << n << ": " << deleted.ToString() << h.store().StatisticsJson();
  }
  EXPECT_TRUE(h.store().read_only_reason().empty());
  h.Crash();
  const Status opened = h.Open(options);
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  EXPECT_EQ(h.Get("tiny0"), std::nullopt);
  ASSERT_TRUE(h.Close().ok());
}

TEST_P(FullStore, OverwritingTheSameKeysForEverNeverFillsTheDevice) {
  StoreHarness h({.device_bytes = 64 * kMiB, .sector_bytes = sector_bytes(), .device_yields = true});
  const StoreOptions options = Options();
  ASSERT_TRUE(h.Open(options).ok());
  // A third of what fits, ten times over.
  for (uint64_t i = 0; i < 30'000; i++) {
    const Status written = h.Put(Key(i % 3000), Value(i % 3000, i / 3000));
    ASSERT_TRUE(written.ok()) << i << ": " << written.ToString() << h.store().StatisticsJson();
  }
  EXPECT_EQ(h.Scan().size(), 3000U);
  EXPECT_EQ(h.Get(Key(17)), Value(17, 9));
}

TEST_P(FullStore, SpaceThatAnIteratorPinsComesBackWhenItIsGone) {
  StoreHarness h({.device_bytes = 64 * kMiB, .sector_bytes = sector_bytes(), .device_yields = false});
  const StoreOptions options = Options();
  ASSERT_TRUE(h.Open(options).ok());
  const uint64_t keys = Fill(h, 0);
  std::unique_ptr<StoreIterator> it = h.store().NewIterator({}, {}, {});
  for (uint64_t n = 0; n < keys; n++) {
    ASSERT_TRUE(h.Delete(Key(n)).ok());
  }
  ASSERT_TRUE(h.Run(h.store().Settle()).ok());
  uint64_t seen = 0;
  for (h.Finish(*it, it->Seek("")); it->Valid(); h.Finish(*it, it->Next())) {
    seen++;
  }
  EXPECT_TRUE(it->status().ok()) << it->status().ToString();
  EXPECT_EQ(seen, keys);
  it.reset();
  EXPECT_GT(Fill(h, 1), keys / 2);
}

// Merges give nothing back while their inputs are held: they must not use up what deletes need.
TEST_P(FullStore, TakesDeletesWhileAReaderHoldsEverything) {
  StoreHarness h({.device_bytes = 64 * kMiB, .sector_bytes = sector_bytes(), .device_yields = false});
  const StoreOptions options = Options();
  ASSERT_TRUE(h.Open(options).ok());
  const uint64_t keys = Fill(h, 0);
  const std::unique_ptr<StoreIterator> it = h.store().NewIterator({}, {}, {});
  for (uint64_t n = 0; n < keys; n++) {
    const Status written = h.Put(Key(n), Value(n, 1));
    ASSERT_TRUE(written.ok() || written.Is(ErrorCode::kNoSpace)) << written.ToString();
    const Status deleted = h.Delete(Key(n));
    ASSERT_TRUE(deleted.ok()) << n << ": " << deleted.ToString() << h.store().StatisticsJson();
  }
}

constexpr uint64_t kHeldNanos = 1'000'000'000;
constexpr uint64_t kForgottenNanos = 60'000'000'000;

Task<void> LetGoAfter(uint64_t nanos, std::unique_ptr<StoreIterator>& it) {
  co_await Executor::Current().Sleep(nanos);
  it.reset();
}

TEST_P(FullStore, AWriteWaitsForAReaderThatHoldsSpaceForAShortTime) {
  StoreHarness h({.device_bytes = 64 * kMiB, .sector_bytes = sector_bytes(), .device_yields = false});
  const StoreOptions options = Options();
  ASSERT_TRUE(h.Open(options).ok());
  const uint64_t keys = Fill(h, 0);
  const auto put_large = [&] { return h.Put("large", std::string(256 * kKiB, 'x')); };
  ASSERT_TRUE(put_large().Is(ErrorCode::kNoSpace));
  std::unique_ptr<StoreIterator> it = h.store().NewIterator({}, {}, {});
  SpawnOn(h.executor(), LetGoAfter(kHeldNanos, it));
  const uint64_t begin = h.clock().MonotonicNanos();
  for (uint64_t n = 0; n < keys; n++) {
    ASSERT_TRUE(h.Delete(Key(n)).ok());
  }
  // Most of it may have to wait for the reader, and all of it fits then.
  for (uint64_t n = 0; n < keys / 2; n++) {
    const Status written = h.Put(Key(n), Value(n, 1));
    ASSERT_TRUE(written.ok()) << n << ": " << written.ToString() << h.store().StatisticsJson();
  }
  EXPECT_EQ(it, nullptr);
  EXPECT_GE(h.clock().MonotonicNanos() - begin, kHeldNanos);

  // One that forgot itself is not waited for without end.
  Fill(h, 2);
  it = h.store().NewIterator({}, {}, {});
  for (uint64_t n = 0; n < keys; n++) {
    ASSERT_TRUE(h.Delete(Key(n)).ok());
  }
  Fill(h, 3);
  const uint64_t full = h.clock().MonotonicNanos();
  EXPECT_TRUE(put_large().Is(ErrorCode::kNoSpace));
  EXPECT_LT(h.clock().MonotonicNanos() - full, kForgottenNanos);
  // What it lets go of in the end is not free at once, and yet no reason to refuse.
  it.reset();
  EXPECT_TRUE(put_large().ok());
}

INSTANTIATE_TEST_SUITE_P(SectorsAndTechniques, FullStore,
                         ::testing::Combine(::testing::Values(512, 4096), ::testing::Bool()));

}  // namespace
}  // namespace varve::testing
