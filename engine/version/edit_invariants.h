// The invariants of an edit: what a job may do to a Version. What is wrong with the result alone is
// CheckVersion's; this sees what only the step from one Version to the next shows. Run on every edit in
// tests.
#pragma once

#include <string>
#include <vector>

#include "engine/version/version.h"
#include "engine/version/version_edit.h"

namespace varve {

// Each violation in words; empty when all hold. `edit` is about to be, or was, applied to `before`:
// - level 0 takes new tables only from flushes, which replace nothing; Trees only from merges and moves;
// - nothing bypasses a level: what goes into a Tree comes from it and from the level above it;
// - a table leaves level 0, or a Log, only together with every older table there that it overlaps;
// - into a Log come tables of the Tree beside it, each as it is; they never come back, nor does what they
//   hold: from a Log it goes into the Tree below;
// - what goes from a Tree into the one below leaves no table behind in the Log beside it that it overlaps;
// - all tables of the Tree below that an input from above overlaps are inputs too;
// - what is merged into a level is there in its buffer, or becomes a hole there, wherever something is
//   buffered; what comes into a buffer is what the edit merges, as it is or with extents given back;
// - a buffer asks for no more by being trimmed, and is no merge's input;
// - what is added lies within the range and the sequence numbers of what it replaces, and holds no more
//   records or tombstones.
std::vector<std::string> CheckEdit(const Version& before, const VersionEdit& edit);

}  // namespace varve
