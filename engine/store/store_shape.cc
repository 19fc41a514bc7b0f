#include "engine/store/store_shape.h"

#include <algorithm>

#include "engine/space/extent_allocator.h"
#include "engine/table/filter_allocation.h"
#include "engine/tree/space_bound.h"
#include "engine/wal/wal_segment.h"
#include "engine/wal/wal_writer.h"

namespace varve {

namespace {

// Of the device: with 1/128 the reserve for merges stays within a sixth of the smallest device.
constexpr uint64_t kTablesPerDevice = 128;
// Tables that may grow are smaller, as long as their last unit is next to nothing of them: with 1/88 of the
// device for a table of full growth the largest merge takes an eighth of it.
constexpr double kGrownTablesPerDevice = 88;
constexpr double kGrowthMax = 6;
constexpr uint64_t kShrunkTableBytesMin = 2 * kMiB;
constexpr uint64_t kMemtablesPerDevice = 64;
constexpr uint64_t kLevel1PerDevice = 16;
constexpr uint64_t kSmallest = 128 * kKiB;
// What memtables hold takes up to so many times its size in the log before that counts as too much.
constexpr uint64_t kLogPerMemtable = 2;
// Of small memtables: each is one more to ask for every read.
constexpr uint64_t kLevel0TablesMin = 4;
constexpr uint64_t kLevel0TablesMax = 8;
// Of the level below, as tables: bounds what one table's merge reads and writes.
constexpr uint32_t kGrandparentTablesMax = 8;
// What index, filters and padding add to the records of a merge; with outlines, those that are new and those
// that its inputs have.
constexpr uint64_t kOverheadPercent = 110;
constexpr uint64_t kOverheadPercentWithOutlines = 130;
// What a record costs in a table beyond its bytes in the batch: trailer, lengths, its share of restart
// points, index and filter.
constexpr uint64_t kTableBytesPerRecord = 20;
// Lazy deletion (BlockDB, section 4.5): long runs to discard, few calls.
constexpr uint64_t kReclaimBatch = 128 * kMiB;
constexpr uint64_t kReclaimBatchesPerDevice = 64;
// What a roll of the manifest takes beside the old one.
constexpr uint64_t kManifestRollBytes = 1 * kMiB;
// A filter with a reserve takes at most this share of the data that it is for.
constexpr double kFilterShareMax = 0.004;
// Of a table's live bytes, what may be dead or shadowed in it before it is written anew: the more of the
// store its level holds, the less, from the last figure down to one of the others. With segments a waste
// spares more writes; with a Log, what all of them waste is bounded as well (docs/design/sst-log.md).
constexpr double kWastedShareMin = 0.17;
constexpr double kWastedShareMinWithSegments = 0.28;
// Merges for deletes spare more writes than this costs, and are to leave a store no larger. A tombstone takes
// a record away and brings none: the square of their share among what comes, times the second figure, on top,
// up to the third. Where most of what comes is tombstones, files are being removed, and what they held is
// awaited.
constexpr double kWastedShareMinWithSegmentsAndDeletes = 0.117;
constexpr double kWastedShareForTombstones = 0.75;
constexpr double kWastedShareMaxWithSegmentsAndDeletes = 0.16;
constexpr double kWastedShareMinWithSegmentsAndLog = 0.34;
constexpr double kWastedShareWithinBound = 0.45;
constexpr double kWastedShareMax = 1.0;
// What a store with a Log may take beyond what is live in the level that holds most of it, where segments are
// appended.
constexpr double kBeyondLevelOfMostMax = 0.445;
constexpr double kBeyondLevelOfMostMaxWithDeletes = 0.41;

// Of level 1's entries, what may be tombstones; docs/design/deletes.md has the measurements behind these.
constexpr double kDeleteShareMax = 0.25;
// As for ranges (engine/tree/hidden_purge.cc): a byte that comes back costs three that are written.
constexpr double kReclaimMin = 1.0 / 3;
constexpr double kSlackMax = 2;
// Of filters where many tables lie over a key and few keys in all: in level 0 where it waits for more, in
// level 1 where tables wait in its Log. With a tenth of the false positives all of them mislead
// fewer gets than half as many did.
constexpr double kBitsPerKeyOfDeepLevel = 16;
// With scans alone, an eighth of what is written: a level then has little more to give than that.
constexpr double kReclaimLeast = 0.125;
// Fewer tables than half, or more than four times as many, gather in level 0 whatever users do: what readers
// pay for them (LiveTable::paid_bytes) takes care of the rest. So many are best where a write comes with
// seven gets.
constexpr uint32_t kLevel0TimesFewer = 2;
constexpr uint32_t kLevel0TimesWithDeletes = 4;
constexpr uint64_t kLevel0TablesMaxWithDeletes = 16;
// Where segments are appended each merge of level 0 leaves one in every table of level 1, and a table that
// has all that it may have is written anew: what counts is how many merges there are, so there may be more
// tables.
constexpr uint32_t kLevel0TimesWithSegments = 6;
constexpr uint64_t kLevel0TablesMaxWithSegments = 24;
// Where level 1 hands on to its Log all that it gets, a merge of level 0 rewrites nothing there, and is only
// as good as it is large. What comes of it are as many fewer sorted runs in the Log, so readers ask about as
// many tables (docs/design/sst-log.md).
constexpr uint32_t kLevel0TimesWithLog = 3;
constexpr uint64_t kLevel0PerDevice = 16;
constexpr double kSlackMin = 0.25;
// With a Log as well, level 1 may be so many times as large, up to a part of the device, since a merge of all
// of it has its reserve; the last level may be so many times its capacity; and one table lies over as many
// more of it. A merge of such a table has its reserve too, which counts with kGrandparentTablesMax tables of
// full growth.
constexpr double kLevel1SlackWithLog = 2;
constexpr uint64_t kLevel1PerDeviceWithLog = 32;
constexpr double kLastLevelSlackWithLog = 4;
constexpr double kGrandparentGrowth = 2.0 / 3;

// Rough: by how much sectors are shorter than the blocks that become dead.
constexpr double kHolesLostSectors512 = 0.3;
constexpr double kHolesLostSectors4096 = 0.6;

// Where tables wait in a Log, or merges for deletes let level 0 grow: as many as gather there at most.
uint32_t Level0TablesMaxOf(const StoreShape& shape, uint64_t usable) {
  const uint64_t tables = shape.tree.level0_tables_trigger;
  uint64_t most = std::min<uint64_t>(tables * kLevel0TimesWithDeletes, kLevel0TablesMaxWithDeletes);
  if (shape.tree.log_share > 0) {
    most = std::min<uint64_t>(tables, kLevel0TablesMax) * kLevel0TimesWithLog;
  } else if (shape.techniques.append_merge) {
    most = std::min<uint64_t>(tables * kLevel0TimesWithSegments, kLevel0TablesMaxWithSegments);
  }
  const uint64_t by_device = usable / kLevel0PerDevice / shape.memtable_bytes;
  return static_cast<uint32_t>(std::max(std::min(most, by_device), tables));
}

AdaptationLimits AdaptationLimitsOf(const StoreShape& shape) {
  AdaptationLimits limits;
  const uint32_t tables = shape.tree.level0_tables_trigger;
  limits.reclaim_least = kReclaimLeast;
  limits.level1_bytes = shape.tree.level1_bytes;
  limits.level0_full_table_bytes = shape.tree.level0_full_table_bytes;
  limits.level0_tables_min = tables;
  limits.level0_tables_max = tables;
  // Where segments are appended to level 1, or its tables wait in a Log, merges of level 0 write nothing anew
  // that fewer of them would spare.
  if (!shape.techniques.append_merge && !shape.techniques.sst_log) {
    limits.level0_tables_min = std::min(std::max(tables / kLevel0TimesFewer, 2u), tables);
    limits.level0_tables_max = shape.tree.level0_tables_max;
  }
  // Until it is known that somebody reads, as many as writes would have.
  limits.first = {limits.level0_tables_max, shape.tree.deletes.reclaim_min};
  return limits;
}

// What the largest merge writes: a table with as many below it as may be, and one more on each side; or a
// table of level 0, which is a memtable and the batch that made it full, with all of level 1.
uint64_t LargestMergeBytes(const StoreShape& shape) {
  const uint64_t of_tables =
      (kGrandparentTablesMax + 2) *
      static_cast<uint64_t>(static_cast<double>(shape.tree.table_bytes) * shape.growth_max);
  const DeleteConfig& deletes = shape.tree.deletes;
  const auto level1_bytes = static_cast<uint64_t>(static_cast<double>(shape.tree.level1_bytes) *
                                                  std::max(deletes.slack_max, deletes.level1_slack_max));
  const uint64_t of_level0 = shape.memtable_bytes + kBatchBytesMax + level1_bytes;
  const uint64_t percent = shape.outlines.prefix.empty() ? kOverheadPercent : kOverheadPercentWithOutlines;
  return std::max(of_tables, of_level0) * percent / 100;
}

}  // namespace

uint64_t StoreShape::TableBytesOf(uint64_t record_bytes, uint64_t records) const {
  return record_bytes + record_bytes / 32 + OutlineBytesMax(outlines, record_bytes) +
         records * kTableBytesPerRecord;
}

SegmentOptions StoreShape::OptionsOf(uint32_t level) const {
  SegmentOptions options;
  options.block_bytes = block_bytes;
  const bool deep = (level == 0 && techniques.delete_aware) || (level <= 1 && techniques.sst_log);
  options.bits_per_key = deep ? kBitsPerKeyOfDeepLevel : kBitsPerKey;
  if (filter_budget != nullptr) {
    options.bits_per_key = filter_budget->BitsPerKeyOf(level);
    options.bits_per_key_max = kBitsPerKeyMax;
  }
  // Level 0 has no Log: its tables' hotness is asked by nobody.
  options.hotness = level == 0 ? nullptr : hotness;
  options.short_index_keys = short_index_keys;
  options.outlines = outlines;
  options.cached_share_min = techniques.warm_up ? 0 : options.cached_share_min;
  if (MergesBlocksOf(level)) {
    // For as many keys as the table may grow by, where that costs little memory.
    options.filter_reserve = growth_max - 1;
    // The reserve does not grow with fewer bits: those are for other levels.
    options.filter_share_max = kFilterShareMax * options.bits_per_key / kBitsPerKey;
  }
  return options;
}

MergeLimits StoreShape::LimitsOf(uint32_t level, const MergeShares& shares) const {
  MergeLimits limits;
  limits.block = MergesBlocksOf(level);
  limits.append = techniques.append_merge && level >= 1;
  // A level with half of the store or more gets the least; a smaller one may waste as many bytes as that.
  const double with_log =
      shares.of_store >= kShareOfMost ? kWastedShareWithinBound : kWastedShareMinWithSegmentsAndLog;
  const double with_deletes = kWastedShareMinWithSegmentsAndDeletes +
                              kWastedShareForTombstones * shares.tombstones * shares.tombstones;
  const double without_log = techniques.delete_aware
                                 ? std::min(with_deletes, kWastedShareMaxWithSegmentsAndDeletes)
                                 : kWastedShareMinWithSegments;
  const double with_segments = tree.log_share > 0 ? with_log : without_log;
  const double least = limits.append ? with_segments : kWastedShareMin;
  limits.wasted_share_max = std::clamp(least / 2 / std::max(shares.of_store, 0.01), least, kWastedShareMax);
  limits.growth_max = growth_max;
  limits.holes_lost_share = sector_bytes > 512 ? kHolesLostSectors4096 : kHolesLostSectors512;
  return limits;
}

StoreShape ShapeOf(const Layout& layout, const StoreOptions& options, uint32_t block_bytes,
                   uint32_t sector_bytes) {
  const uint64_t usable = layout.usable_bytes();
  StoreShape shape;
  shape.techniques = options.techniques;
  shape.outlines = options.outlines;
  shape.memtable_bytes = static_cast<size_t>(
      std::max(std::min<uint64_t>(options.memtable_bytes, usable / kMemtablesPerDevice), kSmallest / 8));
  shape.wal_segment_bytes =
      std::clamp(RoundDown(usable / kMemtablesPerDevice, kExtentUnitBytes),
                 RoundUp(kWalSegmentBytesMin, kExtentUnitBytes), RoundUp(kWalSegmentBytes, kExtentUnitBytes));
  const uint64_t memtables_bytes = (1 + shape.immutable_memtables_max) * shape.memtable_bytes;
  shape.wal_segments_max =
      kLogSegmentsAtRest + 1 + CeilDiv(kLogPerMemtable * memtables_bytes, shape.wal_segment_bytes);
  // A flush overtakes the log where all that memtables hold can be held back; else it would only come later.
  // Besides, groups are held of which tables have a part: without room for those all is written while
  // memtables are full.
  const uint64_t held_besides = std::min<uint64_t>(shape.memtable_bytes, kMiB);
  shape.wal_hold_bytes =
      memtables_bytes <= kWalHoldBytesMax
          ? static_cast<size_t>(std::min<uint64_t>(memtables_bytes + held_besides, kWalHoldBytesMax))
          : 0;
  shape.tree.table_bytes = std::max(std::min(options.table_bytes, usable / kTablesPerDevice), kSmallest / 8);
  if (shape.techniques.block_merge || shape.techniques.append_merge) {
    const auto of_full_growth =
        static_cast<uint64_t>(static_cast<double>(usable) / (kGrownTablesPerDevice * kGrowthMax));
    shape.tree.table_bytes = std::min(shape.tree.table_bytes, std::max(of_full_growth, kShrunkTableBytesMin));
    const double tables = static_cast<double>(usable) / static_cast<double>(shape.tree.table_bytes);
    shape.growth_max = std::min(tables / kGrownTablesPerDevice, kGrowthMax);
  }
  shape.tree.level_ratio = std::max(options.level_ratio, 2u);
  const uint64_t level1_bytes_max = std::max(usable / kLevel1PerDevice, shape.tree.table_bytes);
  const uint64_t first_bytes = std::clamp(options.level1_bytes, shape.tree.table_bytes, level1_bytes_max);
  // Appending writes nothing of level 1 anew, so a level of the size of level 0 spares nothing: it is left
  // out.
  shape.tree.level1_bytes = shape.techniques.append_merge
                                ? std::min(shape.tree.level_ratio * first_bytes, level1_bytes_max)
                                : first_bytes;
  shape.tree.log_share = shape.techniques.sst_log ? options.sst_log_share : 0;
  if (shape.tree.log_share > 0 && shape.techniques.append_merge) {
    shape.tree.beyond_level_of_most_max =
        shape.techniques.delete_aware ? kBeyondLevelOfMostMaxWithDeletes : kBeyondLevelOfMostMax;
  }
  // A merge of level 0 writes a level of such a size anew: it waits until it brings as much.
  const uint64_t tables_as_first =
      std::clamp(first_bytes / shape.memtable_bytes, kLevel0TablesMin, kLevel0TablesMax);
  shape.tree.level0_tables_trigger = options.level0_tables_trigger > 0
                                         ? options.level0_tables_trigger
                                         : static_cast<uint32_t>(tables_as_first);
  if (shape.tree.log_share > 0 || shape.techniques.delete_aware) {
    shape.tree.level0_tables_max = Level0TablesMaxOf(shape, usable);
    shape.tree.level0_always_waits = shape.tree.log_share > 0 || shape.techniques.append_merge;
  }
  // Half of what a memtable may hold: keys that were overwritten in it, and its own overhead, make the table
  // smaller. What a close or a wish for space writes out is smaller by far.
  shape.tree.level0_full_table_bytes = shape.memtable_bytes / 2;
  shape.tree.grandparent_tables_max = kGrandparentTablesMax;
  shape.buffer_share = shape.techniques.compaction_buffer ? options.buffer_share : 0;
  shape.buffer_hot_share = options.buffer_hot_share;
  if (shape.techniques.delete_aware) {
    shape.tree.deletes.share_max = kDeleteShareMax;
    shape.tree.deletes.reclaim_min = kReclaimMin;
    // A byte that comes to a level where segments are appended writes next to nothing of what it overlaps:
    // levels of other sizes would spare nothing.
    if (!shape.techniques.append_merge) {
      shape.tree.deletes.slack_max = kSlackMax;
      shape.tree.deletes.slack_min = kSlackMin;
    } else if (shape.tree.log_share > 0) {
      shape.tree.deletes.level1_slack_max = std::clamp(
          ShareOf(usable / kLevel1PerDeviceWithLog, shape.tree.level1_bytes), 1.0, kLevel1SlackWithLog);
      shape.tree.deletes.last_level_slack = kLastLevelSlackWithLog;
      shape.tree.grandparent_tables_max =
          static_cast<uint32_t>(kGrandparentTablesMax * std::max(shape.growth_max * kGrandparentGrowth, 1.0));
    }
    shape.adaptation = AdaptationLimitsOf(shape);
  }
  // Deletes get as much again as the merges that they wait for. The log has taken its segments before users
  // write (log_segments.h).
  const uint64_t for_merges = LargestMergeBytes(shape) + kManifestRollBytes;
  shape.internal_share_bytes = InternalShareBytes(layout, 2 * for_merges);
  shape.merge_share_bytes = std::min(for_merges, shape.internal_share_bytes / 2);
  shape.reclaim_batch_bytes = std::min(kReclaimBatch, usable / kReclaimBatchesPerDevice);
  shape.block_bytes = block_bytes;
  shape.sector_bytes = sector_bytes;
  return shape;
}

}  // namespace varve
