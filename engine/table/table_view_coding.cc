// The manifest's bytes of a TableView (docs/on-disk/table.md, "Views").
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/counter_limit.h"
#include "engine/table/filter.h"
#include "engine/table/table_view.h"

namespace varve {
namespace {

// A field is: varint number << 1 | must-understand, length-prefixed payload. Numbers never change their
// meaning.
enum class ViewField : uint64_t {
  kId = 1,
  kGeneration,
  kStamp,
  kExtents,
  kUsedBytes,
  kSegment,
  kSmallest,
  kLargest,
  kPurgedUpTo
};
enum class SegmentField : uint64_t {
  kFooter = 1,
  kCounts,
  kSmallest,
  kLargest,
  kSequences,
  kFilter,
  kRangeTombstones
};

template <typename Field>
void AppendField(std::string& to, Field field, std::string_view payload) {
  AppendVarint(to, static_cast<uint64_t>(field) << 1 | 1);
  AppendLengthPrefixed(to, payload);
}

// What a reader may pass over that does not know it.
template <typename Field>
void AppendSkippableField(std::string& to, Field field, std::string_view payload) {
  AppendVarint(to, static_cast<uint64_t>(field) << 1);
  AppendLengthPrefixed(to, payload);
}

template <typename Field>
void AppendNumbers(std::string& to, Field field, std::initializer_list<uint64_t> numbers) {
  std::string payload;
  for (const uint64_t number : numbers) {
    AppendVarint(payload, number);
  }
  AppendField(to, field, payload);
}

std::string EncodeHandle(const BlockHandle& handle) {
  std::string payload;
  AppendVarint(payload, handle.table_offset);
  AppendVarint(payload, handle.bytes);
  AppendVarint(payload, handle.birth.value);
  AppendFixed(payload, handle.checksum);
  return payload;
}

std::string EncodeSegment(const SegmentDescriptor& segment) {
  std::string bytes;
  AppendField(bytes, SegmentField::kFooter, EncodeHandle(segment.footer));
  AppendNumbers(bytes, SegmentField::kCounts,
                {segment.entries, segment.tombstones, segment.data_blocks, segment.data_bytes,
                 segment.live_bytes, segment.meta_bytes});
  AppendField(bytes, SegmentField::kSmallest, segment.smallest);
  AppendField(bytes, SegmentField::kLargest, segment.largest);
  AppendNumbers(bytes, SegmentField::kSequences,
                {segment.smallest_sequence.value, segment.largest_sequence.value});
  if (segment.filter.capacity > 0) {
    std::string filter;
    AppendVarint(filter, segment.filter.capacity);
    AppendVarint(filter, segment.filter.insertions);
    AppendVarint(filter, segment.filter.probes);
    AppendFixed(filter, segment.filter.bits_per_key);
    AppendField(bytes, SegmentField::kFilter, filter);
  }
  if (segment.range_tombstones) {
    AppendField(bytes, SegmentField::kRangeTombstones, EncodeHandle(*segment.range_tombstones));
  }
  return bytes;
}

// Takes numbers off a payload; remembers whether they were all there.
class Numbers {
 public:
  explicit Numbers(std::string_view payload) : decoder_(payload) {}

  uint64_t Next() {
    const std::optional<uint64_t> number = decoder_.Varint();
    complete_ = complete_ && number.has_value();
    return number.value_or(0);
  }
  uint32_t Next32() {
    const uint64_t number = Next();
    complete_ = complete_ && number <= UINT32_MAX;
    return static_cast<uint32_t>(number);
  }
  template <typename Fixed>
  Fixed NextFixed() {
    const std::optional<Fixed> number = decoder_.Fixed<Fixed>();
    complete_ = complete_ && number.has_value();
    return number.value_or(Fixed{});
  }
  bool more() const { return complete_ && !decoder_.empty(); }
  // Every number was there, and nothing is left.
  bool complete() const { return complete_ && decoder_.empty(); }

 private:
  Decoder decoder_;
  bool complete_ = true;
};

bool DecodeHandle(std::string_view payload, BlockHandle& handle) {
  Numbers numbers(payload);
  handle.table_offset = numbers.Next();
  handle.bytes = numbers.Next32();
  handle.birth = Generation(numbers.Next());
  handle.checksum = numbers.NextFixed<uint32_t>();
  return numbers.complete();
}

bool DecodeExtents(std::string_view payload, std::vector<TableExtent>& extents) {
  Numbers numbers(payload);
  while (numbers.more()) {
    TableExtent part;
    part.table_offset = numbers.Next();
    part.extent.first_unit = numbers.Next32();
    part.extent.units = numbers.Next32();
    extents.push_back(part);
  }
  return numbers.complete();
}

// Calls `take(number, payload)` for each field; it answers true, false (malformed) or nullopt (unknown).
template <typename Take>
Status DecodeFields(std::string_view bytes, std::string_view what, const Take& take) {
  Decoder decoder(bytes);
  while (!decoder.empty()) {
    const std::optional<uint64_t> tag = decoder.Varint();
    const std::optional<std::string_view> payload = decoder.LengthPrefixed();
    if (!tag || !payload) {
      return Corruption(fmt::format("{}: a field is cut short", what));
    }
    const std::optional<bool> taken = take(*tag >> 1, *payload);
    if (!taken && (*tag & 1) != 0) {
      return Unsupported(fmt::format("{}: field {} is of a later version", what, *tag >> 1));
    }
    if (taken && !*taken) {
      return Corruption(fmt::format("{}: field {} is malformed", what, *tag >> 1));
    }
  }
  return OkStatus();
}

Status DecodeSegment(std::string_view bytes, SegmentDescriptor& segment) {
  return DecodeFields(bytes, "segment",
                      [&](uint64_t number, std::string_view payload) -> std::optional<bool> {
                        Numbers numbers(payload);
                        switch (static_cast<SegmentField>(number)) {
                          case SegmentField::kFooter:
                            return DecodeHandle(payload, segment.footer);
                          case SegmentField::kCounts:
                            segment.entries = numbers.Next();
                            segment.tombstones = numbers.Next();
                            segment.data_blocks = numbers.Next();
                            segment.data_bytes = numbers.Next();
                            segment.live_bytes = numbers.Next();
                            segment.meta_bytes = numbers.Next();
                            return numbers.complete();
                          case SegmentField::kSmallest:
                            segment.smallest = payload;
                            return true;
                          case SegmentField::kLargest:
                            segment.largest = payload;
                            return true;
                          case SegmentField::kSequences:
                            segment.smallest_sequence = SequenceNumber(numbers.Next());
                            segment.largest_sequence = SequenceNumber(numbers.Next());
                            return numbers.complete();
                          case SegmentField::kFilter:
                            segment.filter.capacity = numbers.Next();
                            segment.filter.insertions = numbers.Next();
                            segment.filter.probes = numbers.Next32();
                            segment.filter.bits_per_key = numbers.NextFixed<double>();
                            return numbers.complete();
                          case SegmentField::kRangeTombstones:
                            return DecodeHandle(payload, segment.range_tombstones.emplace());
                        }
                        return std::nullopt;
                      });
}

// What is wrong with a segment by itself, or empty.
std::string_view FaultOf(const SegmentDescriptor& segment, uint64_t used_bytes) {
  if (segment.smallest.size() < kTrailerBytes || segment.largest.size() < kTrailerBytes) {
    return "a segment's key is too short";
  }
  if (CompareInternalKeys(segment.smallest, segment.largest) > 0) {
    return "a segment's range is inverted";
  }
  if (segment.entries == 0 || segment.data_blocks == 0 || segment.tombstones > segment.entries ||
      segment.data_blocks > segment.entries || segment.live_bytes > segment.data_bytes) {
    return "a segment's counts do not add up";
  }
  if (segment.smallest_sequence > segment.largest_sequence || segment.largest_sequence > kSequenceNumberMax) {
    return "a segment's sequence numbers are inverted";
  }
  if (segment.footer.table_offset > used_bytes ||
      segment.footer.bytes > used_bytes - segment.footer.table_offset || segment.footer.bytes == 0) {
    return "a segment's footer lies outside the table";
  }
  const FilterDescriptor& filter = segment.filter;
  if (filter.insertions > filter.capacity || filter.probes > kFilterProbesMax ||
      !std::isfinite(filter.bits_per_key) || filter.bits_per_key < 0) {
    return "a segment's filter does not add up";
  }
  return {};
}

std::string_view FaultOf(const TableView& view) {
  if (view.segments.empty() || view.segments.size() > kSegmentsMax) {
    return "the number of segments is out of range";
  }
  if (view.id.value > kCounterMax || view.generation.value > kCounterMax || view.stamp.value > kCounterMax ||
      view.purged_up_to > kSequenceNumberMax) {
    return "its numbers are out of range";
  }
  if (view.extents.empty() || view.smallest > view.largest) {
    return "it has no extents, or an inverted range";
  }
  uint64_t covered_end = 0;
  for (const TableExtent& part : view.extents) {
    if (part.table_offset < covered_end || part.table_offset % kExtentUnitBytes != 0 ||
        part.extent.units == 0 || part.extent.end_unit() > uint64_t{1} << 32 ||
        part.table_offset > UINT64_MAX - part.extent.bytes()) {
      return "its extents overlap or overflow";
    }
    covered_end = part.table_offset + part.extent.bytes();
  }
  if (view.used_bytes > covered_end) {
    return "its extents do not reach its end";
  }
  uint64_t room = view.used_bytes;
  for (const SegmentDescriptor& segment : view.segments) {
    const std::string_view fault = FaultOf(segment, view.used_bytes);
    if (!fault.empty()) {
      return fault;
    }
    if (segment.data_bytes > room || segment.meta_bytes > room - segment.data_bytes) {
      return "its segments hold more bytes than it has";
    }
    room -= segment.data_bytes + segment.meta_bytes;
    if (segment.smallest_user_key() < view.smallest || segment.largest_user_key() > view.largest) {
      return "a segment exceeds the table's range";
    }
  }
  return {};
}

}  // namespace

void AppendTableView(std::string& to, const TableView& view) {
  AppendNumbers(to, ViewField::kId, {view.id.value});
  AppendNumbers(to, ViewField::kGeneration, {view.generation.value});
  AppendNumbers(to, ViewField::kStamp, {view.stamp.value});
  std::string extents;
  for (const TableExtent& part : view.extents) {
    AppendVarint(extents, part.table_offset);
    AppendVarint(extents, part.extent.first_unit);
    AppendVarint(extents, part.extent.units);
  }
  AppendField(to, ViewField::kExtents, extents);
  AppendNumbers(to, ViewField::kUsedBytes, {view.used_bytes});
  for (const SegmentDescriptor& segment : view.segments) {
    AppendField(to, ViewField::kSegment, EncodeSegment(segment));
  }
  AppendField(to, ViewField::kSmallest, view.smallest);
  AppendField(to, ViewField::kLargest, view.largest);
  if (view.purged_up_to > SequenceNumber(0)) {
    std::string payload;
    AppendVarint(payload, view.purged_up_to.value);
    AppendSkippableField(to, ViewField::kPurgedUpTo, payload);
  }
}

Result<TableView> DecodeTableView(std::string_view bytes) {
  TableView view;
  Status of_segment;
  const Status decoded = DecodeFields(bytes, "table view",
                                      [&](uint64_t number, std::string_view payload) -> std::optional<bool> {
                                        Numbers numbers(payload);
                                        switch (static_cast<ViewField>(number)) {
                                          case ViewField::kId:
                                            view.id = TableId(numbers.Next());
                                            return numbers.complete();
                                          case ViewField::kGeneration:
                                            view.generation = Generation(numbers.Next());
                                            return numbers.complete();
                                          case ViewField::kStamp:
                                            view.stamp = InstallStamp(numbers.Next());
                                            return numbers.complete();
                                          case ViewField::kExtents:
                                            view.extents.clear();
                                            return DecodeExtents(payload, view.extents);
                                          case ViewField::kUsedBytes:
                                            view.used_bytes = numbers.Next();
                                            return numbers.complete();
                                          case ViewField::kSegment:
                                            of_segment = DecodeSegment(payload, view.segments.emplace_back());
                                            return of_segment.ok();
                                          case ViewField::kSmallest:
                                            view.smallest = payload;
                                            return true;
                                          case ViewField::kLargest:
                                            view.largest = payload;
                                            return true;
                                          case ViewField::kPurgedUpTo:
                                            view.purged_up_to = SequenceNumber(numbers.Next());
                                            return numbers.complete();
                                        }
                                        return std::nullopt;
                                      });
  if (!of_segment.ok()) {
    return of_segment.error();
  }
  if (!decoded.ok()) {
    return decoded.error();
  }
  const std::string_view fault = FaultOf(view);
  if (!fault.empty()) {
    return Corruption(fmt::format("table view {}: {}", view.id.value, fault));
  }
  return view;
}

}  // namespace varve
