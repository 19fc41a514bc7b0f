#include "engine/store/back_pressure.h"

#include <algorithm>
#include <cmath>

#include "engine/base/units.h"

namespace varve {

namespace {

// L0 may reach this multiple of its trigger before it presses at all: a deep L0 makes its merges cheaper
// (fewer rewrites of L1), and reads pay one filter probe a table.
constexpr double kLevel0Free = 2.0;
constexpr double kLevel0Full = 6.0;
// The same for overdue bytes, in units of what is of concern.
constexpr double kOverdueFree = 2.0;
constexpr double kOverdueFull = 16.0;
// The same for range tombstones, in units of what is kept at most: beyond, a snapshot holds them up, or
// merges do not keep up.
constexpr double kRangesFree = 2.0;
constexpr double kRangesFull = 8.0;
// The rate falls geometrically from the first to the second as the pressure goes from 0 to 1: each step of
// debt slows by the same factor, so the rate settles where the background keeps up, whatever the device's
// speed.
constexpr double kRateFirst = 2.0 * 1024 * 1024 * 1024;
constexpr double kRateLast = 1.0 * 1024 * 1024;

double Ramp(double at, double from, double to) {
  return std::clamp((at - from) / (to - from), 0.0, 1.0);
}

}  // namespace

double PressureOf(const Debt& debt) {
  // Pressing begins with half a memtable beside a backlog that is full but for that memtable.
  const double memory = Ramp(static_cast<double>(debt.immutable_memtables) + debt.memtable_fill,
                             static_cast<double>(debt.immutable_memtables_max) - 0.5,
                             static_cast<double>(debt.immutable_memtables_max) + 1.0);
  const double level0 =
      Ramp(ShareOf(debt.level0_tables, debt.level0_tables_trigger), kLevel0Free, kLevel0Full);
  const double overdue = Ramp(ShareOf(debt.overdue_bytes, debt.concern_bytes), kOverdueFree, kOverdueFull);
  const double ranges = Ramp(debt.range_tombstones, kRangesFree, kRangesFull);
  return std::max({memory, level0, overdue, ranges});
}

uint64_t RateAt(double pressure) {
  if (pressure <= 0) {
    return 0;
  }
  return static_cast<uint64_t>(kRateFirst * std::pow(kRateLast / kRateFirst, std::min(pressure, 1.0)));
}

}  // namespace varve
