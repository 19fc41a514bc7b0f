// VersionEdit: what one install changes, and what one manifest record holds. Format:
// docs/on-disk/manifest.md. A job fills in what it took away and what it made; stamps, counters and the holes
// that the compaction buffer needs are added when the edit is installed, on the newest Version
// (version_set.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/units.h"
#include "engine/version/version.h"

namespace varve {

// Which part of a level a table is in. Stored: values never change.
enum class Part : uint8_t { kLevel0 = 0, kTree = 1, kLog = 2, kBuffer = 3 };
inline constexpr uint8_t kPartMax = 3;

struct Place {
  uint32_t level = 0;
  Part part = Part::kLevel0;

  auto operator<=>(const Place&) const = default;
};

struct VersionEdit {
  struct RemovedTable {
    Place place;
    TableName table;

    bool operator==(const RemovedTable&) const = default;
  };
  struct AddedTable {
    Place place;
    // Given at install, in the order of this list; a Tree does not use it.
    InstallStamp stamp;
    // Where the edit also removes the same generation of the same table from another place, the table moves.
    TableView view;

    bool operator==(const AddedTable&) const = default;
  };
  struct AddedHole {
    uint32_t level = 0;
    InstallStamp stamp;
    KeyRange range;

    bool operator==(const AddedHole&) const = default;
  };
  struct RemovedHole {
    uint32_t level = 0;
    InstallStamp stamp;

    bool operator==(const RemovedHole&) const = default;
  };

  std::vector<RemovedTable> removed_tables;
  // Within one place: oldest first.
  std::vector<AddedTable> added_tables;
  std::vector<AddedHole> added_holes;
  std::vector<RemovedHole> removed_holes;

  // Behind those that are there.
  std::vector<WalSegment> added_wal_segments;
  // By number.
  std::vector<uint64_t> released_wal_segments;

  // Set: the counter's new value. Each may only grow.
  std::optional<Lsn> log_start;
  std::optional<SequenceNumber> last_sequence;
  std::optional<RecoveryEpoch> epoch;
  std::optional<TableId> next_table_id;
  std::optional<InstallStamp> next_stamp;
  // Also raised by the segments added.
  std::optional<uint64_t> next_wal_segment;
  // Every edit that does not set it takes the mark of a clean close away.
  bool clean = false;
  // What a clean close keeps of the HotMap, as that encodes itself (engine/sst_log/hot_map.h). No part of a
  // Version: the next edit takes it away as well. Empty: nothing.
  std::string hot_map;

  std::map<std::string, std::string, std::less<>> parameters;

  bool operator==(const VersionEdit&) const = default;

  void RemoveTable(Place place, const LiveTable& table);
  void AddTable(Place place, TableView view) { added_tables.push_back({place, {}, std::move(view)}); }
};

std::string EncodeVersionEdit(const VersionEdit& edit);
// `bytes` may be anything: kCorruption for what no writer makes, kUnsupported for a field that this version
// does not know and may not skip.
Result<VersionEdit> DecodeVersionEdit(std::string_view bytes);

// What `version` becomes. New tables come alive in `tables`. kCorruption, saying what is wrong, when the edit
// does not fit the version: a removed table that is not there, trees that overlap, stamps or counters that go
// back.
Result<Version> ApplyVersionEdit(const Version& version, const VersionEdit& edit, LiveTables& tables);

// The edits that together make `version` of an empty one, each with at most `tables_max` tables.
std::vector<VersionEdit> SnapshotOf(const Version& version, size_t tables_max);

// Adds to `edit` the holes without which the compaction buffer would answer with what the edit replaces: for
// each table that the edit takes from above level i while it adds to Tree_i, and that some element of
// Buffer_i overlaps, a hole in Buffer_i, unless the edit itself puts that table into Buffer_i.
void AddHolesFor(const Version& version, VersionEdit& edit);

}  // namespace varve
