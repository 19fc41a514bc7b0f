// Outlines in a store: what walks show that read them, through merges of every kind.
#include <gtest/gtest.h>

#include "engine/store/check_store.h"
#include "engine/store/store_at_rest.h"
#include "engine/store/store_shape.h"
#include "tests/engine/store/store_harness.h"

namespace varve::testing {
namespace {

constexpr uint32_t kBytes = 10;

class NoProblems final : public CheckObserver {
 public:
  void OnProblem(StoreProblem problem) override { ADD_FAILURE() << problem.what; }
  void OnProgress(uint64_t /*done_bytes*/, uint64_t /*total_bytes*/) override {}
};

class StoreOutlines : public ::testing::Test {
 protected:
  static StoreOptions Options() {
    StoreOptions options = SmallStoreOptions();
    options.outlines = {"name", kBytes};
    return options;
  }
  static std::string KeyOf(uint64_t n) { return "name" + std::to_string(100'000 + n); }

  void Put(uint64_t n, size_t bytes) {
    std::string value = std::to_string(++writes_) + "-";
    value.resize(std::max(value.size(), bytes), 'v');
    ASSERT_TRUE(h_.Put(KeyOf(n), value).ok());
    expected_[KeyOf(n)] = value;
  }
  void Delete(uint64_t n) {
    ASSERT_TRUE(h_.Delete(KeyOf(n)).ok());
    expected_.erase(KeyOf(n));
  }

  void CheckWalk() {
    const auto it = h_.store().NewIterator("name", "namf", {.outlines = true});
    auto expected = expected_.begin();
    for (h_.Finish(*it, it->Seek("name")); it->Valid(); h_.Finish(*it, it->Next())) {
      ASSERT_NE(expected, expected_.end());
      ASSERT_EQ(it->key(), expected->first);
      ASSERT_GE(it->value().size(), std::min<size_t>(kBytes, expected->second.size()));
      ASSERT_TRUE(expected->second.starts_with(it->value())) << it->key();
      ++expected;
    }
    EXPECT_TRUE(it->status().ok()) << it->status().ToString();
    EXPECT_EQ(expected, expected_.end());
  }
  uint64_t ReadBytes() { return h_.device().counters().of(IoPurpose::kUserRead).read_bytes.load(); }
  uint64_t BytesOfAColdWalk() {
    EXPECT_TRUE(h_.Close().ok());
    EXPECT_TRUE(h_.Open(Options()).ok());
    const uint64_t before = ReadBytes();
    CheckWalk();
    return ReadBytes() - before;
  }
  void CheckAtRest() {
    ASSERT_TRUE(h_.Close().ok());
    NoProblems observer;
    EXPECT_TRUE(h_.Run(CheckStore(h_.device(), CheckDepth::kOrder, observer)).ok());
    ASSERT_TRUE(h_.Open(Options()).ok());
  }

  StoreHarness h_;
  State expected_;
  uint64_t writes_ = 0;
};

TEST_F(StoreOutlines, AColdWalkReadsIndexesAlone) {
  ASSERT_TRUE(h_.Open(Options()).ok());
  for (uint64_t n = 0; n < 3000; ++n) {
    Put(n, 1000);
  }
  ASSERT_TRUE(h_.Run(h_.store().Settle()).ok());
  EXPECT_LT(BytesOfAColdWalk(), 3'000'000u / 8);
}

// Blocks that merges leave in place, blocks of which they leave a part, and new ones.
TEST_F(StoreOutlines, WalksSeeTheNewestThroughMerges) {
  ASSERT_TRUE(h_.Open(Options()).ok());
  for (uint64_t n = 0; n < 3000; ++n) {
    Put(n, 1000);
  }
  for (uint64_t round = 0; round < 8; ++round) {
    for (uint64_t n = round; n < 3000; n += 61) {
      Put(n, 200 + 300 * (n % 4));
      Delete((n + 17) % 3000);
    }
    CheckWalk();
    ASSERT_TRUE(h_.Run(h_.store().Settle()).ok());
    CheckWalk();
    EXPECT_EQ(h_.Scan(), expected_);
    CheckAtRest();
  }
  // Most blocks have kept theirs.
  EXPECT_LT(BytesOfAColdWalk(), 3'000'000u * 2 / 3);
}

// A memtable grows only as far as space is promised for its table.
TEST(StoreOutlinesSpace, TablesTakeNoMoreThanIsPromised) {
  for (const size_t value_bytes : {400, 700, 1000, 2000}) {
    StoreOptions options = SmallStoreOptions();
    options.outlines = {"name", 18};
    StoreHarness h;
    ASSERT_TRUE(h.Open(options).ok());
    const StoreShape shape =
        ShapeOf(Layout::ForDevice(h.device().size_bytes()).value(), options, 4096, h.device().sector_bytes());
    uint64_t promised = 0;
    for (uint64_t n = 0; n < 2000; ++n) {
      WriteBatch batch;
      batch.Put("name" + std::string(60, 'n') + std::to_string(100'000 + n), std::string(value_bytes, 'v'));
      promised += shape.TableBytesOf(batch.bytes(), batch.count());
      ASSERT_TRUE(h.Write(batch).ok());
    }
    ASSERT_TRUE(h.Run(h.store().Settle()).ok());
    ASSERT_TRUE(h.Close().ok());
    uint64_t taken = 0;
    const StoreAtRest at_rest = h.Run(ReadStoreAtRest(h.device(), nullptr)).value();
    at_rest.manifest.version.ForEachTable(
        [&](const LiveTable& table) { taken += table.view().live_bytes() + table.view().meta_bytes(); });
    EXPECT_GT(taken, 2000 * value_bytes);
    EXPECT_LE(taken, promised) << value_bytes;
  }
}

}  // namespace
}  // namespace varve::testing
