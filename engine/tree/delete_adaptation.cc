#include "engine/tree/delete_adaptation.h"

#include <algorithm>
#include <cmath>

#include "engine/version/live_table.h"

namespace varve {

namespace {

// The share of the cost that a change has to spare.
constexpr double kMargin = 0.05;
// By how much the worth of a byte has to be mistaken.
constexpr double kWorthMargin = 1.25;
// At most, for each window.
constexpr double kLevel0Step = 1.5;
constexpr double kReclaimStep = 2;
constexpr uint32_t kRestMax = 16;

double Real(uint64_t number) {
  return static_cast<double>(number);
}
double AtLeastOne(uint64_t number) {
  return Real(std::max<uint64_t>(number, 1));
}

}  // namespace

double Level0Cost(const Mix& mix, const StoreOutline& store, const AdaptationLimits& limits,
                  uint32_t tables) {
  const double table_bytes =
      std::max(Real(mix.flushed_bytes) / AtLeastOne(mix.flushes), Real(limits.level0_full_table_bytes));
  const double level1_bytes = Real(std::max(store.level1_bytes, limits.level1_bytes));
  // Each merge reads level 1 and writes it anew.
  const double merges = Real(mix.flushed_bytes) / std::max(tables * table_bytes, 1.0);
  const double moved = 2 * merges * level1_bytes;
  // On average half of them are there to ask. While tombstones wait there, readers pass what they hide.
  const double passed = (Real(mix.scanned_bytes) + Real(mix.vain_bytes)) * Real(mix.deletes) /
                        AtLeastOne(mix.flushes) / AtLeastOne(store.entries);
  const double asked =
      (Real(LiveTable::kGetBytes) * Real(mix.gets) + Real(LiveTable::kSeekBytes) * Real(mix.scans) + passed) *
      tables / 2;
  return moved + asked;
}

uint32_t BestLevel0Tables(const Mix& mix, const StoreOutline& store, const AdaptationLimits& limits) {
  uint32_t best = limits.level0_tables_min;
  double least = Level0Cost(mix, store, limits, best);
  for (uint32_t tables = best + 1; tables <= limits.level0_tables_max; ++tables) {
    const double cost = Level0Cost(mix, store, limits, tables);
    if (cost < least) {
      best = tables;
      least = cost;
    }
  }
  return best;
}

double WorthOfAByte(const Mix& mix, const StoreOutline& store, const AdaptationLimits& limits) {
  // How often readers come by while the levels above the last take up what they hold: so long would sizes
  // leave it there.
  const double passes = (Real(mix.scanned_bytes) + Real(mix.vain_bytes)) / AtLeastOne(store.all_bytes);
  const double windows = Real(store.upper_bytes) / AtLeastOne(mix.flushed_bytes);
  return WorthAt(limits.first.reclaim_min) + passes * windows;
}

// For g bytes that it gives back and w that it writes, a merge moves 2 w + g: as much as they are worth where
// g / w is 2 / (worth - 1).
double ReclaimMinAt(double worth) {
  return 2 / (worth - 1);
}

double WorthAt(double reclaim_min) {
  return 1 + 2 / reclaim_min;
}

void Apply(const AdaptedThresholds& thresholds, const AdaptationLimits& limits, const TreeConfig& base,
           TreeConfig& config) {
  const double part = thresholds.reclaim_min / limits.first.reclaim_min;
  if (limits.level0_tables_min < limits.level0_tables_max) {
    config.level0_tables_trigger = std::min(thresholds.level0_tables, base.level0_tables_trigger);
    config.level0_tables_max = thresholds.level0_tables;
  }
  config.deletes.reclaim_min = thresholds.reclaim_min;
  config.deletes.share_max = base.deletes.share_max * part;
  config.deletes.dense_share = base.deletes.dense_share * part;
}

bool Steadiness::MayStep() {
  if (windows_left_ > 0) {
    windows_left_--;
    return false;
  }
  return true;
}

void Steadiness::Became(double before, double now) {
  if (now == before) {
    if (++quiet_ >= kRestMax) {
      quiet_ = 0;
      rest_ /= 2;
    }
    return;
  }
  quiet_ = 0;
  const int direction = now > before ? 1 : -1;
  if (direction == -last_) {
    rest_ = std::clamp(2 * rest_, 1u, kRestMax);
  }
  last_ = direction;
  windows_left_ = rest_;
}

bool DeleteAdaptation::OnWindow(const Mix& mix, const StoreOutline& store) {
  last_mix_ = mix;
  windows_++;
  const AdaptedThresholds before = thresholds_;
  if (level0_.MayStep()) {
    thresholds_.level0_tables = NextLevel0Tables(store);
    level0_.Became(before.level0_tables, thresholds_.level0_tables);
    changes_ += thresholds_.level0_tables != before.level0_tables ? 1 : 0;
  }
  if (reclaim_.MayStep()) {
    thresholds_.reclaim_min = NextReclaimMin(store);
    reclaim_.Became(before.reclaim_min, thresholds_.reclaim_min);
    changes_ += thresholds_.reclaim_min != before.reclaim_min ? 1 : 0;
  }
  return thresholds_ != before;
}

uint32_t DeleteAdaptation::NextLevel0Tables(const StoreOutline& store) {
  const uint32_t now = thresholds_.level0_tables;
  const uint32_t best = BestLevel0Tables(last_mix_, store, limits_);
  if (Level0Cost(last_mix_, store, limits_, best) >
      (1 - kMargin) * Level0Cost(last_mix_, store, limits_, now)) {
    return now;
  }
  const auto up = static_cast<uint32_t>(std::lround(now * kLevel0Step));
  const auto down = static_cast<uint32_t>(std::lround(now / kLevel0Step));
  return std::clamp(best, std::min(down, now - 1), std::max(up, now + 1));
}

double DeleteAdaptation::NextReclaimMin(const StoreOutline& store) {
  const double now = thresholds_.reclaim_min;
  if (store.tombstones == 0) {
    return now;
  }
  const double best = std::clamp(ReclaimMinAt(WorthOfAByte(last_mix_, store, limits_)), limits_.reclaim_least,
                                 limits_.first.reclaim_min);
  const double mistaken = WorthAt(best) / WorthAt(now);
  if (mistaken < kWorthMargin && mistaken > 1 / kWorthMargin) {
    return now;
  }
  return std::clamp(best, now / kReclaimStep, now * kReclaimStep);
}

}  // namespace varve
