#include "engine/store/dump.h"

#include <fmt/core.h>

#include <utility>

#include "engine/base/batch_records.h"
#include "engine/cache/block_cache.h"
#include "engine/store/store_at_rest.h"
#include "engine/table/table_reader.h"

namespace varve {

namespace {

constexpr uint64_t kCacheBytes = 8 * kMiB;

std::string_view KindName(RecordKind kind) {
  switch (kind) {
    case RecordKind::kTombstone:
      return "delete";
    case RecordKind::kValue:
      return "put";
    case RecordKind::kRangeTombstone:
      return "delete range";
    case RecordKind::kLargeValuePointer:
      return "put large";
  }
  return "unknown kind";
}

void PrintEdit(const ManifestAssembler::Record& record, const VersionEdit& edit, const DumpLine& line) {
  line(fmt::format("record {}: {} bytes{}", record.number, record.payload.size(),
                   edit.clean ? ", clean" : ""));
  if (edit.epoch.has_value()) {
    line(fmt::format("  epoch {}", edit.epoch->value));
  }
  if (edit.log_start.has_value()) {
    line(fmt::format("  log starts at group {}", edit.log_start->value));
  }
  if (edit.last_sequence.has_value()) {
    line(fmt::format("  tables hold records up to {}", edit.last_sequence->value));
  }
  for (const WalSegment& segment : edit.added_wal_segments) {
    line(fmt::format("  + log segment {} at units {}+{}", segment.number, segment.extent.first_unit,
                     segment.extent.units));
  }
  for (const uint64_t number : edit.released_wal_segments) {
    line(fmt::format("  - log segment {}", number));
  }
  for (const VersionEdit::RemovedTable& removed : edit.removed_tables) {
    line(fmt::format("  - table {} of level {}", removed.table.id.value, removed.place.level));
  }
  for (const VersionEdit::AddedTable& added : edit.added_tables) {
    line(fmt::format("  + table {} generation {} to level {}, stamp {}, {} entries, {} bytes",
                     added.view.id.value, added.view.generation.value, added.place.level, added.stamp.value,
                     added.view.entries(), added.view.used_bytes));
  }
  for (const RangeTombstone& tombstone : edit.added_range_tombstones) {
    line(fmt::format("  + range tombstone {}: {} .. {}", tombstone.sequence.value,
                     PrintableKey(tombstone.begin), PrintableKey(tombstone.end)));
  }
  for (const SequenceNumber number : edit.removed_range_tombstones) {
    line(fmt::format("  - range tombstone {}", number.value));
  }
  for (const auto& [name, value] : edit.parameters) {
    line(fmt::format("  {} = {}", name, PrintableKey(value)));
  }
}

void PrintView(const TableView& view, const DumpLine& line) {
  line(fmt::format("table {} generation {}", view.id.value, view.generation.value));
  line(fmt::format("  keys      {} .. {}", PrintableKey(view.smallest), PrintableKey(view.largest)));
  line(fmt::format("  entries   {}, of which {} tombstones", view.entries(), view.tombstones()));
  line(fmt::format("  bytes     {} used: {} data, {} meta, {} dead; {} allocated", view.used_bytes,
                   view.data_bytes(), view.meta_bytes(), view.dead_bytes(), view.allocated_bytes()));
  if (view.purged_up_to > SequenceNumber(0)) {
    line(fmt::format("  purged    of what range tombstones up to {} hide", view.purged_up_to.value));
  }
  for (const TableExtent& part : view.extents) {
    line(fmt::format("  extent    byte {} at units {}+{}", part.table_offset, part.extent.first_unit,
                     part.extent.units));
  }
  for (const SegmentDescriptor& segment : view.segments) {
    line(fmt::format("  segment   {} entries in {} blocks, sequence {} .. {}, filter {:.1f} bits a key",
                     segment.entries, segment.data_blocks, segment.smallest_sequence.value,
                     segment.largest_sequence.value, segment.filter.bits_per_key));
  }
}

}  // namespace

Task<Status> DumpSuperblock(BlockDevice& device, DumpLine line) {
  const Result<StoreAtRest> store = co_await ReadSuperblockAtRest(device);
  if (!store.ok()) {
    co_return store.error();
  }
  const Superblock& superblock = store.value().superblock;
  line(fmt::format("uuid             {}", FormatUuid(superblock.uuid)));
  line(fmt::format("label            {}", PrintableKey(superblock.label)));
  line(fmt::format("format version   {}", superblock.format_version));
  line(fmt::format("features         compat {:#x}, read-only {:#x}, incompat {:#x}",
                   superblock.compat_features, superblock.read_only_features, superblock.incompat_features));
  line(fmt::format("device bytes     {}", superblock.device_bytes));
  line(fmt::format("sector bytes     {}", superblock.sector_bytes));
  line(fmt::format("data block bytes {}", superblock.parameters.data_block_bytes));
  line(fmt::format("generation       {}", superblock.generation));
  line(fmt::format("manifest         number {}, {} bytes at {}", superblock.manifest.number,
                   superblock.manifest.bytes, DescribeExtents(superblock.manifest.extents)));
  for (const std::string& problem : store.value().superblock_problems) {
    line(fmt::format("problem          {}", problem));
  }
  co_return OkStatus();
}

Task<Status> DumpManifest(BlockDevice& device, DumpLine line) {
  const ManifestVisitor visit = [&line](const ManifestAssembler::Record& record, const VersionEdit& edit) {
    PrintEdit(record, edit, line);
  };
  const Result<StoreAtRest> store = co_await ReadStoreAtRest(device, visit);
  if (!store.ok()) {
    co_return store.error();
  }
  line("version");
  line(store.value().manifest.version.ToString());
  co_return OkStatus();
}

Task<Status> DumpWal(BlockDevice& device, DumpLine line) {
  const Result<StoreAtRest> store = co_await ReadStoreAtRest(device, nullptr);
  if (!store.ok()) {
    co_return store.error();
  }
  if (store.value().manifest.version.counters().clean) {
    line("closed in order: nothing to replay");
    co_return OkStatus();
  }
  WalReader reader(device, WalOptionsOf(store.value()));
  while (true) {
    const Result<std::optional<WalGroup>> group = co_await reader.Next();
    if (!group.ok()) {
      co_return group.error();
    }
    if (!group.value().has_value()) {
      co_return OkStatus();
    }
    const WalGroup& found = *group.value();
    line(fmt::format("group {} epoch {} in segment {} at byte {}: records {} .. {}, durable up to group {}",
                     found.header.lsn.value, found.header.epoch.value, found.segment.number, found.position,
                     found.header.first_sequence.value, found.header.last_sequence().value,
                     found.header.flushed_lsn.value));
    BatchRecordReader records(found.records);
    while (records.Next()) {
      const BatchRecord& record = records.record();
      if (record.kind == RecordKind::kRangeTombstone) {
        line(fmt::format("  {} {} .. {}", KindName(record.kind), PrintableKey(record.key),
                         PrintableKey(record.value)));
        continue;
      }
      line(fmt::format("  {} {} ({} bytes)", KindName(record.kind), PrintableKey(record.key),
                       record.value.size()));
    }
    if (!records.status().ok()) {
      co_return records.status();
    }
  }
}

Task<Status> DumpTable(BlockDevice& device, TableId table, DumpLine line) {
  const Result<StoreAtRest> store = co_await ReadStoreAtRest(device, nullptr);
  if (!store.ok()) {
    co_return store.error();
  }
  const LiveTable* found = nullptr;
  store.value().manifest.version.ForEachTable([&](const LiveTable& candidate) {
    if (candidate.id() == table && (found == nullptr || found->generation() < candidate.generation())) {
      found = &candidate;
    }
  });
  if (found == nullptr) {
    co_return NotFound(
        fmt::format("no table {} in the newest version (dump manifest lists them)", table.value));
  }
  PrintView(found->view(), line);
  BlockCache cache(kCacheBytes);
  const TableEnvironment environment{
      .device = device, .cache = cache, .store_uuid = store.value().superblock.uuid};
  TableIteratorOptions options;
  options.fill_cache = false;
  options.purpose = IoPurpose::kCheck;
  options.sequential = true;
  const std::unique_ptr<InternalIterator> iterator = NewTableIterator(environment, found->view(), options);
  Step step = iterator->SeekToFirst();
  while (true) {
    if (step == Step::kNeedsIo) {
      co_await iterator->Load();
    }
    if (!iterator->Valid()) {
      co_return iterator->status();
    }
    const std::string_view key = iterator->key();
    line(fmt::format("  {} {} at {} ({} bytes)", KindName(KindOf(key)), PrintableKey(UserKeyOf(key)),
                     SequenceOf(key).value, iterator->value().size()));
    step = iterator->Next();
  }
}

}  // namespace varve
