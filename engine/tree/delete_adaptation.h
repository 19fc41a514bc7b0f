// How the thresholds of `delete` follow the mix of reads, scans, writes and deletes (Delete-aware LSM,
// section 3.1.3, corrected: docs/design/deletes.md has the model). No I/O, no clock: the same thresholds for
// the same windows. Costs are bytes: of the device, or what a merge reads and writes in the time.
//
// Two thresholds have a best value that depends on the mix: how many tables gather in level 0, since each
// merge of them writes level 1 anew and each of them is one more to ask for every read; and what a merge for
// deletes has to give back, since what is deleted is passed by every scan until it is gone.
#pragma once

#include <cstdint>

#include "engine/tree/tree_config.h"

namespace varve {

// What was done during some flushes.
struct Mix {
  uint64_t flushes = 0;
  uint64_t flushed_bytes = 0;
  uint64_t puts = 0;
  uint64_t deletes = 0;
  uint64_t gets = 0;
  // Of these, the ones that found nothing and may have read the device for it.
  uint64_t vain_gets = 0;
  uint64_t scans = 0;
  // Read from the device, by scans and by gets in vain: what deleted records make dearer.
  uint64_t scanned_bytes = 0;
  uint64_t vain_bytes = 0;
};

// What the store held at the end of them.
struct StoreOutline {
  uint64_t level1_bytes = 0;
  // Above the last level.
  uint64_t upper_bytes = 0;
  uint64_t all_bytes = 0;
  uint64_t entries = 0;
  uint64_t tombstones = 0;
};

struct AdaptedThresholds {
  // The most tables that gather in level 0, whatever writes would have them do (SlackOfLevels); and
  // DeleteConfig::reclaim_min.
  uint32_t level0_tables = 4;
  double reclaim_min = 0.5;

  bool operator==(const AdaptedThresholds&) const = default;
};

struct AdaptationLimits {
  // The first are where a store begins, and what its TreeConfig says.
  AdaptedThresholds first;
  uint32_t level0_tables_min = 4;
  uint32_t level0_tables_max = 4;
  // What a merge for deletes has to give back when scans are all that happens; without scans, what it has to
  // at first.
  double reclaim_least = 0.5;
  // What level 1 grows to at least, and what a table of level 0 has to hold to count as one.
  uint64_t level1_bytes = 0;
  uint64_t level0_full_table_bytes = 0;
};

// What a window like this one costs, as far as it depends on the tables that gather in level 0. Precondition:
// at least one.
double Level0Cost(const Mix& mix, const StoreOutline& store, const AdaptationLimits& limits, uint32_t tables);
// Where that is least, within the limits.
uint32_t BestLevel0Tables(const Mix& mix, const StoreOutline& store, const AdaptationLimits& limits);

// What it is worth to be rid of a deleted byte at once: so many bytes moved.
double WorthOfAByte(const Mix& mix, const StoreOutline& store, const AdaptationLimits& limits);
// What a merge has to give back for each byte that it writes where a byte is worth so much; and the other
// way.
double ReclaimMinAt(double worth);
double WorthAt(double reclaim_min);

// The thresholds of a config, and those that say the same of a level's share of tombstones, in their place.
// `base`: the config by the options.
void Apply(const AdaptedThresholds& thresholds, const AdaptationLimits& limits, const TreeConfig& base,
           TreeConfig& config);

// Lets one threshold change only so often: a step against the last one doubles the windows for which it rests
// after each step. They are halved after as many windows in a row in which it could change and does not as it
// may rest at most.
class Steadiness {
 public:
  // At the end of each window. Whether the threshold may change; if so, Became follows.
  bool MayStep();
  void Became(double before, double now);

 private:
  int last_ = 0;
  uint32_t rest_ = 0;
  uint32_t quiet_ = 0;
  uint32_t windows_left_ = 0;
};

class DeleteAdaptation {
 public:
  explicit DeleteAdaptation(const AdaptationLimits& limits) : limits_(limits), thresholds_(limits.first) {}

  // The end of a window. True: thresholds have changed.
  bool OnWindow(const Mix& mix, const StoreOutline& store);

  const AdaptationLimits& limits() const { return limits_; }
  const AdaptedThresholds& thresholds() const { return thresholds_; }
  const Mix& last_mix() const { return last_mix_; }
  uint64_t windows() const { return windows_; }
  uint64_t changes() const { return changes_; }

 private:
  uint32_t NextLevel0Tables(const StoreOutline& store);
  double NextReclaimMin(const StoreOutline& store);

  AdaptationLimits limits_;
  AdaptedThresholds thresholds_;
  Mix last_mix_;
  Steadiness level0_;
  Steadiness reclaim_;
  uint64_t windows_ = 0;
  uint64_t changes_ = 0;
};

}  // namespace varve
