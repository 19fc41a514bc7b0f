#include "engine/tree/overlap_picker.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/units.h"
#include "engine/tree/level_plans.h"

namespace varve {

namespace {

// Tables that go down in one merge where the level has too much by more than one.
constexpr size_t kNeighbours = 2;

// A table of a Tree, and what lies below it.
struct Footprint {
  std::shared_ptr<const LiveTable> table;
  bool busy = false;
  uint64_t overlap_bytes = 0;
  uint64_t hidden_bytes = 0;
  // Of the overlap, what the table before it in the Tree overlaps as well.
  uint64_t shared_bytes = 0;
};

// Neighbours that would go down together.
struct Candidate {
  // Bytes of the level below that would be rewritten for each byte that goes down.
  double overlap_ratio;
  bool before_cursor;
  size_t first;
};

// Every table of the Tree. Walks both levels once.
std::vector<Footprint> FootprintsOf(const Version& version, const TreeConfig& config, const BusySet& busy,
                                    uint32_t level) {
  std::vector<Footprint> footprints;
  SortedTables::Cursor child = version.tree(level + 1).First();
  for (SortedTables::Cursor parent = version.tree(level).First(); parent.Valid(); parent.Next()) {
    Footprint footprint{parent.shared(), busy.Holds(parent->id())};
    while (child.Valid() && child->largest_key() < parent->smallest_key()) {
      child.Next();
    }
    uint64_t overlap_entries = 0;
    // The last child may reach under the next parent too: it stays where `child` is.
    for (SortedTables::Cursor under = child; under.Valid() && under->smallest_key() <= parent->largest_key();
         under.Next()) {
      footprint.overlap_bytes += under->valid_bytes();
      overlap_entries += under->entries();
      if (!footprints.empty() && under->smallest_key() <= footprints.back().table->largest_key()) {
        footprint.shared_bytes = under->valid_bytes();
      }
    }
    if (config.deletes.enabled()) {
      footprint.hidden_bytes = HiddenBytes(*parent, footprint.overlap_bytes, overlap_entries);
    }
    footprints.push_back(std::move(footprint));
  }
  return footprints;
}

// So many neighbours at a time with their overlap ratio, the best first: those that are in no job. What
// tables delete of the level below is not written there.
std::vector<Candidate> RankByOverlap(const std::vector<Footprint>& footprints, std::string_view cursor,
                                     size_t tables) {
  std::vector<Candidate> candidates;
  for (size_t first = 0; first + tables <= footprints.size(); ++first) {
    uint64_t bytes = 0;
    uint64_t overlap_bytes = 0;
    bool busy = false;
    for (size_t i = first; i < first + tables; ++i) {
      const Footprint& footprint = footprints[i];
      busy = busy || footprint.busy;
      bytes += footprint.table->valid_bytes();
      overlap_bytes += footprint.overlap_bytes - footprint.hidden_bytes;
      overlap_bytes -= i == first ? 0 : std::min(footprint.shared_bytes, overlap_bytes);
    }
    if (!busy) {
      candidates.push_back(
          {ShareOf(overlap_bytes, bytes), footprints[first].table->largest_key() <= cursor, first});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::make_pair(a.overlap_ratio, a.before_cursor) <
           std::make_pair(b.overlap_ratio, b.before_cursor);
  });
  return candidates;
}

}  // namespace

std::optional<CompactionPlan> PickByOverlap(const Version& version, const TreeConfig& config,
                                            const BusySet& busy, const DeleteLimits& limits, uint32_t level,
                                            std::string_view cursor, uint64_t excess_bytes) {
  const std::vector<Footprint> footprints = FootprintsOf(version, config, busy, level);
  const auto ranked = [&](size_t tables) { return RankByOverlap(footprints, cursor, tables); };
  const auto plan_of = [&](size_t first, size_t count) {
    LevelTables tables;
    for (size_t i = first; i < first + count; ++i) {
      tables.push_back(footprints[i].table);
    }
    return PlanOfTables(version, config, busy, level, tables, PlanReason::kSize);
  };
  const std::vector<Candidate> singles = ranked(1);
  // One that overlaps nothing moves as it is.
  if (config.deletes.enabled() && excess_bytes >= config.table_bytes && !singles.empty() &&
      singles.front().overlap_ratio > 0) {
    for (const Candidate& candidate : ranked(kNeighbours)) {
      std::optional<CompactionPlan> plan = plan_of(candidate.first, kNeighbours);
      if (plan.has_value() && HasRoom(limits, *plan)) {
        return plan;
      }
    }
  }
  for (const Candidate& candidate : singles) {
    std::optional<CompactionPlan> plan = plan_of(candidate.first, 1);
    if (plan.has_value()) {
      return plan;
    }
  }
  return std::nullopt;
}

}  // namespace varve
