#include "engine/compaction/append_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "engine/compaction/merge_loop.h"
#include "engine/compaction/output_space.h"
#include "engine/compaction/record_sink.h"
#include "engine/table/shadow_estimate.h"

namespace varve {
namespace {

void CountAsShadowed(SegmentDescriptor& segment, uint64_t entries) {
  const double share = static_cast<double>(entries) / static_cast<double>(segment.entries);
  const auto bytes = static_cast<uint64_t>(std::min(share, 1.0) * static_cast<double>(segment.live_bytes));
  segment.live_bytes -= std::min(bytes, segment.live_bytes);
}

}  // namespace

Task<Result<ChildOutput>> RunAppendMerge(const JobEnvironment& environment, AppendMergeInput input,
                                         MergeRules& rules, SpaceReservation& reservation) {
  const TableView& child = *input.child;
  for (const SegmentDescriptor& segment : child.segments) {
    if (segment.range_tombstones) {
      co_return Unsupported(fmt::format("table {} has range tombstones", child.id.value));
    }
  }
  // A segment that is not the only one is never mended: its filter needs no reserve.
  SegmentOptions options = environment.shape.OptionsOf(input.level);
  options.filter_reserve = 0;
  options.entries_beside = child.entries();
  JobExtents extents(environment.allocator, reservation);
  TableWriter writer(environment.table.device, extents, IoPurpose::kCompaction, child.extents,
                     child.used_bytes, input.expected_bytes);
  writer.Tell(environment.table.cache, child.id, std::nullopt);
  const Generation generation = child.generation.Next();
  SegmentBuilder segment(environment.table, child.id, generation,
                         static_cast<uint32_t>(child.segments.size()), writer, options);
  SegmentSink sink(segment, writer);
  ChildOutput output;
  Status status = co_await MergeRecords(environment, *input.records, rules, nullptr, sink, output.statistics);
  if (status.ok() && segment.entries() == 0) {
    if (output.statistics.entries_in == 0) {
      status = Corruption("a merge found no record where there were some");
    } else {
      co_await writer.Abandon();
      output.tables.push_back(child);
      co_return output;
    }
  }
  std::vector<uint64_t> shadowed;
  if (status.ok()) {
    Result<std::vector<uint64_t>> estimate =
        co_await EstimateShadowed(environment.table, child, segment.hashes(), IoPurpose::kCompaction);
    if (estimate.ok()) {
      shadowed = std::move(estimate).value();
    } else {
      status = estimate.error();
    }
  }
  if (!status.ok()) {
    co_await writer.Abandon();
    co_return status.error();
  }
  TableView next = child;
  next.generation = generation;
  next.purged_up_to = std::min(input.child_purged_up_to, rules.purged_up_to());
  for (size_t i = 0; i < child.segments.size(); ++i) {
    CountAsShadowed(next.segments[i], shadowed[i]);
  }
  co_await segment.BuildFilter();
  next.segments.push_back(segment.Finish());
  status = co_await writer.Finish();
  if (!status.ok()) {
    co_return status.error();
  }
  next.extents = writer.extents();
  next.used_bytes = writer.used_bytes();
  next.smallest = std::min(child.smallest, std::string(next.segments.back().smallest_user_key()));
  next.largest = std::max(child.largest, std::string(next.segments.back().largest_user_key()));
  for (size_t i = child.extents.size(); i < next.extents.size(); ++i) {
    output.taken.push_back(next.extents[i].extent);
  }
  output.statistics.written_bytes += writer.written_bytes();
  output.statistics.tables_out += 1;
  output.tables.push_back(std::move(next));
  co_return output;
}

}  // namespace varve
