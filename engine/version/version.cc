#include "engine/version/version.h"

#include <fmt/core.h>

namespace varve {

Version::Version()
    : level0_(std::make_shared<const std::vector<StampedTable>>()),
      wal_segments_(std::make_shared<const std::vector<WalSegment>>()),
      parameters_(std::make_shared<const std::map<std::string, std::string, std::less<>>>()) {
  levels_.fill(std::make_shared<const Level>());
}

TableTotals Version::totals(uint32_t i) const {
  if (i == 0) {
    return level0_totals_;
  }
  TableTotals totals = levels_[i]->tree.totals();
  totals.Add(levels_[i]->log_totals);
  return totals;
}

TableTotals Version::totals() const {
  TableTotals all;
  for (uint32_t i = 0; i < kLevels; ++i) {
    all.Add(totals(i));
  }
  return all;
}

uint64_t Version::buffer_bytes() const {
  uint64_t bytes = 0;
  for (uint32_t i = 1; i < kLevels; ++i) {
    bytes += levels_[i]->buffer.total_bytes();
  }
  return bytes;
}

uint32_t Version::last_level() const {
  for (uint32_t i = kLevels - 1; i > 0; --i) {
    if (!levels_[i]->tree.empty() || !levels_[i]->log.empty()) {
      return i;
    }
  }
  return 0;
}

std::string Version::ToString() const {
  std::string text =
      fmt::format("epoch {} last-sequence {} log-start {} next-table {} next-stamp {}{}\n",
                  counters_.epoch.value, counters_.last_sequence.value, counters_.log_start.value,
                  counters_.next_table_id.value, counters_.next_stamp.value, counters_.clean ? " clean" : "");
  const auto table_line = [&](std::string_view part, const LiveTable& table, InstallStamp stamp) {
    const SequenceNumber purged = table.view().purged_up_to;
    text += fmt::format(
        "  {} {}.{} stamp {} [{:?}..{:?}] {} entries, {} tombstones, {} valid of {} bytes{}\n", part,
        table.id().value, table.generation().value, stamp.value, table.smallest_key(), table.largest_key(),
        table.entries(), table.tombstones(), table.valid_bytes(), table.total_bytes(),
        purged > SequenceNumber(0) ? fmt::format(", purged up to {}", purged.value) : "");
  };
  text += "level 0\n";
  for (const StampedTable& placed : level0()) {
    table_line("table", *placed.table, placed.stamp);
  }
  for (uint32_t i = 1; i <= std::max(last_level(), 1u); ++i) {
    text += fmt::format("level {}\n", i);
    for (SortedTables::Cursor cursor = tree(i).First(); cursor.Valid(); cursor.Next()) {
      table_line("tree", *cursor, cursor->view().stamp);
    }
    for (const StampedTable& placed : level(i).log) {
      table_line("log", *placed.table, placed.stamp);
    }
  }
  if (range_tombstones_ != nullptr) {
    text += "range tombstones\n";
    range_tombstones_->ForEach([&](const RangeTombstone& tombstone) {
      text += fmt::format("  {} [{:?}..{:?})\n", tombstone.sequence.value, tombstone.begin, tombstone.end);
    });
  }
  return text;
}

std::string Version::BuffersToString() const {
  std::string text;
  ForEachBufferedView([&](uint32_t i, const BufferedView& view) {
    text += fmt::format("level {} view {}.{} stamp {} {}\n", i, view.table->id().value,
                        view.table->generation().value, view.stamp.value, view.kept.ToString());
  });
  return text;
}

}  // namespace varve
