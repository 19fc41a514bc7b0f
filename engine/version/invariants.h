// The invariants of a Version that can be seen without reading tables: verified when a manifest is recovered,
// by fsck, and on every version in tests. (Those of tables: VerifyTable. Those of what a store answers: its
// model tests.)
#pragma once

#include <string>
#include <vector>

#include "engine/version/version.h"

namespace varve {

// Each violation in words; empty when all hold:
// - level 0, Logs and buffers are ordered by install stamp, and no stamp reaches the next one to be given;
// - Trees are sorted and disjoint in user keys; the last level has no Log;
// - a newer table of level 0 holds only newer records than an older one that it overlaps;
// - a table is in one place, its id is below the next one, its records are not above the last sequence
// number;
// - tables have 1 to kSegmentsMax segments, whose ranges, counts and bytes agree with the table's;
// - a view of a buffer is asked for something, and for nothing beyond its table's range;
// - segments of the log are in the order of their numbers;
// - every unit of the device has at most one owner among tables and segments of the log.
std::vector<std::string> CheckVersion(const Version& version);

}  // namespace varve
