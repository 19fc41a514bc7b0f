// How large level 0 and the levels above the last one are to be, so that a byte is written as few times as
// may be on its way down, without more space than they would take at their nominal capacities. A pure
// function of sizes (docs/design/deletes.md, "How large a level is to be").
#pragma once

#include <span>
#include <vector>

namespace varve {

// Bytes, as real numbers.
struct LevelBounds {
  // By the options.
  double capacity = 0;
  // What the level may be at least and at most; 0 < least <= most.
  double least = 0;
  double most = 0;
};

// `levels`: level 0, what it brings at once, and each down to the last but one. `all`: what they and the last
// one hold together, however it lies.
//
// For a byte that passes through a level, bytes are written that it overlaps there: as many as the level is
// larger than what comes at once. A merge of level 0 overlaps all of level 1; of other levels those tables go
// down that overlap the least, and fewer bytes are written. The sum over all levels is what the answer makes
// least, and the space: each byte of the levels has a price, the same in every level. A hundredth of `all`
// costs as much as a hundredth of what is written; where the levels would exceed the sum of their
// capacities, more.
std::vector<double> TargetsOf(std::span<const LevelBounds> levels, double all);

}  // namespace varve
