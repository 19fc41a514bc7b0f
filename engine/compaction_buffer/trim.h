// Trim (LSbM, section 4.2): what of a buffer is not hot any more goes, and the space of what nobody can
// reach.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/units.h"
#include "engine/table/table_environment.h"
#include "engine/version/version.h"
#include "engine/version/version_edit.h"

namespace varve {

// What a view loses; nothing to do: nullopt. A view that is `young` (its blocks have not had the time to be
// read) keeps what it is asked for: the paper spares the newest list of a level.
std::optional<VersionEdit::TrimmedView> TrimOf(const TableEnvironment& environment, uint32_t level,
                                               const BufferedView& view, bool young, double hot_share);

// All of the level's buffer goes: it is frozen, or space is short. Such trims take no looking.
std::vector<VersionEdit::TrimmedView> DropOf(const Version& version, uint32_t level);

// The oldest views of all buffers, as many as make up `bytes`.
std::vector<VersionEdit::TrimmedView> DropOldest(const Version& version, uint64_t bytes);

}  // namespace varve
