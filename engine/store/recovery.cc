// Opening: superblock, manifest, log replay into memtables, a new recovery epoch, then work. No table is
// read.

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "engine/base/batch_records.h"
#include "engine/store/store_impl.h"

namespace varve {

namespace {

// Of memory for the map of hot keys: a quarter of a memtable, and not less than tells keys apart.
constexpr uint64_t kHotMapBytesMin = 320 * kKiB;
constexpr uint64_t kHotMapShare = 4;

}  // namespace

Task<Status> StoreImpl::Open() {
  Status opened = co_await OpenParts();
  if (!opened.ok() && wal_ != nullptr) {
    co_await wal_->Close();
  }
  co_return opened;
}

Task<Status> StoreImpl::OpenParts() {
  const Result<Superblock> superblock = co_await superblocks_.Load();
  if (!superblock.ok()) {
    co_return superblock.error();
  }
  for (const std::string& problem : superblocks_.problems()) {
    environment_.logger.Log(LogLevel::kWarning, problem);
  }
  if (!options_.read_only) {
    Status writable = CheckWritable(*superblock);
    if (!writable.ok()) {
      co_return writable;
    }
  }
  const Result<Layout> layout = Layout::ForDevice(superblock->device_bytes);
  if (!layout.ok()) {
    co_return layout.error();
  }
  shape_ =
      ShapeOf(*layout, options_, superblock->parameters.data_block_bytes, environment_.device.sector_bytes());
  shape_.short_index_keys = superblock->format_version > superblock_format::kFormatVersionOfWholeKeys;
  if (superblock->format_version <= superblock_format::kFormatVersionWithoutOutlines) {
    shape_.outlines = {};
  }
  allocator_ =
      std::make_unique<ExtentAllocator>(*layout, shape_.internal_share_bytes, shape_.merge_share_bytes);
  tables_.emplace(TableEnvironment{environment_.device, cache_, superblock->uuid});

  const VersionSetEnvironment version_environment{.device = environment_.device,
                                                  .allocator = *allocator_,
                                                  .superblocks = superblocks_,
                                                  .logger = environment_.logger,
                                                  .installs = this,
                                                  .releases = this};
  Result<std::unique_ptr<VersionSet>> versions = co_await VersionSet::Open(version_environment);
  if (!versions.ok()) {
    co_return versions.error();
  }
  versions_ = std::move(*versions);
  if (shape_.techniques.sst_log && !options_.read_only) {
    MakeHotMap();
  }
  const std::shared_ptr<const Version> version = versions_->current();
  if (shape_.techniques.monkey) {
    filter_budget_ = std::make_unique<FilterBudget>(kBitsPerKey, shape_.memtable_bytes);
    filter_budget_->Update(*version);
    shape_.filter_budget = filter_budget_.get();
  }

  Result<Recovered> recovered = co_await ReplayLog(*version);
  if (!recovered.ok()) {
    co_return recovered.error();
  }
  memtables_ = std::make_unique<Memtables>(shape_, *allocator_, environment_.seed, version,
                                           recovered->memtables, recovered->end.last_sequence);
  if (options_.read_only) {
    health_.OpenedReadOnly();
    co_return OkStatus();
  }
  Status begun = co_await BeginEpoch(*recovered);
  Executor& background = *environment_.background.front();
  // A tool's own thread has better to do.
  if (begun.ok() && &background != &Executor::Current()) {
    background_reads_.PrepareMemoryOn(background);
  }
  co_return begun;
}

Task<Result<StoreImpl::Recovered>> StoreImpl::ReplayLog(const Version& version) {
  const VersionCounters& counters = version.counters();
  Recovered recovered;
  if (counters.clean) {
    // The segments that are still named only keep their space for the next epoch.
    recovered.end.next_lsn = std::max(counters.log_start, Lsn(1));
    recovered.end.last_sequence = counters.last_sequence;
    co_return recovered;
  }
  WalReaderOptions options;
  options.store_uuid = superblocks_.current().uuid;
  options.segments = version.wal_segments();
  options.log_start = counters.log_start;
  options.tables_sequence = counters.last_sequence;
  options.end_at_damage = options_.cut_damaged_log;
  WalReader reader(environment_.device, std::move(options));
  while (true) {
    const Result<std::optional<WalGroup>> group = co_await reader.Next();
    if (!group.ok()) {
      co_return group.error();
    }
    if (!group->has_value()) {
      break;
    }
    const Status replayed = ReplayGroup(**group, counters.last_sequence, recovered);
    if (!replayed.ok()) {
      co_return replayed.error();
    }
  }
  if (!options_.read_only) {
    const Status written = co_await reader.WriteAgain();
    if (!written.ok()) {
      co_return written.error();
    }
  }
  recovered.end = reader.end();
  if (!recovered.end.damage.empty()) {
    environment_.logger.Log(
        LogLevel::kWarning,
        fmt::format("the log is cut: {}; what was written after that is lost", recovered.end.damage));
  }
  co_return recovered;
}

// A group holds what came between two writes of the log, and went into several memtables where one was full
// meanwhile. Of bytes that is little; of range tombstones it may be many times what a memtable is to take. So
// it is divided here too, and may be so within a batch: nobody reads before all of it is there.
Status StoreImpl::ReplayGroup(const WalGroup& group, SequenceNumber tables_sequence, Recovered& recovered) {
  if (group.header.last_sequence() <= tables_sequence) {
    return OkStatus();
  }
  const auto begin_memtable = [&] {
    recovered.memtables.push_back(
        std::make_shared<HeldMemtable>(shape_.memtable_bytes, environment_.seed + group.header.lsn.value));
  };
  if (recovered.memtables.empty() || recovered.memtables.back()->memtable.IsFull(shape_.memtable_bytes)) {
    begin_memtable();
  }
  SequenceNumber sequence = group.header.first_sequence;
  BatchRecordReader reader(group.records);
  uint32_t count = 0;
  for (; reader.Next(); sequence = sequence.Next(), count++) {
    const BatchRecord& record = reader.record();
    const bool is_range = record.kind == RecordKind::kRangeTombstone;
    if (is_range && recovered.memtables.back()->memtable.ranges().full()) {
      begin_memtable();
    }
    HeldMemtable& into = *recovered.memtables.back();
    into.last_sequence = sequence;
    if (sequence > tables_sequence) {
      into.memtable.Add(sequence, record.kind, record.key, record.value);
    }
    into.has_deletes = into.has_deletes || record.kind == RecordKind::kTombstone || is_range;
    into.deletes += record.kind == RecordKind::kTombstone ? 1 : 0;
  }
  if (!reader.status().ok()) {
    return reader.status();
  }
  if (count != group.header.record_count) {
    return Corruption("a group of the log holds another number of records than its header says");
  }
  recovered.last_used_segment = group.segment.number;
  return OkStatus();
}

Task<Status> StoreImpl::BeginEpoch(Recovered& recovered) {
  const std::shared_ptr<const Version> version = versions_->current();
  const VersionCounters& counters = version->counters();
  log_segments_ = std::make_unique<LogSegments>(*allocator_, *versions_, shape_.wal_segment_bytes);

  // Durable before anything is written under it. Segments that hold nothing that is needed give their space
  // to the new epoch: on a full device there may be no other.
  VersionEdit edit;
  edit.epoch = counters.epoch.Next();
  const RecoveryEpoch epoch = *edit.epoch;
  std::vector<Extent> unused;
  for (const WalSegment& segment : version->wal_segments()) {
    if (segment.number > recovered.last_used_segment) {
      edit.released_wal_segments.push_back(segment.number);
      unused.push_back(segment.extent);
    }
  }
  std::erase_if(recovered.end.segments, [&](const WalClosedSegment& closed) {
    return closed.segment.number > recovered.last_used_segment;
  });
  if (recovered.end.segments.empty()) {
    edit.log_start = recovered.end.next_lsn;
  }
  const size_t used = recovered.end.segments.size();
  const Result<std::shared_ptr<const Version>> installed = co_await versions_->Install(std::move(edit));
  if (!installed.ok()) {
    co_return installed.error();
  }
  for (const Extent& extent : unused) {
    log_segments_->Recycle(extent);
  }
  log_segments_->TakeSpares(used);

  WalWriterOptions options;
  options.store_uuid = superblocks_.current().uuid;
  options.epoch = epoch;
  options.first_lsn = recovered.end.next_lsn;
  options.first_sequence = recovered.end.last_sequence.Next();
  options.old_segments = std::move(recovered.end.segments);
  options.hold_bytes = shape_.wal_hold_bytes;
  wal_ = std::make_unique<WalWriter>(environment_.device, *log_segments_, std::move(options));
  scheduler_ = std::make_unique<Scheduler>(
      SchedulerEnvironment{.device = environment_.device,
                           .logger = environment_.logger,
                           .executors = environment_.background,
                           .shape = shape_,
                           .jobs = MakeJobEnvironment(),
                           .allocator = *allocator_,
                           .versions = *versions_,
                           .memtables = *memtables_,
                           .log_segments = *log_segments_,
                           .wal = *wal_,
                           .snapshots = snapshots_,
                           .health = health_,
                           .statistics = statistics_,
                           .commit_interval_nanos = options_.commit_interval_nanos,
                           .buffer_trim_interval_nanos = options_.buffer_trim_interval_nanos,
                           .range_tombstones_bytes = options_.range_tombstones_bytes});
  Status started = co_await wal_->Start();
  if (started.Is(ErrorCode::kNoSpace)) {
    // On a full device the old log may have the only pieces that are large enough for a new one.
    const Status flushed = co_await scheduler_->FlushBeforeStart();
    if (flushed.ok()) {
      started = co_await wal_->Start();
    } else if (!flushed.Is(ErrorCode::kNoSpace)) {
      started = flushed;
    }
  }
  if (!started.ok()) {
    scheduler_.reset();
    co_return started;
  }
  scheduler_->Start();
  log_segments_->AskForSpaceOf(scheduler_.get());
  co_return OkStatus();
}

void StoreImpl::MakeHotMap() {
  HotMapOptions options;
  options.bytes_max =
      std::clamp<uint64_t>(shape_.memtable_bytes / kHotMapShare, kHotMapBytesMin, options.bytes_max);
  hot_map_ = HotMap::Decode(versions_->TakeHotMap(), options);
  if (hot_map_ == nullptr) {
    hot_map_ = std::make_unique<HotMap>(options);
  }
  hot_keys_ = std::make_unique<HotKeys>(*hot_map_);
  shape_.hotness = hot_map_.get();
}

JobEnvironment StoreImpl::MakeJobEnvironment() {
  return {.table = *tables_,
          .allocator = *allocator_,
          .shape = shape_,
          .new_table_id = [versions = versions_.get()] { return versions->NewTableId(); },
          .has_one_generation = [versions =
                                     versions_.get()](TableId id) { return versions->HasOneGeneration(id); },
          .carries_cached = shape_.techniques.block_merge || shape_.techniques.append_merge ||
                            shape_.techniques.compaction_buffer || shape_.techniques.carry ||
                            shape_.techniques.warm_up,
          .observer = hot_keys_.get(),
          .removes_tombstones_early = shape_.techniques.delete_aware};
}

}  // namespace varve
