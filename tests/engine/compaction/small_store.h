// SmallStore: tables, a manifest and nothing else, on a device in memory: what jobs work on.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/cache/block_cache.h"
#include "engine/compaction/flush_job.h"
#include "engine/compaction/job_environment.h"
#include "engine/compaction/merge_job.h"
#include "engine/compaction/table_merge_job.h"
#include "engine/memtable/memtable.h"
#include "engine/ring/local_executor.h"
#include "engine/space/extent_allocator.h"
#include "engine/space/superblock_store.h"
#include "engine/table/block_reader.h"
#include "engine/table/segment_layout.h"
#include "engine/table/table_reader.h"
#include "engine/version/edit_invariants.h"
#include "engine/version/invariants.h"
#include "engine/version/manifest_writer.h"
#include "engine/version/version_set.h"
#include "tests/support/memory_device.h"
#include "tests/support/table_get.h"

namespace varve {

// A memtable's records as a source of a flush.
class MemtableRecords final : public InternalIterator {
 public:
  explicit MemtableRecords(const Memtable& memtable) : walk_(memtable) {}
  Step Seek(std::string_view key) override { return walk_.Seek(key), Step::kDone; }
  Step SeekForPrev(std::string_view key) override { return walk_.SeekForPrev(key), Step::kDone; }
  Step SeekToFirst() override { return walk_.SeekToFirst(), Step::kDone; }
  Step SeekToLast() override { return walk_.SeekToLast(), Step::kDone; }
  Step Next() override { return walk_.Next(), Step::kDone; }
  Step Prev() override { return walk_.Prev(), Step::kDone; }
  Task<void> Load() override { co_return; }
  bool Valid() const override { return walk_.Valid(); }
  std::string_view key() const override { return walk_.key(); }
  std::string_view value() const override { return walk_.value(); }
  Status status() const override { return {}; }

 private:
  Memtable::Iterator walk_;
};

inline std::string NumberedKey(uint64_t n) {
  return fmt::format("key{:06}", n);
}

// Puts records of 400 bytes under every `step`th number, with the sequence numbers after `sequence`.
inline void AddNumbered(Memtable& into, uint64_t from, uint64_t to, uint64_t step, uint64_t& sequence) {
  for (uint64_t n = from; n < to; n += step) {
    into.Add(SequenceNumber(++sequence), RecordKind::kValue, NumberedKey(n), std::string(400, 'v'));
  }
}

// Puts records under each number of [from, to), with the sequence numbers from `first_sequence` on.
inline void Fill(Memtable& memtable, uint64_t first_sequence, uint64_t from, uint64_t to,
                 uint64_t value_bytes = 200) {
  for (uint64_t n = from; n < to; ++n) {
    memtable.Add(SequenceNumber(first_sequence + n - from), RecordKind::kValue, NumberedKey(n),
                 fmt::format("{}:{}", n, std::string(value_bytes, 'v')));
  }
}

struct SmallStore : TableShape, TableObserver, MergeObserver {
  static constexpr uint64_t kDeviceBytes = 64 * kMiB;

  SystemClock clock;
  LocalExecutor executor{clock};
  NullLogger logger;
  MemoryDevice device;
  BlockCache cache{4 * kMiB};
  std::optional<ExtentAllocator> allocator;
  SuperblockStore superblocks{device};
  std::unique_ptr<VersionSet> versions;
  std::optional<JobEnvironment> jobs;
  SegmentOptions segment;
  MergeLimits limits;
  uint64_t merged_keys = 0;
  std::atomic<bool> cancelled{false};

  explicit SmallStore(uint32_t sector_bytes, bool yields = false)
      : device(
            MemoryDeviceOptions{.size_bytes = kDeviceBytes, .sector_bytes = sector_bytes, .yields = yields}) {
    const Layout layout = Layout::ForDevice(kDeviceBytes).value();
    allocator.emplace(layout, InternalShareBytes(layout, 0));
    Superblock superblock;
    superblock.device_bytes = kDeviceBytes;
    superblock.sector_bytes = sector_bytes;
    VersionEdit first;
    superblock.manifest = executor.Run(CreateManifest(device, *allocator, superblock.uuid, first)).value();
    EXPECT_TRUE(executor.Run(superblocks.Format(superblock)).ok());
    allocator.emplace(layout, InternalShareBytes(layout, 0));
    VersionSetEnvironment environment{device, *allocator, superblocks, logger, nullptr, this};
    versions = executor.Run(VersionSet::Open(environment)).value();
    VersionEdit epoch;
    epoch.epoch = RecoveryEpoch(1);
    EXPECT_TRUE(executor.Run(versions->Install(epoch)).ok());
    jobs.emplace(JobEnvironment{{device, cache, superblock.uuid},
                                *allocator,
                                *this,
                                [this] { return versions->NewTableId(); },
                                [this](TableId id) { return versions->HasOneGeneration(id); },
                                false,
                                this,
                                nullptr,
                                &cancelled});
  }

  SegmentOptions OptionsOf(uint32_t) const override { return segment; }
  MergeLimits LimitsOf(uint32_t, const MergeShares&) const override { return limits; }
  void OnMergedKey(std::string_view) override { ++merged_keys; }
  void OnReadersHavePaid() override {}
  void OnTableReleased(const TableView&, std::vector<Extent> unreferenced, bool) override {
    allocator->Release(unreferenced);
    allocator->FinishReclaim(allocator->BeginReclaim());
  }

  // `is_read`: as of a flush's input.
  Result<JobOutput> RunFlushOf(const Memtable& memtable, SnapshotList snapshots, bool is_read = false) {
    FlushInput input;
    input.is_read = is_read;
    input.base = is_read ? versions->current() : nullptr;
    input.records = std::make_unique<MemtableRecords>(memtable);
    input.bytes_max = memtable.totals().user_bytes;
    input.entries_max = memtable.totals().entries;
    input.ranges = memtable.ranges().any() ? &memtable.ranges().Complete() : nullptr;
    input.snapshots = std::move(snapshots);
    return executor.Run(RunFlush(*jobs, std::move(input)));
  }
  Result<JobOutput> RunMerge(const CompactionPlan& plan, SnapshotList snapshots) {
    return executor.Run(varve::RunMerge(*jobs, plan, versions->current(), std::move(snapshots)));
  }
  void Install(const VersionEdit& edit) {
    const std::vector<std::string> wrong = CheckEdit(*versions->current(), edit);
    ASSERT_TRUE(wrong.empty()) << wrong.front();
    const auto installed = executor.Run(versions->Install(edit));
    ASSERT_TRUE(installed.ok()) << installed.ToString();
    const std::vector<std::string> violations = CheckVersion(**installed);
    ASSERT_TRUE(violations.empty()) << violations.front();
  }
  void Flush(const Memtable& memtable, SnapshotList snapshots = {}, bool is_read = false) {
    Result<JobOutput> output = RunFlushOf(memtable, std::move(snapshots), is_read);
    ASSERT_TRUE(output.ok()) << output.ToString();
    Install(output->edit);
  }

  // The plan that merges everything of level `from` into the next.
  CompactionPlan PlanAll(uint32_t from) const {
    const std::shared_ptr<const Version> version = versions->current();
    CompactionPlan plan;
    plan.output_level = from + 1;
    plan.output_table_bytes = 128 * kKiB;
    plan.grandparent_bytes_max = 10 * plan.output_table_bytes;
    if (from == 0) {
      for (const StampedTable& placed : version->level0()) {
        plan.inputs.push_back({{0, Part::kLevel0}, placed.table});
      }
    } else {
      for (const auto& table : version->tree(from).Overlapping({"", "~"})) {
        plan.inputs.push_back({{from, Part::kTree}, table});
      }
    }
    plan.children = version->tree(from + 1).Overlapping({"", "~"});
    plan.grandparents = version->tree(from + 2).Overlapping({"", "~"});
    plan.hull = {"", "~"};
    return plan;
  }
  void Merge(const CompactionPlan& plan, SnapshotList snapshots = {}) {
    Result<JobOutput> output = RunMerge(plan, std::move(snapshots));
    ASSERT_TRUE(output.ok()) << output.ToString();
    Install(output->edit);
  }
  void MergeAll(uint32_t from, SnapshotList snapshots = {}) { Merge(PlanAll(from), std::move(snapshots)); }

  // What a reader at `snapshot` finds: the value, or nothing.
  std::optional<std::string> Read(const std::string& key, uint64_t snapshot = 1 << 30) {
    const std::shared_ptr<const Version> version = versions->current();
    std::vector<const LiveTable*> sources;
    for (auto placed = version->level0().rbegin(); placed != version->level0().rend(); ++placed) {
      sources.push_back(placed->table.get());
    }
    for (uint32_t level = 1; level < kLevels; ++level) {
      if (const LiveTable* table = version->tree(level).Find(key)) {
        sources.push_back(table);
      }
    }
    for (const LiveTable* source : sources) {
      Result<TableLookup> found = executor.Run(
          GetFromTable(jobs->table, source->view(), PointQuery(key, SequenceNumber(snapshot)), true));
      EXPECT_TRUE(found.ok()) << found.ToString();
      if (found.ok() && found->kind != TableLookup::Kind::kAbsent) {
        return found->kind == TableLookup::Kind::kValue ? std::optional<std::string>(found->value.bytes())
                                                        : std::nullopt;
      }
    }
    return std::nullopt;
  }

  // Of the cached data blocks that tables name, the bytes are the device's. How many there are.
  uint64_t ExpectCachedIsOnDevice() {
    BlockCache empty(1 * kMiB);
    const TableEnvironment uncached{device, empty, jobs->table.store_uuid};
    uint64_t cached = 0;
    versions->current()->ForEachTable([&](const LiveTable& table) {
      for (uint32_t i = 0; i < table.view().segments.size(); ++i) {
        const Result<SegmentLayout> layout =
            executor.Run(ReadSegmentLayout(uncached, table.view(), i, IoPurpose::kCheck));
        ASSERT_TRUE(layout.ok()) << layout.ToString();
        for (const IndexEntry& entry : layout->blocks) {
          const BlockHandle& at = entry.block;
          const BlockRef block = cache.Peek(CacheKeyOf(table.id(), at));
          if (!block) {
            continue;
          }
          ++cached;
          const Result<BlockRef> read =
              executor.Run(ReadBlock(uncached, table.view(), at, BlockKind::kData, IoPurpose::kCheck, false));
          ASSERT_TRUE(read.ok()) << read.ToString();
          ASSERT_EQ(block.bytes(), read->bytes());
        }
      }
    });
    return cached;
  }

  // What live tables and the manifest hold is what the allocator says is used, and no promise is left.
  void ExpectSpaceIsAccountedFor() {
    uint64_t live = TotalBytes(versions->manifest_extents());
    versions->current()->ForEachTable([&](const LiveTable& table) { live += table.total_bytes(); });
    const SpaceNumbers numbers = allocator->numbers();
    EXPECT_EQ(numbers.used_bytes, live);
    EXPECT_EQ(numbers.reserved_bytes, 0u);
  }
};

}  // namespace varve
