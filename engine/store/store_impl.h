// StoreImpl: the parts of an open store, and the Store's calls as one or two calls of a part. What a part
// does is in its own file: recovery.cc, memtables.h (where a batch gets its place), write_path.cc,
// read_path.h, scheduler.h, close.cc.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/cache/block_cache.h"
#include "engine/device/block_device.h"
#include "engine/space/extent_allocator.h"
#include "engine/space/superblock_store.h"
#include "engine/store/filter_budget.h"
#include "engine/store/health.h"
#include "engine/store/hot_keys.h"
#include "engine/store/log_segments.h"
#include "engine/store/memtables.h"
#include "engine/store/read_path.h"
#include "engine/store/scheduler.h"
#include "engine/store/scrub.h"
#include "engine/store/snapshots.h"
#include "engine/store/statistics.h"
#include "engine/store/store.h"
#include "engine/store/store_iterator.h"
#include "engine/store/store_shape.h"
#include "engine/table/background_reads.h"
#include "engine/table/table_environment.h"
#include "engine/version/version_set.h"
#include "engine/wal/wal_reader.h"
#include "engine/wal/wal_writer.h"

namespace varve {

class StoreImpl final : public Store,
                        private InstallObserver,
                        private TableObserver,
                        private TombstoneObserver {
 public:
  StoreImpl(StoreEnvironment environment, StoreOptions options);
  ~StoreImpl() override;

  // Once, before anything else. After an error only the destructor may be called.
  Task<Status> Open();

  std::optional<Lookup> TryGet(std::string_view key, const ReadOptions& options) override;
  std::optional<Lookup> BeginGet(std::string_view key, const ReadOptions& options,
                                 std::unique_ptr<UnfinishedGet>& rest) override;
  Task<Lookup> Get(std::string_view key, ReadOptions options) override;
  std::unique_ptr<StoreIterator> NewIterator(std::string_view lower, std::string_view upper,
                                             ReadOptions options) override;
  std::shared_ptr<const Snapshot> GetSnapshot() override;
  SequenceNumber visible_sequence() const override { return memtables_->visible(); }

  std::optional<Status> TryWrite(const WriteBatch& batch, Durability durability) override;
  Task<Status> Write(const WriteBatch& batch, Durability durability) override;
  Task<Status> Sync() override;
  Task<Status> Settle() override;
  Task<Result<ScrubSummary>> Scrub(ScrubObserver& observer) override;
  Task<Status> Close() override;

  SpaceUsage space_usage() const override;
  std::string StatisticsJson() const override;
  std::string read_only_reason() const override { return health_.reason(); }

 private:
  class UnfinishedPointRead;

  // A search as of now, and its steps, counted and timed.
  PointRead BeginPointRead(std::string_view key, const ReadOptions& options, HotCounters::Line& counters);
  std::optional<Lookup> RunInMemory(PointRead& read, HotCounters::Line& counters);
  Task<Lookup> ReadOn(PointRead& read, CacheFill fill, HotCounters::Line& counters);

  // What log replay found.
  struct Recovered {
    // Oldest first.
    std::vector<std::shared_ptr<HeldMemtable>> memtables;
    WalEnd end;
    // The last segment with a group that is not in tables; 0: there is none.
    uint64_t last_used_segment = 0;
  };

  // recovery.cc
  Task<Status> OpenParts();
  Task<Result<Recovered>> ReplayLog(const Version& version);
  Status ReplayGroup(const WalGroup& group, SequenceNumber tables_sequence, Recovered& recovered);
  Task<Status> BeginEpoch(Recovered& recovered);
  // What the last close saved of it, or an empty one.
  void MakeHotMap();
  JobEnvironment MakeJobEnvironment();

  // write_path.cc
  std::optional<Status> Refusal(const WriteBatch& batch) const;
  Memtables::Appended Append(const WriteBatch& batch);
  Task<Status> AppendWaiting(const WriteBatch& batch, SequenceNumber& last_sequence);
  Task<void> WaitForThrottle(uint64_t nanos);
  // Whether the batch deletes ranges, and range tombstones take as much memory as they may.
  bool LacksRangeRoom(const WriteBatch& batch) const;
  Task<Status> WaitForRangeRoom(const WriteBatch& batch);
  Task<Status> SyncTo(SequenceNumber sequence);
  void LogFailed(const Error& error);

  // close.cc
  Task<Status> FlushAll();
  Task<Status> InstallClean();

  void OnInstalled(const std::shared_ptr<const Version>& version, const VersionEdit& edit) override;
  void OnReadersHavePaid() override;
  void OnTombstonesPassed(const KeyRangeView& range, uint64_t tombstones) override;
  void OnTableReleased(const TableView& view, std::vector<Extent> unreferenced, bool is_last) override;

  StoreEnvironment environment_;
  const StoreOptions options_;
  Health health_;
  StoreStatistics statistics_;
  HeldSnapshots snapshots_;
  BlockCache cache_;
  // Of iterators; they end with Close.
  BackgroundReads background_reads_;
  LookupReadahead lookup_readahead_;
  SuperblockStore superblocks_;

  // Made by Open, in this order; each uses those before it. The pointers do not change afterwards.
  StoreShape shape_;
  std::unique_ptr<ExtentAllocator> allocator_;
  std::optional<TableEnvironment> tables_;
  std::unique_ptr<VersionSet> versions_;
  // Only with the SST-Log, and where the store takes writes.
  std::unique_ptr<HotMap> hot_map_;
  std::unique_ptr<HotKeys> hot_keys_;
  // Only with Monkey.
  std::unique_ptr<FilterBudget> filter_budget_;
  std::unique_ptr<Memtables> memtables_;
  // The rest only where the store takes writes.
  std::unique_ptr<LogSegments> log_segments_;
  std::unique_ptr<WalWriter> wal_;
  std::unique_ptr<Scheduler> scheduler_;

  std::atomic<bool> closed_{false};
};

}  // namespace varve
