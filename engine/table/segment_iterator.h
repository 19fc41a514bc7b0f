// SegmentIterator: walks one segment: footer, index levels, data blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/table/block_batch.h"
#include "engine/table/block_reader.h"
#include "engine/table/index_block.h"
#include "engine/table/internal_iterator.h"
#include "engine/table/passing_read.h"
#include "engine/table/read_ahead_walk.h"
#include "engine/table/readahead.h"
#include "engine/table/segment_footer.h"
#include "engine/table/span_cursor.h"
#include "engine/table/table_reader.h"

namespace varve {

// `environment`, `view` and `segment` (one of the view's) must outlive it.
class SegmentIterator final : public InternalIterator {
 public:
  SegmentIterator(const TableEnvironment& environment, const TableView& view,
                  const SegmentDescriptor& segment, TableIteratorOptions options);

  Step Seek(std::string_view internal_key) override;
  Step SeekForPrev(std::string_view internal_key) override;
  Step SeekToFirst() override;
  Step SeekToLast() override;
  Step Next() override;
  Step Prev() override;
  Task<void> Load() override;

  bool Valid() const override { return data_.Valid(); }
  std::string_view key() const override { return data_.key(); }
  std::string_view value() const override { return data_.value(); }
  Status status() const override { return status_; }
  CacheStanding standing() const override { return standing_; }

 private:
  // What a walk by outlines reads ahead: half a megabyte, which stands for eight thousand records of 1 KiB.
  static constexpr uint32_t kIndexBlocksAhead = 16;

  // Where in the blocks below it a descent goes.
  enum class Goal : uint8_t { kFirst, kLast, kAtOrAfter, kAtOrBefore };

  // One level of the index, and the entry that the walk is in. The root's block is the footer.
  struct Cursor {
    BlockRef block;
    IndexBlock index;
    uint32_t at = 0;
    WalkEnd walk_end;
  };

  Step StartDescent(Goal goal, std::string_view target);
  // Goes down until the walk stands on an entry, has ended or failed, or a block is missing.
  Step Descend();
  // The steps of a descent answer false when it goes no further: something is missing, or the walk has ended
  // or failed.
  bool OpenFooter();
  bool ChooseEntry();
  bool OpenChildIndex(const BlockHandle& handle);
  bool OpenData(const IndexBlock::Entry& entry);
  void OpenOutline(const IndexBlock::Entry& entry);
  bool PositionInData();
  // To the neighbouring data block, whose entries are then entered at their near end; false: there is none.
  bool AdvancePath();
  bool RetreatPath();
  // After a failure: true when the walk may pass over damage, and has come to a neighbouring block.
  bool PassOver();
  // What blocks hold may be in any order, and indexes may name one block many times: a walk ends only because
  // each block that it comes to lies wholly behind the last one. False: it does not, and the walk has failed.
  bool LeaveBlock(bool forward);
  bool EnterBlock(bool forward);
  // After a move within the data block that found an entry.
  Step CheckRecord();

  // The block; or empty: missing, and wanted_ says which, or the walk has failed.
  BlockRef Fetch(const BlockHandle& handle, BlockKind kind);
  Task<Result<BlockRef>> LoadWanted();
  // A walk by outlines comes to the next index blocks soon. Precondition: the path ends above an index block.
  void ReadIndexAhead();
  // Empty: it is not there.
  BlockRef TakeFromBatch(const BlockHandle& handle);
  // `at`: where in the window it lies.
  BlockRef TakeFromWindow(const BlockHandle& handle, uint64_t at);
  BlockRef TakeFromPassing(const BlockHandle& handle);
  // Of passing_, which holds the wanted block.
  Task<Result<BlockRef>> LoadFromPassing();
  // The walk reads up to that table offset, or finds what was read ahead of it.
  void ReadOn(uint64_t end);
  bool EndsBefore(const IndexBlock::Entry& entry) const;
  Cursor CursorOf(BlockRef block, const IndexBlock& index) const;
  // The wanted data block and its followers that lie behind it, within `bytes_max`.
  struct Run {
    uint64_t end = 0;
    // Within `bytes_max` the next one lies elsewhere.
    bool breaks_off = false;
  };
  Run RunFrom(uint64_t bytes_max) const;
  // Goes on over what entries [first, end) of `index` name. False: the run ends there.
  bool Extend(Run& run, const IndexBlock& index, uint32_t first, uint32_t end, uint64_t bytes_max) const;
  bool goes_backwards() const { return goal_ == Goal::kAtOrBefore || goal_ == Goal::kLast; }
  // Of the data block that is open or wanted.
  ReadAheadWalk::Place PlaceAhead(const BlockHandle& block) const;
  void Fail(Error error);
  void FailCorrupt(uint64_t table_offset, std::string_view what);

  const TableEnvironment& environment_;
  const TableView& view_;
  const SegmentDescriptor& segment_;
  const TableIteratorOptions options_;

  Goal goal_ = Goal::kFirst;
  std::string target_;  // internal key, of the seeking goals
  std::vector<Cursor> path_;
  // Whether path_.back().at is the entry to go down into.
  bool chosen_ = false;
  SegmentFooter footer_;
  // Read ahead of a sequential walk.
  BlockBatch batch_;
  std::shared_ptr<PassingRead> passing_;
  // The streams of reads (read_streams.h) know this walk.
  bool noted_ = false;
  BlockRef data_block_;
  BlockHandle open_block_;
  uint64_t data_offset_ = 0;
  // Of the open data block, where that is noticed.
  CacheStanding standing_ = CacheStanding::kAbsent;
  SpanCursor data_;
  // The internal key by which the walk entered its block, or left the one before; empty: it began here.
  std::string edge_;
  uint64_t passed_over_ = 0;
  // Reads that the walk waits for, and reads that it does not.
  Readahead readahead_;
  ReadAheadWalk ahead_;

  bool missing_ = false;
  BlockHandle wanted_;
  BlockKind wanted_kind_ = BlockKind::kFooter;
  BlockRef provided_;
  Status status_;
};

}  // namespace varve
