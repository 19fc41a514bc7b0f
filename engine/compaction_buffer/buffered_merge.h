// Buffered merge (LSbM, section 4.1): what a merge takes down stays on the device as a view in the buffer of
// the level that it goes to, as far as it is hot. It is there already, so that costs no I/O.
#pragma once

#include <vector>

#include "engine/table/table_environment.h"
#include "engine/version/compaction_plan.h"
#include "engine/version/version.h"
#include "engine/version/version_edit.h"

namespace varve {

// For each input of `plan`, oldest first, the element that its edit puts into the buffer of the output level:
// a view of its hot part, or a hole. Hot is what is cached, for less of a share than what is to stay; what
// readers find in the buffer of the level that it leaves, which gives it up with the same edit, so that they
// are handed on; and what the buffer of the output level serves, which a hole would end. None for plans that
// move tables, or merge within a level. `hot_share`: as HotKeys.
std::vector<VersionEdit::BufferElement> BufferElementsOf(const TableEnvironment& environment,
                                                         const Version& version, const CompactionPlan& plan,
                                                         double hot_share);

}  // namespace varve
