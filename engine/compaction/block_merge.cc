#include "engine/compaction/block_merge.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "engine/base/internal_key.h"
#include "engine/compaction/block_split.h"
#include "engine/compaction/merge_loop.h"
#include "engine/compaction/output_space.h"
#include "engine/compaction/record_sink.h"
#include "engine/table/block_batch.h"
#include "engine/table/block_reader.h"
#include "engine/table/merging_iterator.h"

namespace varve {
namespace {

// Of dirty blocks that are read at once, whatever lies between them.
constexpr uint64_t kWindowBytes = 1 * kMiB;

class BlockMerge {
 public:
  BlockMerge(const JobEnvironment& environment, const BlockMergeInput& input, MergeRules& rules,
             SpaceReservation& reservation)
      : environment_(environment),
        input_(input),
        child_(*input.child),
        segment_before_(input.child->segments.front()),
        rules_(rules),
        extents_(environment.allocator, reservation),
        writer_(environment.table.device, extents_, IoPurpose::kCompaction, child_.extents, child_.used_bytes,
                0, HolesToUse()),
        segment_(environment.table, child_.id, child_.generation.Next(), 0, writer_,
                 environment.shape.OptionsOf(input.level)),
        sink_(segment_, writer_) {
    writer_.Tell(environment.table.cache, child_.id, std::nullopt);
    segment_.MendSegment(segment_before_);
  }

  Task<Result<ChildOutput>> Run() {
    Status status;
    const std::vector<MendStep>& steps = input_.plan->steps;
    for (size_t i = 0; i < steps.size() && status.ok(); ++i) {
      if (steps[i].merges) {
        status = co_await Merge(i);
      } else {
        Keep(steps[i]);
      }
    }
    if (status.ok() && segment_.entries() > 0) {
      status = co_await Finish();
    }
    if (!status.ok() || segment_.entries() == 0) {
      co_await writer_.Abandon();
    }
    if (!status.ok()) {
      co_return status.error();
    }
    co_return std::move(output_);
  }

 private:
  std::vector<TableRange> HolesToUse() const {
    if (!input_.reuse_holes) {
      return {};
    }
    return HolesOf(child_, input_.layout->UsedRanges(), environment_.table.device.sector_bytes());
  }

  void Keep(const MendStep& step) {
    for (size_t i = step.first_block; i < step.end_block; ++i) {
      IndexEntry& block = input_.layout->blocks[i];
      kept_.push_back(TableRange::Of(block.block));
      // Of a span, what lies beside it in the block is not known here.
      const IndexKeyBytes key_bytes_min = block.is_span ? IndexKeyBytes::All() : IndexKeyBytes();
      segment_.Keep(std::move(block), key_bytes_min);
    }
  }

  // The dirty blocks of one step, as many at a time as were read, each time with the records up to their end.
  Task<Status> Merge(size_t step_index) {
    const MendStep& step = input_.plan->steps[step_index];
    size_t block = step.first_block;
    size_t record = step.first_record;
    do {
      if (block < step.end_block && block >= window_end_) {
        Status read = co_await ReadWindow(step_index, block);
        if (!read.ok()) {
          co_return read;
        }
      }
      const size_t end_block = std::min(step.end_block, std::max(window_end_, block));
      size_t end_record = step.end_record;
      if (end_block < step.end_block) {
        end_record = FirstRecordBehind(input_.layout->blocks[end_block - 1].largest, record, step.end_record);
      }
      Status merged = co_await MergeWindow(block, end_block, record, end_record);
      if (!merged.ok()) {
        co_return merged;
      }
      block = end_block;
      record = end_record;
    } while (block < step.end_block);
    co_return OkStatus();
  }

  // Reads the dirty blocks from `block` on, of that step and those behind it.
  Task<Status> ReadWindow(size_t step_index, size_t block) {
    const std::vector<MendStep>& steps = input_.plan->steps;
    std::vector<BlockHandle> handles;
    uint64_t bytes = 0;
    for (; step_index < steps.size() && bytes < kWindowBytes; ++step_index) {
      const MendStep& step = steps[step_index];
      if (!step.merges) {
        continue;
      }
      for (block = std::max(block, step.first_block); block < step.end_block && bytes < kWindowBytes;
           ++block) {
        handles.push_back(input_.layout->blocks[block].block);
        bytes += handles.back().bytes;
        window_end_ = block + 1;
      }
    }
    Status status =
        co_await window_.Read(environment_.table, child_, std::move(handles), IoPurpose::kCompaction);
    output_.statistics.read_bytes += window_.bytes();
    co_return status;
  }

  size_t FirstRecordBehind(std::string_view user_key, size_t begin, size_t end) const {
    while (begin < end && UserKeyOf(input_.records->key(begin)) <= user_key) {
      ++begin;
    }
    return begin;
  }

  // Blocks [first_block, end_block) of the layout, which were read, and records [first_record, end_record).
  Task<Status> MergeWindow(size_t first_block, size_t end_block, size_t first_record, size_t end_record) {
    Status status;
    RecordRun replaced;
    Stretch stretch{first_record, first_record, 0, 0};
    size_t record = first_record;
    for (size_t i = first_block; i < end_block; ++i) {
      const IndexEntry& entry = input_.layout->blocks[i];
      if (slice_bytes_ >= kMergeSliceBytes) {
        status = co_await EndMergeSlice(environment_, std::exchange(slice_bytes_, 0));
        if (!status.ok()) {
          co_return status;
        }
      }
      slice_bytes_ += entry.block.bytes;
      const size_t behind = FirstRecordBehind(entry.largest, record, end_record);
      const BlockRef block = window_.Find(entry.block);
      Result<BlockSplit> split =
          SplitBlock(child_.id, entry, PayloadOf(block.bytes()), StandingOf(entry.block), *input_.records,
                     record, behind, input_.plan->keep_bytes_min, replaced);
      if (!split.ok()) {
        co_return split.error();
      }
      record = behind;
      replaced_bytes_ += split->replaced_bytes;
      for (KeptSpan& kept : split->kept) {
        stretch.end_record = kept.end_record;
        stretch.end_replaced = kept.end_replaced;
        status = co_await MergeStretch(stretch, replaced);
        if (!status.ok()) {
          co_return status;
        }
        stretch = {kept.end_record, kept.end_record, kept.end_replaced, kept.end_replaced};
        kept_.push_back(TableRange::Of(kept.span.block));
        segment_.Keep(std::move(kept.span), kept.key_bytes_min);
      }
    }
    for (size_t i = 0; i < replaced.size(); ++i) {
      dirty_tombstones_ += KindOf(replaced.key(i)) == RecordKind::kTombstone ? 1 : 0;
    }
    stretch.end_record = end_record;
    stretch.end_replaced = replaced.size();
    status = co_await MergeStretch(stretch, replaced);
    co_return status;
  }

  CacheStanding StandingOf(const BlockHandle& block) const {
    return environment_.carries_cached ? environment_.table.cache.StandingOf(CacheKeyOf(child_.id, block))
                                       : CacheStanding::kAbsent;
  }

  // Records that nothing kept lies between.
  struct Stretch {
    size_t first_record = 0;
    size_t end_record = 0;
    size_t first_replaced = 0;
    size_t end_replaced = 0;
  };

  Task<Status> MergeStretch(Stretch stretch, const RecordRun& replaced) {
    uint64_t bytes = 0;
    for (size_t i = stretch.first_record; i < stretch.end_record; ++i) {
      bytes += input_.records->key(i).size() + input_.records->value(i).size();
    }
    for (size_t i = stretch.first_replaced; i < stretch.end_replaced; ++i) {
      bytes += replaced.key(i).size() + replaced.value(i).size();
    }
    if (bytes == 0) {
      co_return OkStatus();
    }
    // A long one makes pauses of its own.
    slice_bytes_ += bytes < kMergeSliceBytes ? bytes : 0;
    segment_.CutEvenly(bytes);
    std::vector<std::unique_ptr<InternalIterator>> sources;
    sources.push_back(NewRunIterator(*input_.records, stretch.first_record, stretch.end_record, nullptr));
    sources.push_back(NewRunIterator(replaced, stretch.first_replaced, stretch.end_replaced, nullptr));
    const std::unique_ptr<InternalIterator> merged = NewMergingIterator(std::move(sources));
    Status status = co_await MergeRecords(environment_, *merged, rules_, nullptr, sink_, output_.statistics);
    co_return status;
  }

  Task<Status> Finish() {
    Result<MendedFilter> filter =
        co_await MendFilter(environment_.table, child_, input_.layout->filter, input_.layout->filter_pages,
                            segment_.hashes(), IoPurpose::kCompaction);
    if (!filter.ok()) {
      co_return filter.error();
    }
    // Counts that the blocks do not bear out come from the device.
    if (dirty_tombstones_ > segment_before_.tombstones) {
      co_return Corruption("a table holds more tombstones than its view counts");
    }
    const FilterDescriptor& before = segment_before_.filter;
    if (before.insertions + filter->insertions > before.capacity) {
      co_return Corruption("a filter denies keys of its table");
    }
    for (uint32_t page = 0; page < filter->pages.size(); ++page) {
      if (!filter->changed.contains(page)) {
        kept_.push_back(TableRange::Of(filter->pages[page]));
      }
    }
    TableView next = child_;
    next.generation = child_.generation.Next();
    next.purged_up_to = std::min(input_.child_purged_up_to, rules_.purged_up_to());
    next.segments.front() = segment_.FinishMended(
        std::move(filter).value(), segment_before_.tombstones - dirty_tombstones_,
        segment_before_.live_bytes - std::min(replaced_bytes_, segment_before_.live_bytes));
    Status written = co_await writer_.Finish();
    if (!written.ok()) {
      co_return written;
    }
    next.smallest = next.segments.front().smallest_user_key();
    next.largest = next.segments.front().largest_user_key();
    next.used_bytes = writer_.used_bytes();
    next.extents = writer_.extents();
    for (size_t i = child_.extents.size(); i < next.extents.size(); ++i) {
      output_.taken.push_back(next.extents[i].extent);
    }
    FindDeadBlocks();
    std::vector<TableRange> used = std::move(kept_);
    used.insert(used.end(), writer_.placed().begin(), writer_.placed().end());
    const std::vector<TableRange> holes =
        HolesOf(next, std::move(used), environment_.table.device.sector_bytes());
    next.extents = ExtentsWithout(next.extents, holes, next.used_bytes);
    output_.statistics.written_bytes += writer_.written_bytes();
    output_.statistics.tables_out += 1;
    output_.tables.push_back(std::move(next));
    co_return OkStatus();
  }

  // Among them the whole index, which is written anew each time.
  void FindDeadBlocks() {
    const auto begins_before = [](const TableRange& a, const TableRange& b) { return a.begin < b.begin; };
    std::sort(kept_.begin(), kept_.end(), begins_before);
    for (const BlockHandle& block : input_.layout->AllBlocks()) {
      if (!std::binary_search(kept_.begin(), kept_.end(), TableRange::Of(block), begins_before)) {
        output_.dead_blocks.push_back(CacheKeyOf(child_.id, block));
      }
    }
  }

  const JobEnvironment& environment_;
  const BlockMergeInput& input_;
  const TableView& child_;
  const SegmentDescriptor& segment_before_;
  MergeRules& rules_;
  JobExtents extents_;
  TableWriter writer_;
  SegmentBuilder segment_;
  SegmentSink sink_;
  std::vector<TableRange> kept_;
  // The dirty blocks before window_end_ that are still to be merged.
  BlockBatch window_;
  size_t window_end_ = 0;
  // Of the child's records that the merge took up.
  uint64_t dirty_tombstones_ = 0;
  uint64_t replaced_bytes_ = 0;
  // Merged since the last pause.
  uint64_t slice_bytes_ = 0;
  ChildOutput output_;
};

}  // namespace

Task<Result<ChildOutput>> RunBlockMerge(const JobEnvironment& environment, BlockMergeInput input,
                                        MergeRules& rules, SpaceReservation& reservation) {
  BlockMerge merge(environment, input, rules, reservation);
  Result<ChildOutput> output = co_await merge.Run();
  co_return output;
}

}  // namespace varve
