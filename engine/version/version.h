// Version: which tables the store consists of, and all else that the manifest knows, as an immutable value.
// An edit makes a new Version that shares what it did not change. docs/architecture.md shows how reads walk
// it.
//
//   level 0        tables flushed from memtables, by install stamp, newest last; ranges overlap
//   level i >= 1   Tree    disjoint tables by key
//                  Log     tables moved out of the Tree (the SST-Log), by install stamp, newest last; ranges
//                  overlap
//                  Buffer  views of tables that were merged into the level (the compaction buffer), by
//                  install stamp, newest last; in memory only
//
// Threads: immutable, so any. Reached by readers through Published<>.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/range_tombstones.h"
#include "engine/base/result.h"
#include "engine/base/units.h"
#include "engine/version/buffer.h"
#include "engine/version/live_table.h"
#include "engine/version/log_index.h"
#include "engine/version/sorted_tables.h"
#include "engine/wal/wal_segment.h"

namespace varve {

// Level 0 and seven below it: with a first level of 256 MiB and ratio 10 the last holds far more than a
// device.
inline constexpr uint32_t kLevels = 8;

struct Level {
  SortedTables tree;
  std::vector<StampedTable> log;
  // Of `log`.
  LogIndex log_index;
  TableTotals log_totals;
  Buffer buffer;
};

// What the manifest knows beside tables.
struct VersionCounters {
  // No table of this id or above was ever written.
  TableId next_table_id{1};
  // The stamp that the next install takes.
  InstallStamp next_stamp{1};
  // No segment of the log of this number or above ever was.
  uint64_t next_wal_segment = 1;
  // The largest sequence number of any record in a table; the log may hold larger ones.
  SequenceNumber last_sequence;
  RecoveryEpoch epoch;
  // Where log replay starts: every group before it is in tables.
  Lsn log_start;
  // The store was closed in order: there is no log to replay.
  bool clean = false;

  bool operator==(const VersionCounters&) const = default;
};

class Version {
 public:
  // A store without tables.
  Version();

  // Newest last; ranges overlap.
  const std::vector<StampedTable>& level0() const { return *level0_; }
  // 1 <= i < kLevels.
  const Level& level(uint32_t i) const { return *levels_[i]; }
  const SortedTables& tree(uint32_t i) const { return levels_[i]->tree; }

  const VersionCounters& counters() const { return counters_; }
  // Segments that may hold groups that must be replayed, oldest first.
  const std::vector<WalSegment>& wal_segments() const { return *wal_segments_; }
  // What mkfs decided and later opens must honour, by name.
  const std::map<std::string, std::string, std::less<>>& parameters() const { return *parameters_; }

  // Of all memtables that were flushed, those that may still hide something in a table or a buffer
  // (range_deletes.h). nullptr: there are none.
  const RangeTombstones* range_tombstones() const { return range_tombstones_.get(); }
  std::optional<RangeTombstone> FindRangeTombstone(SequenceNumber sequence) const {
    return range_tombstones_ == nullptr ? std::nullopt : range_tombstones_->Find(sequence);
  }

  // Tree and Log of a level; for 0 the tables of level 0.
  TableTotals totals(uint32_t i) const;
  // Everything but buffers.
  TableTotals totals() const;
  // The deepest level with a table in its Tree or Log; 0 when none has.
  uint32_t last_level() const;

  // Of all buffers: what their tables take of the device.
  uint64_t buffer_bytes() const;

  // Every table that the store needs: of level 0, then of each level's Tree and Log.
  template <typename Visit>
  void ForEachTable(Visit visit) const;
  // The same of one level.
  template <typename Visit>
  void ForEachTableOf(uint32_t level, Visit visit) const;
  // Every table that the store needs, with the shared pointers.
  template <typename Visit>
  void ForEachSharedTable(Visit visit) const;
  template <typename Visit>
  void ForEachSharedTableOf(uint32_t level, Visit visit) const;
  // Every view of every buffer: visit(level, view).
  template <typename Visit>
  void ForEachBufferedView(Visit visit) const;
  // What the manifest holds of it: all but buffers.
  std::string ToString() const;
  // A line for each view of a buffer.
  std::string BuffersToString() const;

 private:
  friend class VersionBuilder;

  std::shared_ptr<const std::vector<StampedTable>> level0_;
  TableTotals level0_totals_;
  // [0] holds nothing.
  std::array<std::shared_ptr<const Level>, kLevels> levels_;
  VersionCounters counters_;
  std::shared_ptr<const RangeTombstones> range_tombstones_;
  std::shared_ptr<const std::vector<WalSegment>> wal_segments_;
  std::shared_ptr<const std::map<std::string, std::string, std::less<>>> parameters_;
};

template <typename Visit>
void Version::ForEachTable(Visit visit) const {
  ForEachSharedTable([&visit](const std::shared_ptr<const LiveTable>& table) { visit(*table); });
}

template <typename Visit>
void Version::ForEachTableOf(uint32_t i, Visit visit) const {
  ForEachSharedTableOf(i, [&visit](const std::shared_ptr<const LiveTable>& table) { visit(*table); });
}

template <typename Visit>
void Version::ForEachSharedTable(Visit visit) const {
  for (uint32_t i = 0; i < kLevels; ++i) {
    ForEachSharedTableOf(i, visit);
  }
}

template <typename Visit>
void Version::ForEachSharedTableOf(uint32_t i, Visit visit) const {
  if (i == 0) {
    for (const StampedTable& placed : level0()) {
      visit(placed.table);
    }
    return;
  }
  for (SortedTables::Cursor cursor = tree(i).First(); cursor.Valid(); cursor.Next()) {
    visit(cursor.shared());
  }
  for (const StampedTable& placed : level(i).log) {
    visit(placed.table);
  }
}

template <typename Visit>
void Version::ForEachBufferedView(Visit visit) const {
  for (uint32_t i = 1; i < kLevels; ++i) {
    for (const BufferedView& view : level(i).buffer.views()) {
      visit(i, view);
    }
  }
}

}  // namespace varve
