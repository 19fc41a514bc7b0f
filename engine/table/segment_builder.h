// SegmentBuilder: one segment at the end of a table, whatever table it is: new, or one that gets another
// segment (append merge), or a new generation of a segment whose clean blocks stay where they are (block
// merge).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ring/task.h"
#include "engine/table/block_builder.h"
#include "engine/table/filter.h"
#include "engine/table/filter_mender.h"
#include "engine/table/index_builder.h"
#include "engine/table/key_hotness.h"
#include "engine/table/outline.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_view.h"
#include "engine/table/table_writer.h"

namespace varve {

struct SegmentOptions {
  // Target of a data block's size. An option at mkfs.
  uint32_t block_bytes = 4 * kKiB;
  // 0: no filter.
  double bits_per_key = 10;
  // Where it changes as the store does: what it may be by the time at which the table is built.
  double bits_per_key_max = 0;
  // The filter's room for keys that later merges insert, as a share of the entries.
  double filter_reserve = 0;
  // A reserve makes the filter at most this share of the data. 0: any.
  double filter_share_max = 0;
  // Of the table's other segments. A get asks the filters of all: one that adds few entries is to add few
  // false positives, and gets up to kMoreBitsPerKeyMax more a key for it.
  uint64_t entries_beside = 0;
  // Says how hot the keys are that go into the filter. nullptr: not at all.
  const KeyHotness* hotness = nullptr;
  // A block that is made of cached ones is cached, too, where so much of it was; 0: where any of it was.
  double cached_share_min = 0.5;
  // The index holds of long keys what tells blocks apart; false: all of them, for stores of older versions.
  bool short_index_keys = true;
  OutlineOptions outlines = {};
};

inline constexpr double kMoreBitsPerKeyMax = 8;

class SegmentBuilder {
 public:
  // `generation` is that of the view being made: every block written here is born in it.
  SegmentBuilder(const TableEnvironment& environment, TableId table, Generation generation, uint32_t ordinal,
                 TableWriter& writer, const SegmentOptions& options);

  // Internal keys ascend strictly (checked), blocks that are kept included. `standing`: of the block that the
  // record comes from. A block that is made for the most part of what was cached is cached, too, before it is
  // written: nobody asks for it before its view is installed. Who gives up the next generation of a table
  // erases it; the id of a new table is not used again.
  void Add(std::string_view internal_key, std::string_view value,
           CacheStanding standing = CacheStanding::kAbsent);
  // About so many bytes are added before the next Keep or CutEvenly: they are cut into blocks of one size,
  // none much smaller or larger than the target, but that they may be smaller to fit into holes. Without it
  // the last block is what is left.
  void CutEvenly(uint64_t bytes);
  uint64_t EstimatedBytes() const;
  bool CanCutBefore(std::string_view user_key) const;
  uint64_t entries() const { return descriptor_.entries; }

  // Writes what is open, the filter, the index and the footer. Precondition: entries() > 0.
  SegmentDescriptor Finish();
  // Before Finish, after the last Add, for a segment that may have many keys: makes its filter in slices,
  // between which others run. Must not outlive this.
  Task<void> BuildFilter();

  // Before anything else, to make the next generation of a segment whose clean blocks stay where they are.
  void MendSegment(const SegmentDescriptor& before);
  // A data block of the segment before, or a span of one, whose keys come behind all that were added so far.
  // `key_bytes_min`: of the entry's keys; of a span, what tells it from the rest of its block.
  void Keep(IndexEntry entry, IndexKeyBytes key_bytes_min);
  // Of the user keys that were added: what the mended filter must hold besides.
  const std::vector<uint64_t>& hashes() const { return filter_.hashes(); }
  // As Finish, with the old filter: its changed pages are written, the others stay. `kept_tombstones` are in
  // the blocks that were kept: the index does not count them. Of what is kept
  // `kept_live_bytes` count: of a block with spans, not all does. Kept entries are as hot as the segment's
  // were on average.
  SegmentDescriptor FinishMended(MendedFilter filter, uint64_t kept_tombstones, uint64_t kept_live_bytes);

 private:
  void BeginBlock();
  void FinishBlock();
  void CacheAsSuccessor(const BlockHandle& handle, std::string_view block);
  void CountSpanBlocks();
  double FilterBitsPerKey() const;
  double FilterReserve() const;
  uint64_t AddedHotness() const;
  // A filter page or a footer: it enters the cache with the data blocks that nobody finds without it.
  BlockHandle WriteGuide(std::string& block, BlockKind kind);
  SegmentDescriptor WriteIndexAndFooter(const FilterGeometry& geometry,
                                        const std::vector<BlockHandle>& pages);

  TableEnvironment environment_;
  TableId table_;
  Generation generation_;
  uint32_t ordinal_;
  TableWriter& writer_;
  SegmentOptions options_;
  BlockIdentity identity_;
  BlockBuilder block_;
  OutlineBuilder outline_;
  IndexBuilder index_;
  FilterBuilder filter_;
  std::optional<FilterBuilder::Image> built_filter_;
  // Of the open block: the size to come near to, and the room where it is to go.
  uint64_t block_target_;
  uint64_t block_room_ = UINT64_MAX;
  // Of what CutEvenly announced, what has not been added; 0: nothing was announced.
  uint64_t stretch_bytes_ = 0;
  // Of the open block's records, keys and values: those from cached blocks, and of them, from proven ones.
  uint64_t cached_bytes_ = 0;
  uint64_t proven_bytes_ = 0;
  // One data block at least has entered the cache.
  bool is_cached_ = false;
  std::string block_smallest_;  // user key
  std::string last_key_;        // internal key
  SegmentDescriptor descriptor_;
  uint64_t new_data_bytes_ = 0;
  // Table offsets of blocks of which spans were kept.
  std::vector<BlockHandle> span_blocks_;
  // Of the segment that is mended, and how many of its entries were kept.
  std::optional<SegmentDescriptor> before_;
  uint64_t kept_entries_ = 0;
};

}  // namespace varve
