#include "engine/tree/level_sizes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/base/units.h"
#include "engine/tree/level_targets.h"

namespace varve {

namespace {

// How many times as large the last level is as a level above it that holds more than its capacity, or less.
constexpr double kLastOfOneAbove = 8;

// What level 0 may wait for at most, as a multiple of its trigger.
double Level0WaitMax(const TreeConfig& config) {
  return std::max(static_cast<double>(config.level0_tables_max) / std::max(config.level0_tables_trigger, 1u),
                  1.0);
}

// Of level 0, all that its trigger waits for.
LevelBounds Level0Bounds(const TreeConfig& config) {
  // A table counts as full from the half of a memtable on.
  const double table =
      config.level0_full_table_bytes == 0
          ? static_cast<double>(config.level1_bytes) / std::max(config.level0_tables_trigger, 1u)
          : 2.0 * static_cast<double>(config.level0_full_table_bytes);
  const double capacity = std::max(config.level0_tables_trigger, 1u) * table;
  const double most = Level0WaitMax(config) * capacity;
  return {capacity, config.level0_always_waits ? most : capacity, most};
}

// For the level above the last one, which holds `grown` times its capacity: the less, the more the last one
// holds, so that not all that is too much is due at once when another level begins. Its capacity stays; where
// space is bounded, an eighth of the last level, for the bound works only over small levels.
double SlackAboveLast(const TreeConfig& config, double grown) {
  const double least = config.beyond_level_of_most_max > 0 ? std::min(grown / kLastOfOneAbove, 1.0) : 1;
  // Half as much less where it was not larger before: else the first bytes too many took all of it along.
  const double most = config.deletes.last_level_slack;
  return std::max(most > 1 ? most - grown : 1 - grown / 2, least);
}

}  // namespace

uint64_t LevelCapacityBytes(const TreeConfig& config, uint32_t level) {
  const double capacity =
      static_cast<double>(config.level1_bytes) * std::pow(config.level_ratio, static_cast<double>(level) - 1);
  return capacity < 0x1p63 ? static_cast<uint64_t>(capacity) : uint64_t{1} << 63;
}

LevelSlack SlackOfLevels(const Version& version, const TreeConfig& config) {
  LevelSlack slack;
  slack.fill(1);
  const DeleteConfig& deletes = config.deletes;
  const auto pressed = [&](uint32_t level, double best) {
    const bool presses = deletes.enabled() && deletes.presses;
    const double pressure = presses ? DeletePressure(version, deletes, level) : 0;
    return best > 1 ? 1 + (best - 1) * (1 - pressure) : best;
  };
  if (config.level0_always_waits) {
    slack[0] = pressed(0, Level0WaitMax(config));
  }
  const uint32_t last = version.last_level();
  if (last < 2) {
    return slack;
  }
  const uint64_t last_bytes = version.tree(last).totals().valid_bytes;
  if (last > 2) {
    slack[last - 1] = SlackAboveLast(config, ShareOf(last_bytes, LevelCapacityBytes(config, last - 1)));
  }
  if (!deletes.enabled()) {
    return slack;
  }
  slack[last] = deletes.last_level_slack;
  slack[1] = std::clamp(ShareOf(last_bytes, config.level1_bytes) / kLastOfOneAbove, slack[1],
                        std::max(slack[1], deletes.level1_slack_max));
  if (deletes.slack_max <= 1) {
    return slack;
  }
  std::vector<LevelBounds> bounds = {Level0Bounds(config)};
  double all = 0;
  for (uint32_t level = 1; level < last; ++level) {
    const auto capacity = static_cast<double>(LevelCapacityBytes(config, level));
    bounds.push_back({capacity, capacity * deletes.slack_min, capacity * deletes.slack_max});
  }
  for (uint32_t level = 0; level <= last; ++level) {
    all += static_cast<double>(version.totals(level).valid_bytes);
  }
  const std::vector<double> targets = TargetsOf(bounds, all);
  for (uint32_t level = 0; level < last; ++level) {
    slack[level] = pressed(level, targets[level] / bounds[level].capacity);
  }
  return slack;
}

uint64_t ConcernBytes(const TreeConfig& config, const LevelSlack& slack) {
  const double times = std::max(slack[0], config.deletes.slack_max * config.deletes.slack_max);
  return static_cast<uint64_t>(times * static_cast<double>(config.level1_bytes));
}

}  // namespace varve
