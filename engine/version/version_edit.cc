#include "engine/version/version_edit.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/base/counter_limit.h"
#include "engine/table/key_hotness.h"
#include "engine/version/version_builder.h"
#include "engine/version/version_edit_format.h"

namespace varve {

namespace {

// Of a snapshot, in one record: with the longest keys they take a good part of what one may have.
constexpr size_t kRangeTombstonesPerEdit = 4096;

void AppendField(std::string& to, EditTag tag, std::string_view payload) {
  AppendVarint(to, static_cast<uint64_t>(tag));
  AppendLengthPrefixed(to, payload);
}

void AppendNumber(std::string& to, EditTag tag, uint64_t number) {
  std::string payload;
  AppendVarint(payload, number);
  AppendField(to, tag, payload);
}

template <typename Number>
void AppendCounter(std::string& to, EditTag tag, const std::optional<Number>& counter) {
  if (counter.has_value()) {
    AppendNumber(to, tag, counter->value);
  }
}

void AppendPlace(std::string& to, Place place) {
  AppendVarint(to, place.level);
  AppendVarint(to, static_cast<uint64_t>(place.part));
}

void AppendWalSegment(std::string& to, const WalSegment& segment) {
  std::string payload;
  AppendVarint(payload, segment.number);
  AppendVarint(payload, segment.extent.first_unit);
  AppendVarint(payload, segment.extent.units);
  AppendVarint(payload, segment.epoch.value);
  AppendVarint(payload, segment.epoch_first_lsn.value);
  AppendField(to, EditTag::kAddedWalSegment, payload);
}

void AppendHotness(std::string& to, const TableView& view) {
  std::string payload;
  AppendVarint(payload, view.id.value);
  AppendVarint(payload, view.generation.value);
  AppendVarint(payload, view.segments.size());
  for (const SegmentDescriptor& segment : view.segments) {
    AppendVarint(payload, segment.hotness);
  }
  AppendField(to, EditTag::kTableHotness, payload);
}

// Reads the payload of one field. After a read beyond its end, or of a number that is too large, ok() stays
// false.
class PayloadReader {
 public:
  explicit PayloadReader(std::string_view payload) : decoder_(payload) {}

  uint64_t Number() {
    const std::optional<uint64_t> number = decoder_.Varint();
    ok_ = ok_ && number.has_value();
    return number.value_or(0);
  }
  // What the store counts up.
  uint64_t Counter() {
    const uint64_t number = Number();
    ok_ = ok_ && number <= kCounterMax;
    return number;
  }
  template <typename Kind>
  Kind Strong() {
    return Kind(Counter());
  }
  std::string Bytes() {
    const std::optional<std::string_view> bytes = decoder_.LengthPrefixed();
    ok_ = ok_ && bytes.has_value();
    return std::string(bytes.value_or(std::string_view()));
  }
  uint32_t LevelNumber() {
    const uint64_t level = Number();
    ok_ = ok_ && level < kLevels;
    return static_cast<uint32_t>(level);
  }
  Place ReadPlace() {
    const uint32_t level = LevelNumber();
    const uint64_t part = Number();
    ok_ = ok_ && part <= kPartMax;
    return {level, static_cast<Part>(part)};
  }
  WalSegment Segment() {
    WalSegment segment;
    segment.number = Counter();
    const uint64_t first_unit = Number();
    const uint64_t units = Number();
    segment.epoch = Strong<RecoveryEpoch>();
    segment.epoch_first_lsn = Strong<Lsn>();
    constexpr uint64_t kUnitsMax = uint64_t{1} << 32;
    ok_ = ok_ && units > 0 && units < kUnitsMax && first_unit < kUnitsMax - units;
    segment.extent = {static_cast<uint32_t>(first_unit), static_cast<uint32_t>(units)};
    return segment;
  }
  std::string_view Rest() {
    const std::string_view rest = decoder_.rest();
    return decoder_.Bytes(rest.size()).value_or(std::string_view());
  }

  bool ok() const { return ok_; }
  bool ended() const { return ok_ && decoder_.empty(); }

 private:
  Decoder decoder_;
  bool ok_ = true;
};

// Into the table that was added last under this name.
Status DecodeHotness(PayloadReader& reader, std::vector<VersionEdit::AddedTable>& added_tables) {
  const auto id = reader.Strong<TableId>();
  const auto generation = reader.Strong<Generation>();
  const uint64_t segments = reader.Number();
  const auto added = std::find_if(added_tables.rbegin(), added_tables.rend(), [&](const auto& table) {
    return table.view.id == id && table.view.generation == generation;
  });
  if (added == added_tables.rend() || added->view.segments.size() != segments) {
    return Corruption(
        fmt::format("a manifest record says how hot table {} is, which it does not add so", id.value));
  }
  for (SegmentDescriptor& segment : added->view.segments) {
    segment.hotness = reader.Number();
    if (segment.hotness > KeyHotness::MostOf(segment.entries)) {
      return Corruption(fmt::format("table {} is hotter than its entries can be", id.value));
    }
  }
  return {};
}

// Reads one known field into `edit`.
Status DecodeField(EditTag tag, std::string_view payload, VersionEdit& edit) {
  PayloadReader reader(payload);
  switch (tag) {
    case EditTag::kRemovedTable: {
      VersionEdit::RemovedTable removed;
      removed.place = reader.ReadPlace();
      removed.table.id = reader.Strong<TableId>();
      removed.table.generation = reader.Strong<Generation>();
      removed.table.smallest_key = reader.Bytes();
      edit.removed_tables.push_back(std::move(removed));
      break;
    }
    case EditTag::kAddedTable: {
      const Place place = reader.ReadPlace();
      const InstallStamp stamp = reader.Strong<InstallStamp>();
      Result<TableView> view = DecodeTableView(reader.Rest());
      if (!view.ok()) {
        return view.error();
      }
      edit.added_tables.push_back({place, stamp, std::move(view).value()});
      break;
    }
    case EditTag::kAddedRangeTombstone: {
      RangeTombstone tombstone;
      tombstone.sequence = reader.Strong<SequenceNumber>();
      tombstone.begin = reader.Bytes();
      tombstone.end = reader.Bytes();
      edit.added_range_tombstones.push_back(std::move(tombstone));
      break;
    }
    case EditTag::kRemovedRangeTombstone:
      edit.removed_range_tombstones.push_back(reader.Strong<SequenceNumber>());
      break;
    case EditTag::kAddedWalSegment:
      edit.added_wal_segments.push_back(reader.Segment());
      break;
    case EditTag::kReleasedWalSegment:
      edit.released_wal_segments.push_back(reader.Number());
      break;
    case EditTag::kLogStart:
      edit.log_start = reader.Strong<Lsn>();
      break;
    case EditTag::kLastSequence:
      edit.last_sequence = reader.Strong<SequenceNumber>();
      break;
    case EditTag::kEpoch:
      edit.epoch = reader.Strong<RecoveryEpoch>();
      break;
    case EditTag::kNextTableId:
      edit.next_table_id = reader.Strong<TableId>();
      break;
    case EditTag::kNextStamp:
      edit.next_stamp = reader.Strong<InstallStamp>();
      break;
    case EditTag::kNextWalSegment:
      edit.next_wal_segment = reader.Counter();
      break;
    case EditTag::kClean:
      edit.clean = true;
      break;
    case EditTag::kParameter: {
      std::string name = reader.Bytes();
      edit.parameters.insert_or_assign(std::move(name), reader.Bytes());
      break;
    }
    case EditTag::kHotMap:
      edit.hot_map = reader.Bytes();
      break;
    case EditTag::kTableHotness: {
      Status status = DecodeHotness(reader, edit.added_tables);
      if (!status.ok()) {
        return status;
      }
      break;
    }
    default:
      return Unsupported(fmt::format("the manifest holds a field {} of a later version of varve",
                                     static_cast<uint64_t>(tag)));
  }
  if (!reader.ended()) {
    return Corruption(fmt::format("field {} of a manifest record is malformed", static_cast<uint64_t>(tag)));
  }
  return {};
}

// The key range of a table that an edit removes; nullopt when the version does not have it.
std::optional<KeyRange> RangeOf(const Version& version, const VersionEdit::RemovedTable& removed) {
  if (removed.place.part == Part::kTree) {
    const LiveTable* table = version.tree(removed.place.level).Find(removed.table.smallest_key);
    return table == nullptr ? std::nullopt : std::optional<KeyRange>(table->range().Owned());
  }
  const std::vector<StampedTable>& placed =
      removed.place.part == Part::kLevel0 ? version.level0() : version.level(removed.place.level).log;
  for (const StampedTable& candidate : placed) {
    if (candidate->id() == removed.table.id) {
      return candidate->range().Owned();
    }
  }
  return std::nullopt;
}

}  // namespace

bool VersionEdit::ChangesOnlyBuffers() const {
  // Views are dear to copy.
  if (!added_tables.empty() || !removed_tables.empty()) {
    return false;
  }
  VersionEdit rest = *this;
  rest.trimmed_views.clear();
  rest.buffer_elements.clear();
  return rest == VersionEdit() && *this != rest;
}

void VersionEdit::RemoveTable(Place place, const LiveTable& table) {
  removed_tables.push_back({place, {table.id(), table.generation(), std::string(table.smallest_key())}});
}

std::string EncodeVersionEdit(const VersionEdit& edit) {
  std::string to;
  for (const VersionEdit::RemovedTable& removed : edit.removed_tables) {
    std::string payload;
    AppendPlace(payload, removed.place);
    AppendVarint(payload, removed.table.id.value);
    AppendVarint(payload, removed.table.generation.value);
    AppendLengthPrefixed(payload, removed.table.smallest_key);
    AppendField(to, EditTag::kRemovedTable, payload);
  }
  for (const VersionEdit::AddedTable& added : edit.added_tables) {
    std::string payload;
    AppendPlace(payload, added.place);
    AppendVarint(payload, added.stamp.value);
    AppendTableView(payload, added.view);
    AppendField(to, EditTag::kAddedTable, payload);
    const std::vector<SegmentDescriptor>& segments = added.view.segments;
    if (std::any_of(segments.begin(), segments.end(),
                    [](const SegmentDescriptor& segment) { return segment.hotness > 0; })) {
      AppendHotness(to, added.view);
    }
  }
  for (const RangeTombstone& tombstone : edit.added_range_tombstones) {
    std::string payload;
    AppendVarint(payload, tombstone.sequence.value);
    AppendLengthPrefixed(payload, tombstone.begin);
    AppendLengthPrefixed(payload, tombstone.end);
    AppendField(to, EditTag::kAddedRangeTombstone, payload);
  }
  for (const SequenceNumber number : edit.removed_range_tombstones) {
    AppendNumber(to, EditTag::kRemovedRangeTombstone, number.value);
  }
  for (const WalSegment& segment : edit.added_wal_segments) {
    AppendWalSegment(to, segment);
  }
  for (const uint64_t number : edit.released_wal_segments) {
    AppendNumber(to, EditTag::kReleasedWalSegment, number);
  }
  AppendCounter(to, EditTag::kLogStart, edit.log_start);
  AppendCounter(to, EditTag::kLastSequence, edit.last_sequence);
  AppendCounter(to, EditTag::kEpoch, edit.epoch);
  AppendCounter(to, EditTag::kNextTableId, edit.next_table_id);
  AppendCounter(to, EditTag::kNextStamp, edit.next_stamp);
  if (edit.next_wal_segment.has_value()) {
    AppendNumber(to, EditTag::kNextWalSegment, *edit.next_wal_segment);
  }
  if (edit.clean) {
    AppendField(to, EditTag::kClean, {});
  }
  if (!edit.hot_map.empty()) {
    std::string payload;
    AppendLengthPrefixed(payload, edit.hot_map);
    AppendField(to, EditTag::kHotMap, payload);
  }
  for (const auto& [name, value] : edit.parameters) {
    std::string payload;
    AppendLengthPrefixed(payload, name);
    AppendLengthPrefixed(payload, value);
    AppendField(to, EditTag::kParameter, payload);
  }
  return to;
}

Result<VersionEdit> DecodeVersionEdit(std::string_view bytes) {
  VersionEdit edit;
  Decoder decoder(bytes);
  while (!decoder.empty()) {
    const std::optional<uint64_t> tag = decoder.Varint();
    const std::optional<std::string_view> payload = decoder.LengthPrefixed();
    if (!tag.has_value() || !payload.has_value()) {
      return Corruption("a manifest record ends in the middle of a field");
    }
    if (*tag > kLastKnownEditTag) {
      continue;
    }
    Status status = DecodeField(static_cast<EditTag>(*tag), *payload, edit);
    if (!status.ok()) {
      return status.error();
    }
  }
  return edit;
}

Result<Version> ApplyVersionEdit(const Version& version, const VersionEdit& edit, LiveTables& tables) {
  return VersionBuilder(version, edit, tables).Build();
}

std::vector<VersionEdit> SnapshotOf(const Version& version, size_t tables_max) {
  std::vector<VersionEdit> edits(1);
  const VersionCounters& counters = version.counters();
  edits.front().log_start = counters.log_start;
  edits.front().last_sequence = counters.last_sequence;
  edits.front().epoch = counters.epoch;
  edits.front().next_table_id = counters.next_table_id;
  edits.front().next_stamp = counters.next_stamp;
  edits.front().next_wal_segment = counters.next_wal_segment;
  edits.front().added_wal_segments = version.wal_segments();
  edits.front().parameters = version.parameters();
  const auto add = [&](Place place, InstallStamp stamp, const LiveTable& table) {
    if (edits.back().added_tables.size() >= tables_max) {
      edits.emplace_back();
    }
    edits.back().added_tables.push_back({place, stamp, table.view()});
  };
  for (const StampedTable& placed : version.level0()) {
    add({0, Part::kLevel0}, placed.stamp, *placed.table);
  }
  for (uint32_t i = 1; i < kLevels; ++i) {
    for (SortedTables::Cursor cursor = version.tree(i).First(); cursor.Valid(); cursor.Next()) {
      add({i, Part::kTree}, cursor->view().stamp, *cursor);
    }
    for (const StampedTable& placed : version.level(i).log) {
      add({i, Part::kLog}, placed.stamp, *placed.table);
    }
  }
  if (version.range_tombstones() != nullptr) {
    version.range_tombstones()->ForEach([&](RangeTombstone tombstone) {
      if (edits.back().added_range_tombstones.size() >= kRangeTombstonesPerEdit) {
        edits.emplace_back();
      }
      edits.back().added_range_tombstones.push_back(std::move(tombstone));
    });
  }
  edits.back().clean = counters.clean;
  return edits;
}

void AddHolesFor(const Version& version, VersionEdit& edit) {
  const auto adds_to = [&](uint32_t level) {
    return std::any_of(edit.added_tables.begin(), edit.added_tables.end(),
                       [&](const auto& added) { return added.place.level == level; });
  };
  std::vector<VersionEdit::BufferElement> holes;
  for (const VersionEdit::RemovedTable& removed : edit.removed_tables) {
    const uint32_t level = removed.place.level;
    // What adds to a level changes its tables within it, or has merged into it.
    if (level + 1 >= kLevels || adds_to(level)) {
      continue;
    }
    const std::optional<KeyRange> range = RangeOf(version, removed);
    if (!range.has_value()) {
      continue;
    }
    const bool stands_for_itself =
        std::any_of(edit.buffer_elements.begin(), edit.buffer_elements.end(),
                    [&](const VersionEdit::BufferElement& element) {
                      return element.level == level + 1 && element.range == *range &&
                             (!element.view.has_value() || element.view->id == removed.table.id);
                    });
    if (!stands_for_itself && version.level(level + 1).buffer.Overlaps(*range)) {
      holes.push_back({level + 1, {}, *range});
    }
    if (removed.place.part == Part::kTree && version.level(level).buffer.Overlaps(*range)) {
      holes.push_back({level, {}, *range});
    }
  }
  for (const SequenceNumber number : edit.removed_range_tombstones) {
    const std::optional<RangeTombstone> tombstone = version.FindRangeTombstone(number);
    for (uint32_t level = 1; tombstone.has_value() && level < kLevels; ++level) {
      const KeyRange range{tombstone->begin, tombstone->end};
      if (version.level(level).buffer.Overlaps(range)) {
        holes.push_back({level, {}, range});
      }
    }
  }
  edit.buffer_elements.insert(edit.buffer_elements.end(), holes.begin(), holes.end());
}

}  // namespace varve
