#include <gtest/gtest.h>

#include <set>

#include "engine/base/prng.h"
#include "tests/engine/compaction/record_model.h"
#include "tests/engine/compaction/small_store.h"
#include "tests/support/fault_list.h"

namespace varve {
namespace {

class Jobs : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(SectorBytes, Jobs, testing::Values(512, 4096));

TEST_P(Jobs, AFlushedMemtableIsATableOfLevel0) {
  SmallStore store(GetParam());
  Memtable memtable(1 * kMiB);
  Fill(memtable, 1, 0, 1000);
  memtable.Add(SequenceNumber(2000), RecordKind::kTombstone, NumberedKey(7), "");
  store.Flush(memtable);
  const auto version = store.versions->current();
  ASSERT_EQ(version->level0().size(), 1u);
  EXPECT_EQ(version->counters().last_sequence, SequenceNumber(2000));
  EXPECT_EQ(version->level0()[0]->tombstones(), 1u);
  EXPECT_EQ(store.Read(NumberedKey(7)), std::nullopt);
  EXPECT_EQ(store.Read(NumberedKey(8)).value_or("").substr(0, 2), "8:");
  store.ExpectSpaceIsAccountedFor();
}

TEST_P(Jobs, AnEmptyMemtableMakesNoTable) {
  SmallStore store(GetParam());
  const Memtable memtable(1 * kMiB);
  Result<JobOutput> output = store.RunFlushOf(memtable, {});
  ASSERT_TRUE(output.ok());
  EXPECT_TRUE(output->edit.added_tables.empty());
  store.ExpectSpaceIsAccountedFor();
}

TEST_P(Jobs, AFlushBringsTheRangeTombstonesThatSomebodyNeedsAndSaysWhoThatIs) {
  SmallStore store(GetParam());
  Memtable memtable(1 * kMiB);
  Fill(memtable, 1, 0, 100);
  for (uint64_t sequence = 201; sequence <= 209; ++sequence) {
    memtable.Add(SequenceNumber(sequence), RecordKind::kRangeTombstone, NumberedKey(10), NumberedKey(90));
  }
  // Together these two cover all of what a snapshot does not see alone.
  memtable.Add(SequenceNumber(210), RecordKind::kRangeTombstone, NumberedKey(0), NumberedKey(50));
  memtable.Add(SequenceNumber(211), RecordKind::kRangeTombstone, NumberedKey(50), NumberedKey(95));
  const SnapshotList snapshots{SequenceNumber(203), SequenceNumber(211)};
  Result<JobOutput> output = store.RunFlushOf(memtable, snapshots);
  ASSERT_TRUE(output.ok());
  std::vector<SequenceNumber> brought;
  for (const RangeTombstone& tombstone : output->edit.added_range_tombstones) {
    brought.push_back(tombstone.sequence);
  }
  EXPECT_EQ(brought,
            (std::vector<SequenceNumber>{SequenceNumber(203), SequenceNumber(210), SequenceNumber(211)}));
  EXPECT_EQ(output->edit.readers, snapshots);
  EXPECT_EQ(output->edit.last_sequence, SequenceNumber(211));
}

TEST_P(Jobs, OutputsAreCutNearTheirSizeAndNeverWithinAKey) {
  SmallStore store(GetParam());
  Memtable memtable(4 * kMiB);
  uint64_t sequence = 1;
  SnapshotList snapshots;
  for (uint64_t n = 0; n < 500; ++n) {
    for (int version = 0; version < 6; ++version) {
      snapshots.push_back(SequenceNumber(sequence));
      memtable.Add(SequenceNumber(sequence++), RecordKind::kValue, NumberedKey(n), std::string(300, 'v'));
    }
  }
  store.Flush(memtable, snapshots);
  store.MergeAll(0, snapshots);
  const SortedTables& tree = store.versions->current()->tree(1);
  EXPECT_EQ(tree.totals().entries, 3000u);
  ASSERT_GE(tree.size(), 5u);
  for (auto cursor = tree.First(); cursor.Valid(); cursor.Next()) {
    EXPECT_LE(cursor->view().used_bytes, 128 * kKiB + 16 * kKiB);
    EXPECT_EQ(cursor->entries() % 6, 0u);
  }
}

TEST_P(Jobs, OutputsEndWhereTheyWouldOverlapTooMuchOfTheNextLevel) {
  SmallStore store(GetParam());
  for (const uint32_t level : {0u, 1u}) {
    Memtable memtable(4 * kMiB);
    Fill(memtable, 1, 0, 4000);
    store.Flush(memtable);
    store.MergeAll(0);
    if (level == 0) {
      store.MergeAll(1);
    }
  }
  // Level 1 is to get one small record a grandparent: without the limit it would be one table.
  ASSERT_GE(store.versions->current()->tree(2).size(), 6u);
  Memtable sparse(1 * kMiB);
  for (uint64_t n = 0; n < 4000; n += 100) {
    sparse.Add(SequenceNumber(10000 + n), RecordKind::kValue, NumberedKey(n), "new");
  }
  store.MergeAll(1);
  store.Flush(sparse);
  CompactionPlan plan = store.PlanAll(0);
  plan.grandparent_bytes_max = 2 * plan.output_table_bytes;
  Result<JobOutput> output = store.RunMerge(plan, {});
  ASSERT_TRUE(output.ok()) << output.ToString();
  EXPECT_GE(output->edit.added_tables.size(), 2u);
}

TEST_P(Jobs, OutputsEndWhereTablesOfTheNextLevelEnd) {
  SmallStore store(GetParam());
  Memtable all(4 * kMiB);
  Fill(all, 1, 0, 4000);
  store.Flush(all);
  store.MergeAll(0);
  store.MergeAll(1);
  std::set<std::string> ends;
  for (auto cursor = store.versions->current()->tree(2).First(); cursor.Valid(); cursor.Next()) {
    ends.insert(std::string(cursor->largest_key()));
  }
  ASSERT_GE(ends.size(), 6u);
  // Five of eight keys, the last of each table among them: full tables would end anywhere.
  Memtable some(4 * kMiB);
  for (uint64_t n = 0; n < 4000; ++n) {
    if (n % 8 < 5 || ends.contains(NumberedKey(n))) {
      some.Add(SequenceNumber(10000 + n), RecordKind::kValue, NumberedKey(n), std::string(200, 's'));
    }
  }
  store.Flush(some);
  store.MergeAll(0);
  const SortedTables& tree = store.versions->current()->tree(1);
  ASSERT_GE(tree.size(), 4u);
  for (auto cursor = tree.First(); cursor.Valid(); cursor.Next()) {
    EXPECT_TRUE(ends.contains(std::string(cursor->largest_key()))) << cursor->largest_key();
  }
}

TEST_P(Jobs, TombstonesVanishInTheLastLevelWithWhatTheyHide) {
  SmallStore store(GetParam());
  Memtable values(1 * kMiB);
  Fill(values, 1, 0, 500);
  store.Flush(values);
  Memtable deletes(1 * kMiB);
  for (uint64_t n = 0; n < 500; ++n) {
    deletes.Add(SequenceNumber(1000 + n), RecordKind::kTombstone, NumberedKey(n), "");
  }
  store.Flush(deletes);
  store.MergeAll(0);
  EXPECT_EQ(store.versions->current()->totals().tables, 0u);
  store.ExpectSpaceIsAccountedFor();
}

TEST_P(Jobs, ATombstoneOverADeeperTableStaysUntilItMeetsIt) {
  SmallStore store(GetParam());
  Memtable values(1 * kMiB);
  Fill(values, 1, 0, 10);
  store.Flush(values);
  store.MergeAll(0);
  store.MergeAll(1);
  Memtable deletes(1 * kMiB);
  deletes.Add(SequenceNumber(100), RecordKind::kTombstone, NumberedKey(5), "");
  deletes.Add(SequenceNumber(101), RecordKind::kTombstone, "zzz", "");
  store.Flush(deletes);
  store.MergeAll(0);
  EXPECT_EQ(store.versions->current()->totals(1).tombstones, 1u);  // nothing deeper reaches "zzz"
  EXPECT_EQ(store.Read(NumberedKey(5)), std::nullopt);
  store.MergeAll(1);
  EXPECT_EQ(store.versions->current()->totals().tombstones, 0u);
  EXPECT_EQ(store.versions->current()->totals().entries, 9u);
}

TEST_P(Jobs, OnlyMergesOfLevel0AreObserved) {
  SmallStore store(GetParam());
  Memtable memtable(1 * kMiB);
  Fill(memtable, 1, 0, 10);
  store.Flush(memtable);
  EXPECT_EQ(store.merged_keys, 0u);
  store.MergeAll(0);
  EXPECT_EQ(store.merged_keys, 10u);
  store.MergeAll(1);
  EXPECT_EQ(store.merged_keys, 10u);
}

TEST_P(Jobs, ATrivialMoveKeepsTheTableAndItsSpace) {
  SmallStore store(GetParam());
  Memtable memtable(1 * kMiB);
  Fill(memtable, 1, 0, 10);
  store.Flush(memtable);
  CompactionPlan plan = store.PlanAll(0);
  plan.kind = MergeKind::kTrivialMove;
  const TableId id = plan.inputs.front().table->id();
  const uint64_t written = store.device.counters().of(IoPurpose::kCompaction).written_bytes;
  store.Install(MoveEdit(plan));
  plan = {};
  EXPECT_EQ(store.versions->current()->tree(1).First()->id(), id);
  EXPECT_EQ(store.device.counters().of(IoPurpose::kCompaction).written_bytes, written);
  EXPECT_TRUE(store.Read(NumberedKey(3)).has_value());
  store.ExpectSpaceIsAccountedFor();
}

TEST_P(Jobs, AJobThatFailsAtAnyWriteOrReadLeavesNoTrace) {
  SmallStore store(GetParam());
  for (uint64_t table = 0; table < 3; ++table) {
    Memtable memtable(1 * kMiB);
    Fill(memtable, 1 + table * 5000, table * 500, 2000 + table * 500);
    store.Flush(memtable);
  }
  const std::string before = store.versions->current()->ToString();
  bool failed = true;
  int failures = 0;
  for (uint64_t later = 0; failed; ++later) {
    for (const bool read : {true, false}) {
      store.device.Heal();
      read ? store.device.FailRead(later) : store.device.FailWrite(later);
      Result<JobOutput> output = store.RunMerge(store.PlanAll(0), {});
      failed = !output.ok();
      failures += failed;
      if (failed) {
        EXPECT_TRUE(output.Is(ErrorCode::kDeviceError)) << output.ToString();
      } else {
        DiscardOutput(*store.jobs, *output);
        store.allocator->FinishReclaim(store.allocator->BeginReclaim());
      }
      store.ExpectSpaceIsAccountedFor();
      EXPECT_EQ(store.versions->current()->ToString(), before);
    }
  }
  EXPECT_GE(failures, 4);
  store.device.Heal();
  store.device.FailFlush();
  EXPECT_TRUE(store.RunMerge(store.PlanAll(0), {}).Is(ErrorCode::kDeviceError));
  store.ExpectSpaceIsAccountedFor();
  store.device.Heal();
  store.MergeAll(0);
  EXPECT_TRUE(store.Read(NumberedKey(1)).has_value());
}

TEST_P(Jobs, ACancelledJobLeavesNoTrace) {
  SmallStore store(GetParam(), true);
  Memtable memtable(1 * kMiB);
  Fill(memtable, 1, 0, 2000);
  store.Flush(memtable);
  store.cancelled = true;
  EXPECT_TRUE(store.RunMerge(store.PlanAll(0), {}).Is(ErrorCode::kCancelled));
  store.ExpectSpaceIsAccountedFor();
}

TEST_P(Jobs, AJobThatCannotHaveItsSpaceWritesNothing) {
  SmallStore store(GetParam());
  Memtable memtable(1 * kMiB);
  Fill(memtable, 1, 0, 2000);
  store.Flush(memtable);
  const uint64_t free_bytes = store.allocator->numbers().free_bytes;
  SpaceReservation rest = store.allocator->Reserve(free_bytes - 128 * kKiB, SpaceClass::kInternal).value();
  const uint64_t written = store.device.counters().of(IoPurpose::kCompaction).written_bytes;
  EXPECT_TRUE(store.RunMerge(store.PlanAll(0), {}).Is(ErrorCode::kNoSpace));
  EXPECT_TRUE(store.RunFlushOf(memtable, {}).Is(ErrorCode::kNoSpace));
  EXPECT_EQ(store.device.counters().of(IoPurpose::kCompaction).written_bytes, written);
  rest.GiveBack();
  store.MergeAll(0);
}

TEST_P(Jobs, WhatIsReservedCoversSmallRecordsOfLongKeysToo) {
  SmallStore store(GetParam());
  for (uint64_t table = 0; table < 4; ++table) {
    Memtable memtable(4 * kMiB);
    for (uint64_t n = 0; n < 2000; ++n) {
      // Keys that share nothing with their neighbours, as long as keys may be.
      Prng prng(n * 4 + table);
      std::string key(1000, '\0');
      for (char& byte : key) {
        byte = static_cast<char>('a' + prng.Below(26));
      }
      memtable.Add(SequenceNumber(1 + n + table * 10000), RecordKind::kValue, key, "");
    }
    store.Flush(memtable);
  }
  store.MergeAll(0);
  store.ExpectSpaceIsAccountedFor();
}

TEST_P(Jobs, TablesOfTheLastLevelFillTheirUnits) {
  SmallStore store(GetParam());
  Memtable memtable(16 * kMiB);
  Fill(memtable, 1, 0, 600, 16'000);
  store.Flush(memtable);
  CompactionPlan plan = store.PlanAll(0);
  // With one more record a table would be larger than this.
  plan.output_table_bytes = 2 * kMiB;
  store.Merge(plan);
  const std::vector<std::shared_ptr<const LiveTable>> tables =
      store.versions->current()->tree(1).Overlapping({"", "~"});
  ASSERT_GT(tables.size(), 4U);
  for (size_t i = 0; i + 1 < tables.size(); ++i) {
    EXPECT_EQ(tables[i]->view().allocated_bytes(), 2 * kMiB);
    EXPECT_GT(tables[i]->view().used_bytes, 2 * kMiB - kExtentUnitBytes);
  }
}

TEST_P(Jobs, RandomFlushesAndMergesReadLikeAModelAtEverySnapshot) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    SmallStore store(GetParam(), seed % 2 == 0);
    Prng prng(seed);
    RecordModel model;
    SnapshotList snapshots;
    uint64_t sequence = 1;
    for (int round = 0; round < 25; ++round) {
      Memtable memtable(256 * kKiB);
      for (uint64_t n = 50 + prng.Below(250); n > 0; --n) {
        const std::string key = NumberedKey(prng.Below(400));
        const bool is_delete = prng.OneIn(3);
        std::string value = fmt::format("{}={}", sequence, std::string(prng.Below(700), 'v'));
        memtable.Add(SequenceNumber(sequence), is_delete ? RecordKind::kTombstone : RecordKind::kValue, key,
                     is_delete ? std::string_view() : value);
        model.Put(sequence, key, is_delete ? std::nullopt : std::optional(std::move(value)));
        if (prng.OneIn(200)) {
          snapshots.push_back(SequenceNumber(sequence));
        }
        ++sequence;
      }
      store.Flush(memtable, snapshots);
      for (uint32_t level = 0; level < 4; ++level) {
        if (prng.OneIn(level + 2)) {
          store.MergeAll(level, snapshots);
        }
      }
      if (testing::Test::HasFatalFailure()) {
        return;
      }
      if (!snapshots.empty() && prng.OneIn(4)) {
        snapshots.erase(snapshots.begin() + static_cast<ptrdiff_t>(prng.Below(snapshots.size())));
      }
      for (int i = 0; i < 60; ++i) {
        const std::string key = NumberedKey(prng.Below(400));
        ASSERT_EQ(store.Read(key), model.Read(key, sequence)) << key;
        for (const SequenceNumber snapshot : snapshots) {
          ASSERT_EQ(store.Read(key, snapshot.value), model.Read(key, snapshot.value))
              << key << " at " << snapshot.value;
        }
      }
      store.ExpectSpaceIsAccountedFor();
    }
    FaultList list;
    const auto version = store.versions->current();
    version->ForEachTable([&](const LiveTable& table) {
      EXPECT_TRUE(store.executor.Run(VerifyTable(store.jobs->table, table.view(), list)).ok());
    });
    EXPECT_TRUE(list.faults.empty()) << list.faults.front().what;
  }
}

}  // namespace
}  // namespace varve
