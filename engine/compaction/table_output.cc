#include "engine/compaction/table_output.h"

#include <utility>

namespace varve {

namespace {

// A table that ends where a grandparent ends does not make its own merge rewrite a grandparent for a sliver
// of it. So tables end at the last such place before they are full; one that is far from the next may be
// smaller, or larger, by so much.
constexpr uint64_t kSmallestPercent = 50;
constexpr uint64_t kLargestPercent = 150;
// Larger tables end where they fill their allocation units: one that ends behind that wastes most of a unit.
constexpr uint64_t kUnitsToFill = 16;

// What a flush writes goes into the next merge of level 0 but one, what that one writes down from level 1
// soon after, unless level 1 is appended to, and so as large as level 2 would be. Deeper tables lie for long.
std::optional<WrittenFor> WhatForAt(uint32_t level, const TableShape& shape) {
  if (level == 0) {
    return WrittenFor::kNextMerge;
  }
  return level == 1 && !shape.LimitsOf(level, {}).append ? std::optional(WrittenFor::kLaterMerge)
                                                         : std::nullopt;
}

}  // namespace

TableOutput::TableOutput(const JobEnvironment& environment, SpaceReservation& reservation,
                         TableOutputOptions options)
    : environment_(environment), options_(std::move(options)), source_(environment.allocator, reservation) {
}

bool TableOutput::NeedsCut(std::string_view user_key) {
  bool at_boundary = false;
  while (grandparent_ < options_.grandparents.size() &&
         options_.grandparents[grandparent_]->largest_key() < user_key) {
    overlapped_bytes_ += options_.grandparents[grandparent_]->valid_bytes();
    at_boundary = true;
    ++boundaries_;
    ++grandparent_;
  }
  if (builder_ == nullptr || options_.table_bytes == 0 || !builder_->CanCutBefore(user_key)) {
    return false;
  }
  const uint64_t bytes = builder_->EstimatedBytes();
  if (at_boundary) {
    return IsBestBoundary(bytes) || overlapped_bytes_ > options_.grandparent_bytes_max;
  }
  const bool boundary_ahead = grandparent_ < options_.grandparents.size();
  const uint64_t bytes_max = options_.table_bytes * (boundary_ahead ? kLargestPercent : 100) / 100;
  return bytes >= bytes_max || FillsItsUnits(bytes, bytes_max);
}

bool TableOutput::FillsItsUnits(uint64_t bytes, uint64_t bytes_max) const {
  if (bytes_max < kUnitsToFill * kExtentUnitBytes) {
    return false;
  }
  const uint64_t two_records = 2 * bytes / builder_->entries();
  // Padding to a sector before the footer and behind it.
  const uint64_t padding = 2 * uint64_t{environment_.table.device.sector_bytes()};
  return bytes + two_records + padding > RoundDown(bytes_max, kExtentUnitBytes);
}

bool TableOutput::IsBestBoundary(uint64_t bytes) const {
  // As far on as the last ones were apart.
  const uint64_t at_next = bytes + bytes / boundaries_;
  return bytes >= options_.table_bytes / 100 * kSmallestPercent && at_next > options_.table_bytes;
}

void TableOutput::Add(std::string_view internal_key, std::string_view value, CacheStanding standing) {
  if (builder_ == nullptr) {
    TableBuilderOptions options;
    options.id = environment_.new_table_id();
    options.segment = environment_.shape.OptionsOf(options_.level);
    options.segment.entries_beside = options_.entries_beside;
    options.purpose = options_.purpose;
    options.written_for = WhatForAt(options_.level, environment_.shape);
    if (options_.table_bytes > 0) {
      options.expected_bytes = options_.expected_bytes == 0
                                   ? options_.table_bytes
                                   : std::min(options_.table_bytes, options_.expected_bytes);
    } else if (options_.expected_bytes > 0) {
      options.expected_bytes = options_.expected_bytes;
    }
    builder_ = std::make_unique<TableBuilder>(environment_.table, source_, options);
    boundaries_ = 0;
    overlapped_bytes_ = 0;
  }
  builder_->Add(internal_key, value, standing);
}

Task<Status> TableOutput::Cut() {
  Result<TableView> view = co_await builder_->Finish();
  builder_.reset();
  if (!view.ok()) {
    co_return view.error();
  }
  finished_.push_back(std::move(view).value());
  co_return OkStatus();
}

Task<Result<std::vector<TableView>>> TableOutput::Finish() {
  Status status;
  if (builder_ != nullptr) {
    status = co_await Cut();
  }
  if (!status.ok()) {
    co_await Abandon();
    co_return status.error();
  }
  co_return std::exchange(finished_, {});
}

Task<void> TableOutput::Abandon() {
  if (builder_ != nullptr) {
    co_await builder_->Abandon();
    builder_.reset();
  }
  for (const TableView& view : finished_) {
    environment_.table.cache.EraseTable(view.id);
    for (const TableExtent& part : view.extents) {
      source_.GiveBack(part.extent);
    }
  }
  finished_.clear();
}

}  // namespace varve
