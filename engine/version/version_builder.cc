#include "engine/version/version_builder.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/base/size_limits.h"

namespace varve {

namespace {

// Far deeper than pickers let a Log become; its index takes memory for each table over each key.
constexpr size_t kLogDepthLimit = 256;

Status RequireFreshStamp(InstallStamp stamp, InstallStamp previous, InstallStamp next) {
  if (stamp <= previous || stamp >= next) {
    return Corruption(fmt::format("an edit installs with stamp {} after {}, while the next is to be {}",
                                  stamp.value, previous.value, next.value));
  }
  return {};
}

// What an index of a Log can be made of, whatever a device says.
Status CheckLog(uint32_t level, const std::vector<StampedTable>& log) {
  std::vector<std::string_view> begins;
  std::vector<std::string_view> ends;
  for (const StampedTable& placed : log) {
    if (placed->smallest_key() > placed->largest_key()) {
      return Corruption(
          fmt::format("table {} of the log of level {} ends before it begins", placed->id().value, level));
    }
    begins.push_back(placed->smallest_key());
    ends.push_back(placed->largest_key());
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  size_t ended = 0;
  for (size_t begun = 0; begun < begins.size(); ++begun) {
    while (ends[ended] < begins[begun]) {
      ++ended;
    }
    if (begun + 1 - ended > kLogDepthLimit) {
      return Corruption(
          fmt::format("the log of level {} is more than {} tables deep", level, kLogDepthLimit));
    }
  }
  return {};
}

}  // namespace

VersionBuilder::VersionBuilder(const Version& base, const VersionEdit& edit, LiveTables& tables)
    : base_(base), edit_(edit), tables_(tables), built_(base) {
}

Result<Version> VersionBuilder::Build() {
  Status status = CheckEdit();
  if (status.ok()) {
    status = BuildCounters();
  }
  if (status.ok()) {
    status = CollectRemoved();
  }
  if (status.ok()) {
    status = BuildLevel0();
  }
  for (uint32_t level = 1; status.ok() && level < kLevels; ++level) {
    status = BuildLevel(level);
  }
  if (status.ok()) {
    status = BuildRangeTombstones();
  }
  if (status.ok()) {
    status = BuildWalSegments();
  }
  if (!status.ok()) {
    return status.error();
  }
  return std::move(built_);
}

Status VersionBuilder::CheckEdit() const {
  const auto check_place = [](Place place) -> Status {
    if (place.level >= kLevels || (place.level == 0) != (place.part == Part::kLevel0)) {
      return Corruption(
          fmt::format("an edit names part {} of level {}", static_cast<int>(place.part), place.level));
    }
    return {};
  };
  for (const VersionEdit::RemovedTable& removed : edit_.removed_tables) {
    Status status = check_place(removed.place);
    if (!status.ok()) {
      return status;
    }
  }
  for (const VersionEdit::AddedTable& added : edit_.added_tables) {
    Status status = check_place(added.place);
    if (!status.ok()) {
      return status;
    }
  }
  const auto without_buffer = [](const auto& change) { return change.level == 0 || change.level >= kLevels; };
  if (std::any_of(edit_.trimmed_views.begin(), edit_.trimmed_views.end(), without_buffer) ||
      std::any_of(edit_.buffer_elements.begin(), edit_.buffer_elements.end(), without_buffer)) {
    return Corruption("an edit changes the buffer of a level that has none");
  }
  return {};
}

Status VersionBuilder::BuildCounters() {
  VersionCounters& counters = built_.counters_;
  const auto grow = [](auto& counter, const auto& to, std::string_view name) -> Status {
    if (!to.has_value()) {
      return {};
    }
    if (*to < counter) {
      return Corruption(
          fmt::format("an edit takes the {} back from {} to {}", name, counter.value, to->value));
    }
    counter = *to;
    return {};
  };
  Status status = grow(counters.log_start, edit_.log_start, "start of the log");
  if (status.ok()) {
    status = grow(counters.last_sequence, edit_.last_sequence, "last sequence number");
  }
  if (status.ok()) {
    status = grow(counters.epoch, edit_.epoch, "recovery epoch");
  }
  if (status.ok()) {
    status = grow(counters.next_table_id, edit_.next_table_id, "next table id");
  }
  if (status.ok()) {
    status = grow(counters.next_stamp, edit_.next_stamp, "next install stamp");
  }
  if (status.ok()) {
    const std::optional<uint64_t>& next = edit_.next_wal_segment;
    if (next.has_value() && *next < counters.next_wal_segment) {
      return Corruption("an edit takes the next segment of the log back");
    }
    counters.next_wal_segment = next.value_or(counters.next_wal_segment);
  }
  counters.clean = edit_.clean || (counters.clean && edit_.ChangesOnlyBuffers());
  if (!edit_.parameters.empty()) {
    std::map<std::string, std::string, std::less<>> merged = *base_.parameters_;
    for (const auto& [name, value] : edit_.parameters) {
      merged.insert_or_assign(name, value);
    }
    built_.parameters_ =
        std::make_shared<const std::map<std::string, std::string, std::less<>>>(std::move(merged));
  }
  return status;
}

Status VersionBuilder::CollectRemoved() {
  for (const VersionEdit::RemovedTable& removed : edit_.removed_tables) {
    const auto is_it = [&](const std::shared_ptr<const LiveTable>& table) {
      return table->id() == removed.table.id && table->generation() == removed.table.generation;
    };
    std::shared_ptr<const LiveTable> found;
    if (removed.place.part == Part::kTree) {
      const SortedTables::Cursor cursor = base_.tree(removed.place.level).Seek(removed.table.smallest_key);
      if (cursor.Valid() && is_it(cursor.shared())) {
        found = cursor.shared();
      }
    } else {
      const std::vector<StampedTable>& placed =
          removed.place.part == Part::kLevel0 ? base_.level0() : base_.level(removed.place.level).log;
      for (const StampedTable& candidate : placed) {
        if (is_it(candidate.table)) {
          found = candidate.table;
        }
      }
    }
    const auto name = std::make_pair(removed.table.id, removed.table.generation);
    if (found == nullptr || !removed_.emplace(name, std::move(found)).second) {
      return Corruption(fmt::format("an edit removes table {} generation {} from level {}, where it is not",
                                    name.first.value, name.second.value, removed.place.level));
    }
  }
  return {};
}

Result<std::shared_ptr<const LiveTable>> VersionBuilder::TableFor(const TableView& view) {
  const auto moved = removed_.find({view.id, view.generation});
  if (moved != removed_.end()) {
    return moved->second;
  }
  std::shared_ptr<const LiveTable> table = tables_.Add(view);
  if (table == nullptr) {
    return Corruption(fmt::format("an edit adds table {} generation {}, which the store has", view.id.value,
                                  view.generation.value));
  }
  return table;
}

std::vector<TableName> VersionBuilder::RemovedFrom(Place place) const {
  std::vector<TableName> names;
  for (const VersionEdit::RemovedTable& removed : edit_.removed_tables) {
    if (removed.place == place) {
      names.push_back(removed.table);
    }
  }
  return names;
}

Result<std::vector<StampedTable>> VersionBuilder::EditStamped(Place place,
                                                              const std::vector<StampedTable>& before) {
  std::vector<const VersionEdit::AddedTable*> added;
  for (const VersionEdit::AddedTable& table : edit_.added_tables) {
    if (table.place == place) {
      added.push_back(&table);
    }
  }
  const std::vector<TableName> removed = RemovedFrom(place);
  std::vector<StampedTable> after;
  const auto add = [&](const VersionEdit::AddedTable& table) -> Status {
    Result<std::shared_ptr<const LiveTable>> live = TableFor(table.view);
    if (!live.ok()) {
      return live.error();
    }
    after.push_back({table.stamp, std::move(live).value()});
    return {};
  };
  for (const StampedTable& placed : before) {
    const bool stays = std::none_of(removed.begin(), removed.end(), [&](const TableName& name) {
      return placed->id() == name.id && placed->generation() == name.generation;
    });
    if (stays) {
      after.push_back(placed);
      continue;
    }
    const auto in_its_place = std::find_if(added.begin(), added.end(),
                                           [&](const auto* table) { return table->stamp == placed.stamp; });
    if (in_its_place != added.end()) {
      Status status = add(**in_its_place);
      if (!status.ok()) {
        return status.error();
      }
      added.erase(in_its_place);
    }
  }
  for (const VersionEdit::AddedTable* table : added) {
    const InstallStamp previous = after.empty() ? InstallStamp(0) : after.back().stamp;
    Status status = RequireFreshStamp(table->stamp, previous, built_.counters_.next_stamp);
    if (status.ok()) {
      status = add(*table);
    }
    if (!status.ok()) {
      return status.error();
    }
  }
  return after;
}

Status VersionBuilder::BuildLevel0() {
  if (!Touches(0)) {
    return {};
  }
  Result<std::vector<StampedTable>> level0 = EditStamped({0, Part::kLevel0}, base_.level0());
  if (!level0.ok()) {
    return level0.error();
  }
  built_.level0_totals_ = {};
  for (const StampedTable& placed : *level0) {
    built_.level0_totals_.Add(*placed.table);
  }
  built_.level0_ = std::make_shared<const std::vector<StampedTable>>(std::move(level0).value());
  return {};
}

bool VersionBuilder::Touches(uint32_t level) const {
  const auto at_place = [&](const auto& item) { return item.place.level == level; };
  const auto at_level = [&](const auto& item) { return item.level == level; };
  return std::any_of(edit_.removed_tables.begin(), edit_.removed_tables.end(), at_place) ||
         std::any_of(edit_.added_tables.begin(), edit_.added_tables.end(), at_place) ||
         std::any_of(edit_.trimmed_views.begin(), edit_.trimmed_views.end(), at_level) ||
         std::any_of(edit_.buffer_elements.begin(), edit_.buffer_elements.end(), at_level);
}

Status VersionBuilder::BuildLevel(uint32_t level) {
  if (!Touches(level)) {
    return {};
  }
  auto built = std::make_shared<Level>(base_.level(level));
  std::vector<std::shared_ptr<const LiveTable>> added;
  for (const VersionEdit::AddedTable& table : edit_.added_tables) {
    if (table.place == Place{level, Part::kTree}) {
      Result<std::shared_ptr<const LiveTable>> live = TableFor(table.view);
      if (!live.ok()) {
        return live.error();
      }
      added.push_back(std::move(live).value());
    }
  }
  Result<SortedTables> tree = base_.tree(level).Edited(RemovedFrom({level, Part::kTree}), std::move(added));
  if (!tree.ok()) {
    return tree.error();
  }
  built->tree = std::move(tree).value();
  Status status = BuildLog(level, *built);
  if (status.ok()) {
    status = BuildBuffer(level, *built);
  }
  built_.levels_[level] = std::move(built);
  return status;
}

Status VersionBuilder::BuildLog(uint32_t level, Level& into) {
  const Place place{level, Part::kLog};
  const auto at_place = [&](const auto& table) { return table.place == place; };
  if (std::none_of(edit_.removed_tables.begin(), edit_.removed_tables.end(), at_place) &&
      std::none_of(edit_.added_tables.begin(), edit_.added_tables.end(), at_place)) {
    return {};
  }
  Result<std::vector<StampedTable>> log = EditStamped(place, base_.level(level).log);
  if (!log.ok()) {
    return log.error();
  }
  into.log = std::move(log).value();
  Status sound = CheckLog(level, into.log);
  if (!sound.ok()) {
    return sound;
  }
  into.log_index = LogIndex(into.log);
  into.log_totals = {};
  for (const StampedTable& placed : into.log) {
    into.log_totals.Add(*placed.table);
  }
  return {};
}

Status VersionBuilder::TrimViews(uint32_t level, std::vector<BufferedView>& views) {
  for (const VersionEdit::TrimmedView& trim : edit_.trimmed_views) {
    const auto view = std::find_if(views.begin(), views.end(), [&](const BufferedView& candidate) {
      return candidate.stamp == trim.stamp;
    });
    if (trim.level != level || view == views.end()) {
      continue;
    }
    // More of it may be hidden than when the trim was decided.
    KeySpans kept = view->kept.And(trim.kept);
    HideKeys(views, static_cast<size_t>(view - views.begin()), view->kept.Minus(kept));
    view->kept = std::move(kept);
    if (trim.view.has_value() && !view->kept.empty()) {
      Result<std::shared_ptr<const LiveTable>> live = TableFor(*trim.view);
      if (!live.ok()) {
        return live.error();
      }
      view->table = std::move(live).value();
    }
  }
  return {};
}

Status VersionBuilder::BuildBuffer(uint32_t level, Level& into) {
  const auto at_level = [&](const auto& change) { return change.level == level; };
  if (std::none_of(edit_.trimmed_views.begin(), edit_.trimmed_views.end(), at_level) &&
      std::none_of(edit_.buffer_elements.begin(), edit_.buffer_elements.end(), at_level)) {
    return {};
  }
  const std::span<const BufferedView> before = base_.level(level).buffer.views();
  std::vector<BufferedView> views(before.begin(), before.end());
  Status status = TrimViews(level, views);
  for (const VersionEdit::BufferElement& element : edit_.buffer_elements) {
    if (!status.ok() || element.level != level) {
      continue;
    }
    HideKeys(views, views.size(), KeySpans::Of(element.range).Minus(element.kept));
    if (!element.view.has_value() || element.kept.empty()) {
      continue;
    }
    const InstallStamp previous = views.empty() ? InstallStamp(0) : views.back().stamp;
    status = RequireFreshStamp(element.stamp, previous, built_.counters_.next_stamp);
    Result<std::shared_ptr<const LiveTable>> live = TableFor(*element.view);
    if (status.ok() && !live.ok()) {
      status = live.error();
    }
    if (status.ok()) {
      views.push_back({element.stamp, std::move(live).value(), element.kept});
    }
  }
  std::erase_if(views, [](const BufferedView& view) { return view.kept.empty(); });
  into.buffer = Buffer(std::move(views));
  return status;
}

Status VersionBuilder::BuildRangeTombstones() {
  if (edit_.added_range_tombstones.empty() && edit_.removed_range_tombstones.empty()) {
    return {};
  }
  RangeTombstones tombstones;
  if (base_.range_tombstones() != nullptr) {
    tombstones = *base_.range_tombstones();
  }
  for (const SequenceNumber removed : edit_.removed_range_tombstones) {
    if (!tombstones.Remove(removed)) {
      return Corruption(fmt::format("an edit removes range tombstone {}, which is not there", removed.value));
    }
  }
  tombstones.Prune(edit_.readers);
  for (const RangeTombstone& added : edit_.added_range_tombstones) {
    if (added.begin >= added.end || added.sequence == SequenceNumber(0) ||
        added.sequence > built_.counters_.last_sequence || tombstones.Find(added.sequence).has_value()) {
      return Corruption(
          fmt::format("an edit adds range tombstone {}, which cannot be", added.sequence.value));
    }
    tombstones.Add(added, edit_.readers);
    // What readers need was taken when there was room for it, and more is not (StoreOptions).
    const size_t bytes = edit_.readers.empty() ? tombstones.memory_bytes() : tombstones.unlisted_bytes();
    if (bytes > kRangeTombstonesBytesMax) {
      return Unsupported("there are more range tombstones than fit into memory");
    }
  }
  built_.range_tombstones_ =
      tombstones.empty() ? nullptr : std::make_shared<const RangeTombstones>(std::move(tombstones));
  return {};
}

Status VersionBuilder::BuildWalSegments() {
  if (edit_.added_wal_segments.empty() && edit_.released_wal_segments.empty()) {
    return {};
  }
  std::vector<WalSegment> segments = base_.wal_segments();
  for (const uint64_t released : edit_.released_wal_segments) {
    if (std::erase_if(segments, [&](const WalSegment& segment) { return segment.number == released; }) != 1) {
      return Corruption(fmt::format("an edit releases segment {} of the log, which is not there", released));
    }
  }
  uint64_t& next = built_.counters_.next_wal_segment;
  for (const WalSegment& added : edit_.added_wal_segments) {
    if (!segments.empty() && added.number <= segments.back().number) {
      return Corruption(fmt::format("an edit adds segment {} of the log behind segment {}", added.number,
                                    segments.back().number));
    }
    segments.push_back(added);
    next = std::max(next, added.number + 1);
  }
  built_.wal_segments_ = std::make_shared<const std::vector<WalSegment>>(std::move(segments));
  return {};
}

}  // namespace varve
