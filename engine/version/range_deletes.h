// Which of a Version's range tombstones are still needed, and by which tables: pure functions
// (docs/design/range-deletes.md).
#pragma once

#include <vector>

#include "engine/base/range_tombstones.h"
#include "engine/base/units.h"
#include "engine/version/version.h"

namespace varve {

// Whether the table may hold a record that one of `tombstones` is newer than, and covers.
bool MayHoldHidden(const RangeTombstones& tombstones, const TableView& table);
// Whether readers at `at`, and later ones, see nothing of the table.
bool AllHidden(const RangeTombstones& tombstones, const TableView& table, SequenceNumber at);
// Whether a table of the version's Trees and Logs, or of its level 0, may hold a record that `tombstone`
// hides. What merges that run make of them holds no more.
bool MayHideAny(const Version& version, const RangeTombstone& tombstone);
// Whether `tombstone`, which is one of the version's, hides nothing that others do not hide from the same
// readers. `shadowed`: RangeTombstones::Shadowed of the readers of this Version and of later ones.
bool MayRetire(const Version& version, const RangeTombstone& tombstone,
               const std::vector<SequenceNumber>& shadowed);

}  // namespace varve
