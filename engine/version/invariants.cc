#include "engine/version/invariants.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

namespace varve {

namespace {

class VersionChecker {
 public:
  explicit VersionChecker(const Version& version) : version_(version) {}

  std::vector<std::string> Run() {
    CheckStamps("level 0", version_.level0());
    CheckLevel0Order();
    for (uint32_t i = 1; i < kLevels; ++i) {
      CheckTree(i);
      CheckStamps(fmt::format("the log of level {}", i), version_.level(i).log);
      CheckBuffer(i);
    }
    Require(version_.level(kLevels - 1).log.empty(), "the last level has a log");
    version_.ForEachTable([this](const LiveTable& table) {
      CheckTable(table);
      CheckBytes(table.view());
    });
    CheckWalSegments();
    CheckOwners();
    return std::move(violations_);
  }

 private:
  void Require(bool holds, std::string violation) {
    if (!holds) {
      violations_.push_back(std::move(violation));
    }
  }

  void CheckStamp(const std::string& where, InstallStamp& previous, InstallStamp stamp) {
    Require(stamp > previous, fmt::format("{} is not in the order of install stamps: {} follows {}", where,
                                          stamp.value, previous.value));
    Require(stamp < version_.counters().next_stamp,
            fmt::format("stamp {} in {} is not below the next one", stamp.value, where));
    previous = stamp;
  }

  void CheckStamps(const std::string& where, const std::vector<StampedTable>& tables) {
    InstallStamp previous;
    for (const StampedTable& placed : tables) {
      CheckStamp(where, previous, placed.stamp);
    }
  }

  void CheckLevel0Order() {
    const std::vector<StampedTable>& tables = version_.level0();
    for (size_t newer = 0; newer < tables.size(); ++newer) {
      for (size_t older = 0; older < newer; ++older) {
        Require(!tables[newer]->range().Overlaps(tables[older]->range()) ||
                    tables[newer]->view().smallest_sequence() > tables[older]->view().largest_sequence(),
                fmt::format(
                    "table {} of level 0 holds records that are not newer than those of table {} before it",
                    tables[newer]->id().value, tables[older]->id().value));
      }
    }
  }

  void CheckTree(uint32_t level) {
    const LiveTable* previous = nullptr;
    for (SortedTables::Cursor cursor = version_.tree(level).First(); cursor.Valid(); cursor.Next()) {
      Require(previous == nullptr || previous->largest_key() < cursor->smallest_key(),
              fmt::format("table {} of level {} begins before the end of the one before it",
                          cursor->id().value, level));
      previous = &*cursor;
    }
  }

  void CheckBuffer(uint32_t level) {
    const std::string where = fmt::format("the buffer of level {}", level);
    InstallStamp previous;
    for (const BufferedView& view : version_.level(level).buffer.views()) {
      CheckStamp(where, previous, view.stamp);
      CheckTable(*view.table);
      Require(!view.kept.empty(),
              fmt::format("{} keeps table {} for nothing", where, view.table->id().value));
      Require(KeySpans::Of(view.table->range()).Covers(view.kept),
              fmt::format("{} asks table {} for keys beyond its range", where, view.table->id().value));
    }
  }

  void CheckTable(const LiveTable& table) {
    const TableView& view = table.view();
    const std::string name = fmt::format("table {}", view.id.value);
    Require(ids_.insert(view.id).second, name + " is in two places");
    Require(view.id < version_.counters().next_table_id, name + " has an id that was not given yet");
    Require(view.smallest <= view.largest, name + " ends before it begins");
    Require(!view.segments.empty() && view.segments.size() <= kSegmentsMax,
            fmt::format("{} has {} segments", name, view.segments.size()));
    if (view.segments.empty()) {
      return;
    }
    Require(view.largest_sequence() <= version_.counters().last_sequence,
            name + " holds records above the last sequence number");
    Require(view.purged_up_to <= version_.counters().last_sequence,
            name + " was purged of what range tombstones hide that there are not");
    std::string_view smallest = view.segments.front().smallest_user_key();
    std::string_view largest = view.segments.front().largest_user_key();
    for (const SegmentDescriptor& segment : view.segments) {
      smallest = std::min(smallest, segment.smallest_user_key());
      largest = std::max(largest, segment.largest_user_key());
      Require(segment.tombstones <= segment.entries, name + " counts more tombstones than entries");
      Require(segment.live_bytes <= segment.data_bytes, name + " counts more live bytes than data bytes");
    }
    Require(smallest == view.smallest && largest == view.largest,
            name + " has another range than its segments");
  }

  // Not of a trimmed view, which has given back what its index still names.
  void CheckBytes(const TableView& view) {
    Require(view.data_bytes() + view.meta_bytes() <= view.held_bytes() &&
                view.held_bytes() <= view.used_bytes && view.used_bytes <= view.extents_end(),
            fmt::format("table {} counts bytes that it does not have", view.id.value));
  }

  void CheckWalSegments() {
    uint64_t previous = 0;
    for (const WalSegment& segment : version_.wal_segments()) {
      Require(segment.number > previous && segment.number < version_.counters().next_wal_segment,
              fmt::format("segment {} of the log is out of order", segment.number));
      previous = segment.number;
    }
  }

  void CheckOwners() {
    std::vector<std::pair<Extent, std::string>> owned;
    const auto add = [&](const LiveTable& table) {
      for (const TableExtent& part : table.view().extents) {
        owned.emplace_back(part.extent, fmt::format("table {}", table.id().value));
      }
    };
    version_.ForEachTable(add);
    version_.ForEachBufferedView([&](uint32_t, const BufferedView& view) { add(*view.table); });
    for (const WalSegment& segment : version_.wal_segments()) {
      owned.emplace_back(segment.extent, fmt::format("segment {} of the log", segment.number));
    }
    std::sort(owned.begin(), owned.end(),
              [](const auto& a, const auto& b) { return a.first.first_unit < b.first.first_unit; });
    for (size_t i = 1; i < owned.size(); ++i) {
      Require(owned[i - 1].first.end_unit() <= owned[i].first.first_unit,
              fmt::format("{} and {} own the same space", owned[i - 1].second, owned[i].second));
    }
  }

  const Version& version_;
  std::unordered_set<TableId> ids_;
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> CheckVersion(const Version& version) {
  return VersionChecker(version).Run();
}

}  // namespace varve
