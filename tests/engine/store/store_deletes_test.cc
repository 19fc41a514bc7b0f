// The store with merges for deletes: deleted data goes by itself, and nothing that is deleted comes back.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/prng.h"
#include "tests/engine/store/store_with_state.h"

namespace varve::testing {
namespace {

class StoreDeletes : public StoreWithState {
 protected:
  StoreDeletes() {
    options_.techniques = Techniques::None();
    options_.techniques.delete_aware = true;
    options_.sst_log_share = 0.5;
  }

  void Delete(uint64_t n) {
    ASSERT_TRUE(harness_.Delete(KeyNumbered(n)).ok());
    state_.erase(KeyNumbered(n));
  }
  // Every other one deletes one of a hundred neighbours.
  void WriteAtRandom(uint64_t writes, uint64_t keys) {
    for (uint64_t i = 0; i < writes; i++) {
      if (i % 100 == 0) {
        near_ = random_.Below(keys - 100);
      }
      if (random_.OneIn(2)) {
        Delete(near_ + random_.Below(100));
      } else {
        Put(random_.Below(keys), random_.Between(20, 300));
      }
    }
  }
  uint64_t Statistic(std::string_view object, std::string_view name) {
    const std::string json = harness_.store().StatisticsJson();
    const size_t at =
        json.find("\"" + std::string(name) + "\":", json.find("\"" + std::string(object) + "\":{"));
    return std::stoull(json.substr(at + name.size() + 3));
  }

  uint64_t near_ = 0;
};

// Uniform gets keep the cache full of blocks that hardly anybody asks for again.
TEST_F(StoreDeletes, MergesFindWhatWasWrittenLastThoughReadersFillTheCache) {
  options_.block_cache_bytes = 384 * kKiB;
  const auto read_share = [&](bool with_deletes) {
    options_.techniques.delete_aware = with_deletes;
    StoreHarness harness;
    EXPECT_TRUE(harness.Open(options_).ok());
    const auto read_by_merges = [&] {
      return harness.device().counters().of(IoPurpose::kCompaction).read_bytes.load();
    };
    Prng random{1};
    uint64_t before = 0;
    for (uint64_t i = 0; i < 60'000; i++) {
      EXPECT_TRUE(harness.Put(KeyNumbered(random.Below(10'000)), std::string(300, 'v')).ok());
      if (i % 8 == 0) {
        (void)harness.Get(KeyNumbered(random.Below(10'000)));
      }
      before = i == 20'000 ? read_by_merges() : before;
    }
    const std::string json = harness.store().StatisticsJson();
    EXPECT_EQ(json.find("\"cache_reserved_bytes\":") != std::string::npos, with_deletes);
    EXPECT_EQ(json.find("\"cache_reserved_bytes\":0"), std::string::npos) << json;
    return read_by_merges() - before;
  };
  const uint64_t with = read_share(true);
  const uint64_t without = read_share(false);
  EXPECT_LT(with, without * 3 / 4);
}

// Tables that no merge of a load in order reads move down one level after the other.
TEST_F(StoreDeletes, WhatMovesFarDownIsKeptForNoMerge) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  for (uint64_t n = 0; n < 10'000; n++) {
    Put(n);
  }
  Settle();
  const Version& version = watcher_.newest();
  const uint64_t above = version.totals(0).valid_bytes + version.totals(1).valid_bytes;
  EXPECT_GT(Statistic("delete_adaptation", "cache_reserved_bytes"), 0u);
  EXPECT_LE(Statistic("written", "charged_bytes"), above + above / 4);
}

// It waits for more tables than the trigger says, though only for those that come.
TEST_F(StoreDeletes, Level0WaitsNoLongerWhenUsersDo) {
  options_.techniques.append_merge = true;
  options_.level0_tables_trigger = 2;
  ASSERT_TRUE(harness_.Open(options_).ok());
  Fill(10'000);
  size_t most = 0;
  for (uint64_t i = 0; i < 20'000; i++) {
    Put(random_.Below(10'000));
    most = std::max(most, watcher_.newest().level0().size());
  }
  EXPECT_GT(most, 4U);
  Settle();
  EXPECT_LT(watcher_.newest().level0().size(), 4U);
  ExpectAll(10'000);
}

TEST_F(StoreDeletes, WhatARangeOfDeletesHidesIsGoneOnceTheStoreHasSettled) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  Fill(4'000);
  const uint64_t before = watcher_.newest().totals().valid_bytes;
  for (uint64_t n = 1'000; n < 3'000; n++) {
    Delete(n);
  }
  Settle();
  const TableTotals after = watcher_.newest().totals();
  EXPECT_GT(Statistic("merges_for_deletes", "jobs"), 0U);
  EXPECT_LT(after.valid_bytes, before * 6 / 10);
  EXPECT_LT(after.tombstones, 200U);
  ExpectAll(4'000);
}

TEST_F(StoreDeletes, WithoutTheTechniqueItWaits) {
  options_.techniques.delete_aware = false;
  ASSERT_TRUE(harness_.Open(options_).ok());
  Fill(4'000);
  for (uint64_t n = 1'000; n < 3'000; n++) {
    Delete(n);
  }
  Settle();
  EXPECT_EQ(Statistic("merges_for_deletes", "jobs"), 0U);
  EXPECT_EQ(Statistic("merges_for_deletes", "tombstones_removed_early"), 0U);
  ExpectAll(4'000);
}

TEST_F(StoreDeletes, WhatIsWrittenAndSoonDeletedLeavesHardlyAnything) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  Fill(4'000);
  for (int round = 0; round < 20; round++) {
    for (uint64_t n = 0; n < 200; n++) {
      ASSERT_TRUE(harness_.Put(KeyNumbered(n * 20) + "temporary", std::string(100, 't')).ok());
    }
    for (uint64_t n = 0; n < 200; n++) {
      ASSERT_TRUE(harness_.Delete(KeyNumbered(n * 20) + "temporary").ok());
    }
  }
  Settle();
  // Memtables are switched in the middle of it: some tombstones have something to hide.
  EXPECT_GT(Statistic("merges_for_deletes", "tombstones_removed_early"), 500U);
  EXPECT_LT(watcher_.newest().totals().tombstones, 400U);
  ExpectAll(4'000);
}

TEST_F(StoreDeletes, ASnapshotKeepsWhatItSeesAndWhenItIsGoneTheRestGoes) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  Fill(3'000);
  std::shared_ptr<const Snapshot> snapshot = harness_.store().GetSnapshot();
  const State then = state_;
  for (uint64_t n = 500; n < 2'500; n++) {
    Delete(n);
  }
  Settle();
  EXPECT_EQ(harness_.Scan({}, {}, snapshot.get()), then);
  ExpectAll(3'000);
  const uint64_t held = watcher_.newest().totals().valid_bytes;
  snapshot.reset();
  Put(1);
  Settle();
  EXPECT_LT(watcher_.newest().totals().valid_bytes, held * 7 / 10);
  ExpectAll(3'000);
}

Task<void> SleepFor(uint64_t nanos) {
  co_await Executor::Current().Sleep(nanos);
}

TEST_F(StoreDeletes, ReadersThatStepOverManyTombstonesHaveThemMergedAway) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  for (uint64_t n = 0; n < 3'000; n++) {
    Put(n, 20);
  }
  Settle();
  // So few and so small that they would wait in the memtable.
  for (uint64_t n = 1'000; n < 1'400; n++) {
    Delete(n);
  }
  harness_.Run(SleepFor(3'000'000'000));
  ASSERT_EQ(watcher_.newest().totals().tombstones, 0U);
  for (int seek = 0; seek < 5; seek++) {
    const std::unique_ptr<StoreIterator> it = harness_.store().NewIterator({}, {}, {});
    harness_.Finish(*it, it->Seek(KeyNumbered(1'000)));
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(it->key(), KeyNumbered(1'400));
  }
  harness_.Run(SleepFor(3'000'000'000));
  EXPECT_EQ(watcher_.newest().totals().tombstones, 0U);
  EXPECT_EQ(watcher_.newest().totals().entries, state_.size());
  ExpectAll(3'000);
}

// A store of its own for each range.
class RangeOfDeletes : public StoreDeletes {
 public:
  // What is left of 800 deleted records and their tombstones after three seconds.
  uint64_t EntriesLeftOf(uint64_t first) {
    EXPECT_TRUE(harness_.Open(options_).ok());
    Fill(4'000);
    // 200 bytes hidden by each; together as much as five memtables, in one.
    for (uint64_t n = first; n < first + 800; n++) {
      Delete(n);
    }
    harness_.Run(SleepFor(3'000'000'000));
    ExpectAll(4'000);
    return watcher_.newest().totals().entries - state_.size();
  }

 private:
  void TestBody() override {}
};

TEST(StoreDeletesOfRanges, AMemtableThatHidesMoreThanItHoldsIsWrittenOut) {
  // Where tables happen to end decides whether the last tombstones pay: a fourth may wait, over all.
  uint64_t left = 0;
  for (uint64_t first = 200; first <= 3'200; first += 300) {
    left += RangeOfDeletes().EntriesLeftOf(first);
  }
  EXPECT_LT(left, 11 * 200U);
}

TEST_F(StoreDeletes, NothingComesBackWhateverOtherTechniquesAreOn) {
  for (int round = 0; round < 12; round++) {
    options_.techniques.block_merge = random_.OneIn(2);
    options_.techniques.append_merge = random_.OneIn(2);
    options_.techniques.sst_log = random_.OneIn(2);
    options_.techniques.delete_aware = !random_.OneIn(4);
    options_.techniques.monkey = random_.OneIn(2);
    watcher_.Forget();
    ASSERT_TRUE(harness_.Open(options_).ok());
    WriteAtRandom(3'000, 3'000);
    std::shared_ptr<const Snapshot> snapshot = harness_.store().GetSnapshot();
    const State then = state_;
    WriteAtRandom(3'000, 3'000);
    Settle();
    ExpectAll(3'000);
    EXPECT_EQ(harness_.Scan({}, {}, snapshot.get()), then);
    snapshot.reset();
    ASSERT_TRUE(harness_.Close().ok());
  }
}

// Thresholds that follow what is done, on a store whose sizes let them.
class StoreAdaptation : public StoreDeletes {
 protected:
  static constexpr uint64_t kKeys = 4'000;
  static constexpr double kLevel0TablesFirst = 16;

  StoreAdaptation() { options_.level0_tables_trigger = 0; }

  std::string Adaptation() {
    const std::string json = harness_.store().StatisticsJson();
    const size_t at = json.find("\"delete_adaptation\":");
    return at == std::string::npos ? "" : json.substr(at, json.find("}}", at) - at);
  }
  double Threshold(std::string_view name) {
    const std::string json = Adaptation();
    const size_t at = json.find("\"" + std::string(name) + "\":");
    EXPECT_NE(at, std::string::npos) << name;
    return std::stod(json.substr(at + name.size() + 3));
  }
  // A window and some: memtables of 32 KiB. One record in twenty is deleted.
  void Write() {
    for (uint64_t i = 0; i < 4'000; i++) {
      if (i % 20 == 0) {
        Delete(random_.Below(kKeys));
      } else {
        Put(random_.Below(kKeys));
      }
    }
    Settle();
  }
  void WriteAndScan() {
    for (uint64_t i = 0; i < 4'000; i++) {
      Put(random_.Below(kKeys));
      if (i % 40 == 0) {
        Delete(random_.Below(kKeys));
        EXPECT_EQ(harness_.Scan(), state_);
      }
    }
    Settle();
  }
};

TEST_F(StoreAdaptation, ThresholdsFollowAMixThatShiftsAndComeBack) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  EXPECT_EQ(Threshold("level0_tables"), kLevel0TablesFirst);
  const double reclaim_min = Threshold("reclaim_min");
  Fill(kKeys);
  for (int round = 0; round < 4; round++) {
    Write();
  }
  EXPECT_EQ(Threshold("level0_tables"), kLevel0TablesFirst);
  EXPECT_EQ(Threshold("reclaim_min"), reclaim_min);
  EXPECT_EQ(Threshold("scans"), 0);
  EXPECT_GT(Threshold("deletes"), 0);
  EXPECT_GT(Threshold("puts"), 5 * Threshold("deletes"));
  EXPECT_GE(Threshold("flushes"), 16);
  const double changes = Threshold("changes");
  EXPECT_GT(Threshold("windows"), changes);
  for (int round = 0; round < 8; round++) {
    WriteAndScan();
  }
  EXPECT_GT(Threshold("scans"), 0);
  EXPECT_GT(Threshold("scanned_bytes"), Threshold("flushed_bytes"));
  EXPECT_LT(Threshold("level0_tables"), kLevel0TablesFirst);
  EXPECT_LT(Threshold("reclaim_min"), reclaim_min);
  EXPECT_LT(Threshold("dense_share"), 0.5);
  EXPECT_GT(Threshold("changes"), changes);
  for (int round = 0; round < 12; round++) {
    Write();
  }
  EXPECT_EQ(Threshold("level0_tables"), kLevel0TablesFirst);
  EXPECT_EQ(Threshold("reclaim_min"), reclaim_min);
  EXPECT_EQ(Threshold("level1_share_max"), 0.25);
  ExpectAll(kKeys);
}

TEST_F(StoreAdaptation, GetsAreToldFromScans) {
  options_.block_cache_bytes = 64 * kMiB;
  ASSERT_TRUE(harness_.Open(options_).ok());
  Fill(kKeys);
  for (uint64_t i = 0; i < 8'000; i++) {
    Put(random_.Below(kKeys));
    harness_.Get(KeyNumbered(random_.Below(kKeys)));
    harness_.Get("nothing" + std::to_string(i));
  }
  EXPECT_GT(Threshold("gets"), 1'000);
  EXPECT_EQ(Threshold("scans"), 0);
  EXPECT_EQ(Threshold("scanned_bytes"), 0);
  // Half of them, but filters answer for most.
  EXPECT_LT(Threshold("vain_gets"), Threshold("gets") / 4);
  EXPECT_EQ(Threshold("deletes"), 0);
}

TEST_F(StoreAdaptation, AStoreThatIsOpenedAnewBeginsWithTheFirstThresholds) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  Fill(kKeys);
  for (int round = 0; round < 8; round++) {
    WriteAndScan();
  }
  ASSERT_LT(Threshold("level0_tables"), kLevel0TablesFirst);
  ASSERT_TRUE(harness_.Close().ok());
  watcher_.Forget();
  ASSERT_TRUE(harness_.Open(options_).ok());
  EXPECT_EQ(Threshold("level0_tables"), kLevel0TablesFirst);
  EXPECT_EQ(Threshold("windows"), 0);
  Write();
  ExpectAll(kKeys);
}

TEST_F(StoreAdaptation, MergesOfLevel0TakeFewerTablesWhereMuchIsScanned) {
  ASSERT_TRUE(harness_.Open(options_).ok());
  Fill(kKeys);
  // Tables that level 0 held before each of its merges, in the mean.
  const auto taken_at_once = [&](bool scans) {
    size_t tables = 0;
    uint64_t taken = 0;
    uint64_t merges = 0;
    for (uint64_t i = 0; i < 8'000; i++) {
      Put(random_.Below(kKeys));
      if (scans && i % 40 == 0) {
        EXPECT_EQ(harness_.Scan(), state_);
      }
      const size_t now = watcher_.newest().level0().size();
      taken += now < tables ? tables : 0;
      merges += now < tables ? 1 : 0;
      tables = now;
    }
    EXPECT_GT(merges, 10) << scans;
    return static_cast<double>(taken) / static_cast<double>(merges);
  };
  for (int round = 0; round < 4; round++) {
    Write();
  }
  ASSERT_EQ(Threshold("level0_tables"), kLevel0TablesFirst);
  const double before = taken_at_once(false);
  for (int round = 0; round < 8; round++) {
    WriteAndScan();
  }
  ASSERT_LT(Threshold("level0_tables"), 4);
  EXPECT_LT(taken_at_once(true), 0.6 * before);
}

TEST_F(StoreAdaptation, WithoutTheTechniqueNothingIsMeasured) {
  options_.techniques.delete_aware = false;
  ASSERT_TRUE(harness_.Open(options_).ok());
  Fill(kKeys);
  EXPECT_EQ(Adaptation(), "");
}

TEST_F(StoreAdaptation, WhereSegmentsAreAppendedLevel0StaysAsItIs) {
  options_.techniques.append_merge = true;
  ASSERT_TRUE(harness_.Open(options_).ok());
  const double first = Threshold("level0_tables");
  Fill(kKeys);
  for (int round = 0; round < 4; round++) {
    Write();
  }
  EXPECT_GT(Threshold("windows"), 2);
  EXPECT_EQ(Threshold("level0_tables"), first);
}

}  // namespace
}  // namespace varve::testing
