#include "engine/compaction_buffer/freeze.h"

#include <algorithm>

namespace varve {

namespace {

// Of the weight of everything before, what a merge leaves: some dozen merges count.
constexpr double kForgets = 0.95;
// A level freezes above the first share of repeated records, and thaws below the second: a share in between
// does not make it change with every merge.
constexpr double kFreezesAbove = 0.5;
constexpr double kThawsBelow = 0.4;

}  // namespace

void RepeatMeter::Add(uint32_t level, uint64_t arrived, uint64_t dropped) {
  if (arrived == 0) {
    return;
  }
  OfLevel& of = levels_[level];
  of.arrived = of.arrived * kForgets + static_cast<double>(arrived);
  of.repeated = of.repeated * kForgets + static_cast<double>(std::min(arrived, dropped));
  const double share = of.repeated / of.arrived;
  of.frozen = share > (of.frozen ? kThawsBelow : kFreezesAbove);
}

}  // namespace varve
