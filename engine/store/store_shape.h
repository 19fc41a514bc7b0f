// StoreShape: the sizes that a store works with on this device. Small devices get small tables, so that the
// largest merge fits into what is kept for it.
#pragma once

#include <cstdint>

#include "engine/compaction/job_environment.h"
#include "engine/space/layout.h"
#include "engine/store/filter_budget.h"
#include "engine/store/store.h"
#include "engine/tree/delete_adaptation.h"
#include "engine/tree/tree_picker.h"

namespace varve {

// Of every filter; with a FilterBudget, of all on average.
inline constexpr double kBitsPerKey = 10;

// The one that is written, and the one that is ready for when it is full.
inline constexpr size_t kLogSegmentsAtRest = 2;

struct StoreShape final : public TableShape {
  size_t memtable_bytes = 0;
  // Beside the one that takes writes: memory is bounded by (1 + this) × memtable_bytes.
  size_t immutable_memtables_max = 2;
  uint64_t wal_segment_bytes = 0;
  // A log of more segments than memtables can account for is cut short by a flush.
  size_t wal_segments_max = 0;
  // WalWriterOptions::hold_bytes.
  size_t wal_hold_bytes = 0;
  // Kept from users: room for their deletes, the largest merge and a manifest roll; and of that, what deletes
  // must leave.
  uint64_t internal_share_bytes = 0;
  uint64_t merge_share_bytes = 0;
  // Released space is discarded and made free when so much has gathered, or when space is short.
  uint64_t reclaim_batch_bytes = 0;
  TreeConfig tree;
  // Where merges for deletes are on: how far what `tree` says may move with what users do.
  AdaptationLimits adaptation;
  // What compaction buffers may hold, of the bytes of all tables.
  double buffer_share = 0;
  // How much of a part of a table has to be cached for a buffer to keep it.
  double buffer_hot_share = 1;
  uint32_t block_bytes = 0;
  uint32_t sector_bytes = 0;
  // Whether tables may be written whose indexes hold short keys: not into stores of format 2.
  bool short_index_keys = true;
  // Of StoreOptions; of none in stores of earlier formats.
  OutlineOptions outlines;

  Techniques techniques;
  // How far a table that is mended or appended to may grow, in table_bytes.
  double growth_max = 1;
  // What writers of tables ask how hot their keys are. It outlives them; nullptr: nobody knows.
  const KeyHotness* hotness = nullptr;
  // Shares the filters' memory out among the levels. It outlives them; nullptr: all levels get the same.
  const FilterBudget* filter_budget = nullptr;

  // What a table takes at most of records that take so many bytes in batches.
  uint64_t TableBytesOf(uint64_t record_bytes, uint64_t records) const;
  SegmentOptions OptionsOf(uint32_t level) const override;
  MergeLimits LimitsOf(uint32_t level, const MergeShares& shares) const override;

 private:
  // Block merge pays below level 1 only: what comes from level 0 touches most blocks of level 1.
  bool MergesBlocksOf(uint32_t level) const { return techniques.block_merge && level >= 2; }
};

StoreShape ShapeOf(const Layout& layout, const StoreOptions& options, uint32_t block_bytes,
                   uint32_t sector_bytes);

}  // namespace varve
