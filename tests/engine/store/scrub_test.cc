// A scrub of a store in use: what is damaged is found while writes go on, what is sound is not blamed.
#include "engine/store/scrub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "engine/space/layout.h"
#include "engine/store/store_at_rest.h"
#include "tests/engine/store/store_harness.h"

namespace varve::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Found final : public ScrubObserver {
 public:
  void OnProblem(StoreProblem problem) override {
    problems.push_back(problem.what);
    if (problem.keys) {
      keys.push_back(*problem.keys);
    }
  }
  void OnProgress(uint64_t done_bytes, uint64_t total_bytes) override { EXPECT_LE(done_bytes, total_bytes); }
  Task<Status> BeforeRead(uint64_t bytes) override {
    EXPECT_LE(bytes, kMiB + 8192);
    if (before_read) {
      co_return before_read();
    }
    co_return OkStatus();
  }

  std::vector<std::string> problems;
  std::vector<KeyRange> keys;
  std::function<Status()> before_read;
};

void Fill(StoreHarness& h) {
  ASSERT_TRUE(h.Open(SmallStoreOptions()).ok());
  for (int i = 0; i < 3000; i++) {
    ASSERT_TRUE(h.Put("key" + std::to_string(i * 7919 % 2000), std::string(100, 'v')).ok());
  }
  ASSERT_TRUE(h.Run(h.store().Settle()).ok());
}

Extent SomeTableExtent(StoreHarness& h) {
  const Result<StoreAtRest> store = h.Run(ReadStoreAtRest(h.device(), nullptr));
  Extent extent;
  store->manifest.version.ForEachTable(
      [&](const LiveTable& table) { extent = table.view().extents.front().extent; });
  return extent;
}

TEST(Scrub, FindsNothingInASoundStoreAndReadsAllOfIt) {
  StoreHarness h;
  Fill(h);
  Found found;
  const Result<ScrubSummary> scrubbed = h.Run(h.store().Scrub(found));
  ASSERT_TRUE(scrubbed.ok()) << scrubbed.ToString();
  EXPECT_THAT(found.problems, IsEmpty());
  EXPECT_GT(scrubbed->tables, 3U);
  EXPECT_GT(scrubbed->table_bytes, 2000U * 100);
}

TEST(Scrub, FindsADamagedBlockAndTheKeysThatItHeld) {
  StoreHarness h;
  Fill(h);
  h.device().Corrupt(SomeTableExtent(h).offset().value + 3, 1);
  Found found;
  const Result<ScrubSummary> scrubbed = h.Run(h.store().Scrub(found));
  ASSERT_TRUE(scrubbed.ok()) << scrubbed.ToString();
  EXPECT_EQ(scrubbed->problems, found.problems.size());
  ASSERT_FALSE(found.keys.empty());
  EXPECT_THAT(found.problems, Contains(HasSubstr("table")));
}

TEST(Scrub, FindsABadCopyOfTheSuperblockAndADamagedManifest) {
  StoreHarness h;
  Fill(h);
  h.device().Corrupt(kFirstSuperblockOffset + 100, 1);
  Found superblock;
  ASSERT_TRUE(h.Run(h.store().Scrub(superblock)).ok());
  EXPECT_THAT(superblock.problems, Contains(HasSubstr("superblock")));
  h.device().Corrupt(kFirstSuperblockOffset + 100, 1);
  const Result<StoreAtRest> store = h.Run(ReadStoreAtRest(h.device(), nullptr));
  h.device().Corrupt(store->superblock.manifest.extents[0].offset().value + 40, 1);
  Found manifest;
  ASSERT_TRUE(h.Run(h.store().Scrub(manifest)).ok());
  EXPECT_THAT(manifest.problems, Contains(HasSubstr("manifest")));
}

TEST(Scrub, TablesThatAreReplacedMeanwhileAreNoFault) {
  StoreHarness h;
  Fill(h);
  Found found;
  int writes = 0;
  found.before_read = [&]() {
    WriteBatch batch;
    batch.Put("key" + std::to_string(writes++ % 2000), std::string(400, 'w'));
    (void)h.store().TryWrite(batch, Durability::kInterval);
    return OkStatus();
  };
  uint64_t gone = 0;
  for (int round = 0; round < 30; ++round) {
    const Result<ScrubSummary> scrubbed = h.Run(h.store().Scrub(found));
    ASSERT_TRUE(scrubbed.ok()) << scrubbed.ToString();
    gone += scrubbed->tables_gone;
  }
  EXPECT_THAT(found.problems, IsEmpty());
  EXPECT_GT(gone, 0U);
}

TEST(Scrub, EndsWhenItsObserverSaysSo) {
  StoreHarness h;
  Fill(h);
  Found found;
  int reads = 0;
  found.before_read = [&reads]() { return ++reads == 5 ? Status(Cancelled("enough")) : OkStatus(); };
  EXPECT_TRUE(h.Run(h.store().Scrub(found)).Is(ErrorCode::kCancelled));
  EXPECT_EQ(reads, 5);
}

}  // namespace
}  // namespace varve::testing
