// VersionEdit: what one install changes, and what one manifest record holds of it: all but the changes of
// compaction buffers. Format: docs/on-disk/manifest.md. A job fills in what it took away and what it made;
// stamps, counters and the holes that compaction buffers need are added when the edit is installed, on the
// newest Version (version_set.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/range_tombstones.h"
#include "engine/base/result.h"
#include "engine/base/units.h"
#include "engine/version/version.h"

namespace varve {

// Which part of a level a table is in. Stored: values never change. 3 is kept free: it stood for buffers,
// which are not recorded.
enum class Part : uint8_t { kLevel0 = 0, kTree = 1, kLog = 2 };
inline constexpr uint8_t kPartMax = 2;

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
    // Given at install, in the order of this list; a Tree does not use it. A table that a Log's table was
    // written anew as, alone, has the stamp of that one already, and comes into its place.
    InstallStamp stamp;
    // Where the edit also removes the same generation of the same table from another place, the table moves.
    TableView view;

    bool operator==(const AddedTable&) const = default;
  };
  // Of a table that was merged into `level`: a view, or a hole where it is not kept. Of older views nothing
  // in `range` is believed any more, unless it is in `kept`.
  struct BufferElement {
    uint32_t level = 0;
    // Given at install; a hole does not use it.
    InstallStamp stamp;
    KeyRange range;
    // nullopt: a hole. Else `range` is its range; it is a table that the edit removes, the same generation or
    // one that has given extents back.
    std::optional<TableView> view = {};
    // Within `range`; for which keys the view is asked. None: a hole.
    KeySpans kept = {};

    bool operator==(const BufferElement&) const = default;
  };
  // A view of a buffer is asked for less than before; for none: it goes. What it loses becomes a hole in
  // older views. One that is no longer there is passed over.
  struct TrimmedView {
    uint32_t level = 0;
    InstallStamp stamp;
    KeySpans kept;
    // A generation that has given extents back; nullopt: the one that is there.
    std::optional<TableView> view = {};

    bool operator==(const TrimmedView&) const = default;
  };

  std::vector<RemovedTable> removed_tables;
  // Within one place: oldest first.
  std::vector<AddedTable> added_tables;
  // Not recorded. First the trims, then what is added, oldest first.
  std::vector<TrimmedView> trimmed_views;
  std::vector<BufferElement> buffer_elements;

  // Of a memtable that has become tables.
  std::vector<RangeTombstone> added_range_tombstones;
  // By number: those that hide nothing any more.
  std::vector<SequenceNumber> removed_range_tombstones;
  // Not recorded. Who may read what the edit makes, and later Versions (RangeReaders). Empty: nothing is
  // known, and every range tombstone stays listed wherever it covers anything.
  std::vector<SequenceNumber> readers;

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

  // Whether it changes nothing but buffers.
  bool ChangesOnlyBuffers() const;

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

// Adds to `edit` the holes without which compaction buffers would answer with what it replaces: one in
// Buffer_{i+1} for each table that the edit takes from level i down, unless an element of the edit stands for
// it; and one in Buffer_i for each that leaves Tree_i, whose readers go to level i+1 from then on; and one in
// every buffer for each range tombstone that the edit removes, since views may hold what it hides. Only where
// something is buffered.
void AddHolesFor(const Version& version, VersionEdit& edit);

}  // namespace varve
