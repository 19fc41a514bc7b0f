// Point lookups: one walk through one table, which stops wherever a block is missing and goes on once it is
// there: the cached path and the reading path are the same code.
//
// Threads: one at a time; it may go on on another executor. Errors: kCorruption (bytes that fail a check,
// with table, offset and reason), kUnsupported (a record kind or feature that this version does not know),
// and kDeviceError of reads.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/base/checksum.h"
#include "engine/base/pinned_value.h"
#include "engine/base/result.h"
#include "engine/table/block_reader.h"
#include "engine/table/data_block.h"
#include "engine/table/index_block.h"
#include "engine/table/lookup_readahead.h"
#include "engine/table/segment_directory.h"
#include "engine/table/segment_footer.h"
#include "engine/table/table_environment.h"
#include "engine/table/table_view.h"

namespace varve {

// A search for the newest version of a key that is visible at a snapshot. Hashed once, for all tables asked.
// `user_key` must outlive it.
struct PointQuery {
  PointQuery(std::string_view key, SequenceNumber at) : user_key(key), snapshot(at), hash(Hash64(key)) {}

  std::string_view user_key;
  SequenceNumber snapshot;
  uint64_t hash;
};

struct TableLookup {
  // kInBlock: of a search that ends before data blocks, the key may be in one.
  enum class Kind : uint8_t { kAbsent, kTombstone, kValue, kInBlock };
  Kind kind = Kind::kAbsent;
  // Of the version found.
  SequenceNumber sequence;
  PinnedValue value;
  // Filters that were asked, and those that let the lookup go on to a segment without the key.
  uint16_t filters_asked = 0, filters_misled = 0;
};

// A found key costs one data block at most; segments are asked newest first, each behind its filter, which
// is asked before the footer once `directories` say where it lies, and before anything else once it is held.
// So are footers, and the blocks of an index.
//
//   TableLookupWalk walk(environment, view, directories);
//   while (!walk.Run(query)) {
//     Result<BlockRef> block = co_await walk.ReadWanted(fill);
//     if (!block.ok()) { … } walk.Provide(std::move(*block));
//   }
//   Result<TableLookup> found = walk.TakeResult();
enum class LookupDepth : uint8_t {
  kRecord,
  // Filters and the ranges of blocks only: kInBlock where none of them says that the key is absent.
  kBlock,
};

// What a lookup that has to read leaves in the block cache.
enum class CacheFill : uint8_t {
  kNothing,
  // Who asks keeps what he gets: a block that holds nothing else does not enter.
  kAllButLoneValues,
  kAll,
};

class TableLookupWalk {
 public:
  // `directories` are the view's. All must outlive it: the caller pins the version that holds the view.
  TableLookupWalk(const TableEnvironment& environment, const TableView& view, SegmentDirectories& directories,
                  LookupDepth depth = LookupDepth::kRecord)
      : environment_(&environment),
        view_(&view),
        directories_(&directories),
        depth_(depth),
        segments_left_(view.segments.size()) {}

  // True: the walk has ended, and TakeResult() says how. False: it needs a block, to be read and provided.
  // The query is the same at each call; its key may lie elsewhere.
  bool Run(const PointQuery& query);
  // Reads it. With `readahead`, unless nothing is to enter the cache, and where lookups go through the table
  // in order, blocks behind it enter the cache by the same read.
  Task<Result<BlockRef>> ReadWanted(CacheFill fill, LookupReadahead* readahead = nullptr) const;
  // What it needs, after a Run that answered false; and whether the filter of the segment that it is in says
  // that the key may be there.
  const BlockHandle& wanted() const { return wanted_; }
  BlockKind wanted_kind() const { return wanted_kind_; }
  bool filter_passed() const { return filter_passed_; }
  // The data block that may hold the key, once a walk to the depth of blocks has answered kInBlock.
  const BlockHandle& data_block() const { return child_; }
  void Provide(BlockRef block) { provided_ = std::move(block); }
  // Before the first Run: the filters of so many segments, from the newest on, have said that they do not
  // hold the key (SegmentDirectories::TurnedAway). Less than all.
  void PassOver(size_t segments) {
    segments_left_ -= segments;
    filters_asked_ = static_cast<uint16_t>(segments);
  }
  // Before the first Run: the walk is to stop, once, before it looks into a data block, since filters and
  // indexes say that the table may hold the key. Run() is false then, and the next one goes on.
  void StopBeforeData() { stop_before_data_ = true; }
  bool stopped_before_data() const { return stopped_before_data_; }
  Result<TableLookup> TakeResult();

 private:
  enum class Stage : uint8_t { kSegment, kRange, kFilter, kFooter, kIndex, kData };
  enum class Outcome : uint8_t { kGoOn, kNeedsBlock, kNextSegment, kEnded };

  Outcome RunSegment(const PointQuery& query);
  Outcome RunRange(const PointQuery& query);
  Outcome RunFooter();
  void EnterIndex(const SegmentFooter& footer);
  void EnterBelow(const IndexBlock& index, HeldIndexes* held_below);
  Outcome RunFilter(const PointQuery& query);
  Outcome RunIndex(const PointQuery& query);
  Outcome RunData(const PointQuery& query);
  Outcome Answer(const FoundVersion& found, BlockRef block);
  // Empty: then it is wanted.
  BlockRef Fetch(const BlockHandle& handle, BlockKind kind, HeldBlock* held = nullptr);
  // Data blocks that lie behind the wanted one without a gap, up to `bytes` from its start.
  std::vector<BlockHandle> BlocksBehind(uint64_t bytes) const;
  // Answers by the page of the filter that is asked.
  Outcome AskFilter(const PointQuery& query, std::string_view page);
  const SegmentDescriptor& segment() const { return view_->segments[segments_left_ - 1]; }
  Outcome Fail(uint64_t table_offset, std::string_view what);

  const TableEnvironment* environment_;
  const TableView* view_;
  SegmentDirectories* directories_;
  LookupDepth depth_;
  size_t segments_left_;
  Stage stage_ = Stage::kSegment;
  // Of the segment that is asked, as far as they are known.
  SegmentDirectory* directory_ = nullptr;
  bool filter_passed_ = false;
  bool stop_before_data_ = false;
  bool stopped_before_data_ = false;
  // What index_ lies in, unless directory_ holds that.
  BlockRef footer_block_;
  BlockRef index_block_;
  IndexBlock index_;
  // Of what index_ names; nullptr: that is data, or index_ is not held.
  HeldIndexes* held_below_ = nullptr;
  // Of the data block, in index_; and whether it holds one record.
  uint32_t child_at_ = 0;
  bool child_is_lone_ = false;
  uint8_t levels_left_ = 0;
  uint16_t filters_asked_ = 0, filters_passed_ = 0;
  BlockHandle child_;
  BlockHandle wanted_;
  BlockKind wanted_kind_ = BlockKind::kFooter;
  BlockRef provided_;
  Result<TableLookup> result_ = TableLookup{};
};

}  // namespace varve
