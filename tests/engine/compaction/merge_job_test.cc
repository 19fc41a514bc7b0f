// Merges that mend, append to and rewrite child tables, against a model of every version.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "engine/base/prng.h"
#include "engine/table/segment_layout.h"
#include "tests/engine/compaction/record_model.h"
#include "tests/engine/compaction/small_store.h"
#include "tests/support/fault_list.h"

namespace varve {
namespace {

std::string ValueOf(uint64_t n, uint64_t version, size_t bytes) {
  return fmt::format("{}.{}:", n, version) + std::string(bytes, 'v');
}

uint64_t ChildrenBy(const Result<JobOutput>& output, ChildMerge merge) {
  return output->statistics.children_by[static_cast<size_t>(merge)];
}

void ExpectWhole(SmallStore& store, const Version& version) {
  FaultList list;
  version.ForEachTable([&](const LiveTable& table) {
    const Status verified = store.executor.Run(VerifyTable(store.jobs->table, table.view(), list));
    EXPECT_TRUE(verified.ok()) << verified.ToString();
  });
  EXPECT_TRUE(list.faults.empty()) << list.faults.front().what;
}

// Table, offset in it, and the generation that wrote it.
using NamedBlock = std::tuple<uint64_t, uint64_t, uint64_t>;

NamedBlock NameOf(const BlockKey& block) {
  return {block.table.value, block.table_offset, block.birth.value};
}

// By the tables of the current version.
std::set<NamedBlock> NamedBlocks(SmallStore& store) {
  std::set<NamedBlock> named;
  store.versions->current()->ForEachTable([&](const LiveTable& table) {
    for (uint32_t i = 0; i < table.view().segments.size(); ++i) {
      const Result<SegmentLayout> layout =
          store.executor.Run(ReadSegmentLayout(store.jobs->table, table.view(), i, IoPurpose::kCheck));
      ASSERT_TRUE(layout.ok()) << layout.ToString();
      for (const BlockHandle& block : layout->AllBlocks()) {
        named.insert(NameOf({table.id(), block.birth, block.table_offset}));
      }
    }
  });
  return named;
}

// Those that `before` names, and no table any more; of tables that live on, all of them.
void ExpectDead(SmallStore& store, const std::set<NamedBlock>& before, const std::vector<BlockKey>& dead) {
  const std::set<NamedBlock> after = NamedBlocks(store);
  std::set<NamedBlock> told;
  for (const BlockKey& block : dead) {
    told.insert(NameOf(block));
  }
  for (const NamedBlock& block : told) {
    EXPECT_TRUE(before.contains(block) && !after.contains(block));
  }
  std::set<uint64_t> living;
  store.versions->current()->ForEachTable([&](const LiveTable& table) { living.insert(table.id().value); });
  for (const NamedBlock& block : before) {
    EXPECT_TRUE(after.contains(block) || told.contains(block) || !living.contains(std::get<0>(block)));
  }
}

// Level 2 holds keys 0 to `keys`, a table of some 128 KiB after the other, with filters that have a reserve.
class Merges : public testing::TestWithParam<uint32_t> {
 protected:
  static constexpr uint64_t kKeys = 2000;

  void SetUp() override {
    newest_.clear();
    sequence_ = 0;
    store_ = std::make_unique<SmallStore>(GetParam());
    store_->segment.filter_reserve = 1;
    Put(0, kKeys, 1, 400);
    store_->MergeAll(0);
    store_->MergeAll(1);
  }

  // Every `step`th key, into a table of level 0.
  void Put(uint64_t from, uint64_t to, uint64_t step, size_t value_bytes) {
    Memtable memtable(4 * kMiB);
    for (uint64_t n = from; n < to; n += step) {
      ++sequence_;
      newest_[n] = ValueOf(n, sequence_, value_bytes);
      memtable.Add(SequenceNumber(sequence_), RecordKind::kValue, NumberedKey(n), newest_[n]);
    }
    store_->Flush(memtable);
  }
  void ExpectNewest() {
    for (const auto& [n, value] : newest_) {
      ASSERT_EQ(store_->Read(NumberedKey(n)), value) << n;
    }
    ExpectWhole(*store_, *store_->versions->current());
    store_->ExpectSpaceIsAccountedFor();
  }

  // Of level 2, after block merges of `keys` keys in each `step`, other ones in each round.
  uint64_t WastedAfterRounds(bool reuses_holes, uint64_t keys, uint64_t step) {
    SetUp();
    if (!reuses_holes) {
      store_->jobs->has_one_generation = nullptr;
    }
    store_->limits.wasted_share_max = 10;
    for (uint64_t round = 0; round < 12; ++round) {
      const uint64_t first = round * 8 * keys % step;
      for (uint64_t i = 0; i < keys; ++i) {
        Put(first + i, kKeys, step, 400);
      }
      store_->limits.block = false;
      store_->MergeAll(0);
      store_->limits.block = true;
      store_->MergeAll(1);
      ExpectNewest();
    }
    uint64_t wasted = 0;
    const SortedTables& tree = store_->versions->current()->tree(2);
    for (auto cursor = tree.First(); cursor.Valid(); cursor.Next()) {
      wasted += cursor->view().wasted_bytes();
    }
    return wasted;
  }

  std::unique_ptr<SmallStore> store_;
  uint64_t sequence_ = 0;
  std::map<uint64_t, std::string> newest_;
};
INSTANTIATE_TEST_SUITE_P(SectorBytes, Merges, testing::Values(512, 4096));

TEST_P(Merges, FewRecordsMendTheBlocksThatTheyTouch) {
  store_->limits.block = true;
  Put(0, kKeys, 100, 400);
  store_->limits.block = false;
  store_->MergeAll(0);
  store_->limits.block = true;
  const uint64_t tables = store_->versions->current()->tree(2).size();
  const uint64_t data_bytes = store_->versions->current()->tree(2).totals().valid_bytes;
  Result<JobOutput> output = store_->RunMerge(store_->PlanAll(1), {});
  ASSERT_TRUE(output.ok()) << output.ToString();
  EXPECT_EQ(ChildrenBy(output, ChildMerge::kBlock), tables);
  EXPECT_LT(output->statistics.written_bytes, data_bytes / 2);
  EXPECT_LT(output->statistics.read_bytes, data_bytes / 2);
  store_->Install(output->edit);
  EXPECT_EQ(store_->versions->current()->tree(2).size(), tables);
  ExpectNewest();
}

TEST_P(Merges, OfLargeRecordsOnlyThoseThatComeAreWritten) {
  constexpr uint64_t kStep = 40;
  Put(0, kKeys, 1, 1000);
  store_->MergeAll(0);
  store_->MergeAll(1);
  const auto tree = [this]() -> const SortedTables& { return store_->versions->current()->tree(2); };
  const auto totals = tree().totals();
  uint64_t wasted = 0;
  for (uint64_t round = 0; round < 3; ++round) {
    Put(7 * round, kKeys, kStep, 1000);
    store_->limits.block = false;
    store_->MergeAll(0);
    store_->limits.block = true;
    Result<JobOutput> output = store_->RunMerge(store_->PlanAll(1), {});
    ASSERT_TRUE(output.ok()) << output.ToString();
    EXPECT_EQ(ChildrenBy(output, ChildMerge::kBlock), tree().size());
    // The records, and of each table the end of a sector, index, filter and footer.
    EXPECT_LT(output->statistics.written_bytes, totals.valid_bytes / kStep * 2 + tree().size() * 16 * kKiB);
    store_->Install(output->edit);
    // What was replaced is no longer live, and nothing else.
    EXPECT_LT(tree().totals().valid_bytes, totals.valid_bytes * 101 / 100);
    EXPECT_GT(tree().totals().valid_bytes, totals.valid_bytes * 99 / 100);
    EXPECT_EQ(tree().totals().entries, totals.entries);
    uint64_t wasted_now = 0;
    for (auto cursor = tree().First(); cursor.Valid(); cursor.Next()) {
      wasted_now += cursor->view().wasted_bytes();
    }
    EXPECT_GT(wasted_now, wasted + kKeys / kStep * 900);
    wasted = wasted_now;
    ExpectNewest();
  }
}

TEST_P(Merges, AWalkOverWhatWasMendedReadsAhead) {
  Put(0, kKeys, 1, 1000);
  store_->MergeAll(0);
  store_->MergeAll(1);
  Put(3, kKeys, 25, 1000);
  store_->limits.block = false;
  store_->MergeAll(0);
  store_->limits.block = true;
  store_->MergeAll(1);
  const SortedTables& tree = store_->versions->current()->tree(2);
  BlockCache cache(4 * kMiB);
  const TableEnvironment& with = store_->jobs->table;
  const TableEnvironment environment{with.device, cache, with.store_uuid};
  uint64_t records = 0;
  uint64_t blocks = 0;
  const uint64_t reads_before = store_->device.counters().of(IoPurpose::kUserRead).reads;
  for (auto at = tree.First(); at.Valid(); at.Next()) {
    blocks += at->view().segments.front().data_blocks;
    const std::unique_ptr<InternalIterator> iterator = NewTableIterator(environment, at->view(), {});
    Step step = iterator->SeekToFirst();
    for (;; step = iterator->Next()) {
      if (step == Step::kNeedsIo) {
        store_->executor.Run(iterator->Load());
      }
      if (!iterator->Valid()) {
        break;
      }
      ++records;
    }
    EXPECT_TRUE(iterator->status().ok()) << iterator->status().ToString();
  }
  EXPECT_EQ(records, kKeys);
  EXPECT_LT(store_->device.counters().of(IoPurpose::kUserRead).reads - reads_before, blocks / 3) << blocks;
  // What was read ahead is in the cache, and counts once.
  EXPECT_GT(cache.statistics().of(BlockKind::kData).misses, blocks / 3);
  EXPECT_LE(cache.statistics().of(BlockKind::kData).misses, blocks);
}

// Whole units hold nothing but what spans are left of.
TEST_P(Merges, WhatIsLeftOfBlocksIsNoHole) {
  Put(0, kKeys, 1, 1000);
  store_->MergeAll(0);
  store_->MergeAll(1);
  store_->limits.wasted_share_max = 10;
  for (uint64_t round = 0; round < 2; ++round) {
    Put(round, kKeys, 4, 1000);
    store_->limits.block = false;
    store_->MergeAll(0);
    store_->limits.block = true;
    Result<JobOutput> output = store_->RunMerge(store_->PlanAll(1), {});
    ASSERT_TRUE(output.ok()) << output.ToString();
    EXPECT_GT(ChildrenBy(output, ChildMerge::kBlock), 0U);
    store_->Install(output->edit);
    ExpectNewest();
  }
}

TEST_P(Merges, MoreRecordsBecomeASegment) {
  Put(0, kKeys, 3, 400);
  store_->MergeAll(0);
  store_->limits.block = true;
  store_->limits.append = true;
  const uint64_t tables = store_->versions->current()->tree(2).size();
  Result<JobOutput> output = store_->RunMerge(store_->PlanAll(1), {});
  ASSERT_TRUE(output.ok()) << output.ToString();
  EXPECT_EQ(ChildrenBy(output, ChildMerge::kAppend), tables);
  store_->Install(output->edit);
  const SortedTables& tree = store_->versions->current()->tree(2);
  for (auto cursor = tree.First(); cursor.Valid(); cursor.Next()) {
    EXPECT_EQ(cursor->view().segments.size(), 2u);
    // What the new segment shadows does not count as live.
    const double live = static_cast<double>(cursor->view().live_bytes());
    EXPECT_NEAR(live / static_cast<double>(cursor->view().segments.front().data_bytes), 1.0, 0.1);
  }
  ExpectNewest();
}

TEST_P(Merges, AChildThatNoRecordMeetsStays) {
  Put(0, kKeys / 4, 7, 400);
  Put(kKeys * 3 / 4, kKeys, 7, 400);
  store_->MergeAll(0);
  store_->limits.block = true;
  const auto middle = [this] {
    return store_->versions->current()
        ->tree(2)
        .Overlapping({NumberedKey(1000), NumberedKey(1000)})
        .front()
        ->view();
  };
  const TableView before = middle();
  store_->MergeAll(1);
  EXPECT_EQ(middle().id, before.id);
  EXPECT_EQ(middle().generation, before.generation);
  ExpectNewest();
}

// What a merge leaves dead is written again by the next ones.
TEST_P(Merges, HolesOfAnOlderGenerationAreWrittenAgain) {
  const uint64_t without = WastedAfterRounds(false, 1, 100);
  // A lone dead block holds seven whole sectors of 512 bytes, but none or one of 4096.
  EXPECT_LT(WastedAfterRounds(true, 1, 100), GetParam() == 512 ? without * 4 / 10 : without * 8 / 10)
      << without;
}

// Holes are smaller than the blocks that left them: the last block of a stretch is cut to what is left.
TEST_P(Merges, BlocksAreCutToFitIntoHoles) {
  const uint64_t without = WastedAfterRounds(false, 40, 400);
  EXPECT_LT(WastedAfterRounds(true, 40, 400), without * (GetParam() == 512 ? 32 : 42) / 100) << without;
}

TEST_P(Merges, WhatAReaderHoldsIsNeverWrittenAgain) {
  store_->limits.block = true;
  store_->limits.wasted_share_max = 10;
  std::vector<std::shared_ptr<const Version>> held;
  for (uint64_t round = 0; round < 8; ++round) {
    held.push_back(store_->versions->current());
    Put(round * 8, kKeys, 100, 400);
    store_->limits.block = false;
    store_->MergeAll(0);
    store_->limits.block = true;
    store_->MergeAll(1);
    for (const auto& version : held) {
      ExpectWhole(*store_, *version);
    }
    if (round == 5) {
      held.erase(held.begin(), held.begin() + 3);
    }
  }
  held.clear();
  ExpectNewest();
}

TEST_P(Merges, AMergeThatFailsAtAnyWriteOrReadLeavesNoTrace) {
  store_->jobs->carries_cached = true;
  Put(0, kKeys, 90, 400);
  store_->MergeAll(0);
  for (const bool append : {false, true}) {
    store_->limits.block = !append;
    store_->limits.append = append;
    const std::string before = store_->versions->current()->ToString();
    int failures = 0;
    bool failed = true;
    for (uint64_t later = 0; failed; ++later) {
      for (const bool read : {true, false}) {
        ExpectNewest();
        read ? store_->device.FailRead(later) : store_->device.FailWrite(later);
        Result<JobOutput> output = store_->RunMerge(store_->PlanAll(1), {});
        store_->device.Heal();
        failed = !output.ok();
        failures += failed;
        if (output.ok()) {
          DiscardOutput(*store_->jobs, *output);
          store_->allocator->FinishReclaim(store_->allocator->BeginReclaim());
        }
        store_->ExpectSpaceIsAccountedFor();
        EXPECT_EQ(store_->versions->current()->ToString(), before);
        ExpectWhole(*store_, *store_->versions->current());
      }
    }
    EXPECT_GE(failures, 4);
  }
  // Nor in the cache: what comes next lies in the same places.
  ExpectNewest();
  Put(0, kKeys, 70, 300);
  store_->MergeAll(0);
  store_->MergeAll(1);
  EXPECT_GT(store_->ExpectCachedIsOnDevice(), 100U);
  ExpectNewest();
}

class MergeModel : public testing::TestWithParam<std::tuple<uint32_t, int>> {};
INSTANTIATE_TEST_SUITE_P(SectorBytesAndTechniques, MergeModel,
                         testing::Combine(testing::Values(512, 4096), testing::Values(1, 2, 3)));

TEST_P(MergeModel, RandomMergesReadLikeAModelAtEverySnapshotAndFromEveryVersion) {
  const auto [sector_bytes, techniques] = GetParam();
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SmallStore store(sector_bytes, seed % 2 == 0);
    store.segment.filter_reserve = 1;
    store.segment.block_bytes = 1024;
    store.jobs->carries_cached = seed != 1;
    const auto key_of = seed == 1 ? NumberedKey : LongKey;
    Prng prng(seed);
    RecordModel model;
    SnapshotList snapshots;
    std::vector<std::shared_ptr<const Version>> held;
    uint64_t sequence = 1;
    std::array<uint64_t, kChildMerges> children_by{};
    for (int round = 0; round < 60; ++round) {
      Memtable memtable(256 * kKiB);
      // Now and then all in a few blocks.
      const uint64_t range = prng.OneIn(3) ? 12 : 1500;
      const uint64_t first = prng.Below(1500 - range + 1);
      for (uint64_t n = 5 + prng.Below(prng.OneIn(3) ? 250 : 40); n > 0; --n) {
        const std::string key = key_of(first + prng.Below(range));
        const bool is_delete = prng.OneIn(5);
        std::string value = fmt::format("{}={}", sequence, std::string(prng.Below(500), 'v'));
        memtable.Add(SequenceNumber(sequence), is_delete ? RecordKind::kTombstone : RecordKind::kValue, key,
                     is_delete ? std::string_view() : value);
        model.Put(sequence, key, is_delete ? std::nullopt : std::optional(std::move(value)));
        if (prng.OneIn(200)) {
          snapshots.push_back(SequenceNumber(sequence));
        }
        ++sequence;
      }
      store.Flush(memtable, snapshots);
      for (uint32_t level = 0; level < 3; ++level) {
        if (!prng.OneIn(level + 2) || store.PlanAll(level).inputs.empty()) {
          continue;
        }
        // Both at once where both may be, or one of them, or none.
        store.limits.block = (techniques & 1) != 0 && !prng.OneIn(3);
        store.limits.append = (techniques & 2) != 0 && !prng.OneIn(3);
        Result<JobOutput> output = store.RunMerge(store.PlanAll(level), snapshots);
        ASSERT_TRUE(output.ok()) << output.ToString();
        for (size_t i = 0; i < kChildMerges; ++i) {
          children_by[i] += output->statistics.children_by[i];
        }
        const std::set<NamedBlock> named = NamedBlocks(store);
        store.Install(output->edit);
        ExpectDead(store, named, output->dead_blocks);
      }
      if (testing::Test::HasFatalFailure()) {
        return;
      }
      if (prng.OneIn(4)) {
        held.push_back(store.versions->current());
      }
      if (held.size() > 3 || (!held.empty() && prng.OneIn(5))) {
        held.erase(held.begin() + static_cast<ptrdiff_t>(prng.Below(held.size())));
      }
      if (!snapshots.empty() && prng.OneIn(4)) {
        snapshots.erase(snapshots.begin() + static_cast<ptrdiff_t>(prng.Below(snapshots.size())));
      }
      for (int i = 0; i < 60; ++i) {
        const std::string key = key_of(prng.Below(1500));
        ASSERT_EQ(store.Read(key), model.Read(key, sequence)) << key;
        for (const SequenceNumber snapshot : snapshots) {
          ASSERT_EQ(store.Read(key, snapshot.value), model.Read(key, snapshot.value))
              << key << " at " << snapshot.value;
        }
      }
      for (const auto& version : held) {
        ExpectWhole(store, *version);
      }
      ExpectWhole(store, *store.versions->current());
      store.ExpectCachedIsOnDevice();
    }
    held.clear();
    store.ExpectSpaceIsAccountedFor();
    EXPECT_EQ(children_by[static_cast<size_t>(ChildMerge::kBlock)] > 0, (techniques & 1) != 0);
    EXPECT_EQ(children_by[static_cast<size_t>(ChildMerge::kAppend)] > 0, (techniques & 2) != 0);
    EXPECT_GT(children_by[static_cast<size_t>(ChildMerge::kTable)], 0U);
  }
}

}  // namespace
}  // namespace varve
