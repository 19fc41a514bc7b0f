#include "engine/tree/level_sizes.h"

#include <gtest/gtest.h>

namespace varve {
namespace {

LevelSlack SlackWithLevel0(double level0) {
  LevelSlack slack;
  slack.fill(1);
  slack[0] = level0;
  return slack;
}

TEST(ConcernBytes, IsLevel1ByTheOptions) {
  TreeConfig config;
  config.level1_bytes = 8 * kMiB;
  EXPECT_EQ(ConcernBytes(config, SlackWithLevel0(1)), 8 * kMiB);
}

// Segments are appended: other levels are as large as by the options.
TEST(ConcernBytes, GrowsWithWhatLevel0HandsDownAtOnce) {
  TreeConfig config;
  config.level1_bytes = 8 * kMiB;
  config.level0_always_waits = true;
  EXPECT_EQ(ConcernBytes(config, SlackWithLevel0(6)), 48 * kMiB);
}

TEST(ConcernBytes, IsTheSameHoweverLongLevel0WaitsWhereLevelsAreSmaller) {
  TreeConfig config;
  config.level1_bytes = 8 * kMiB;
  config.deletes.slack_max = 2;
  EXPECT_EQ(ConcernBytes(config, SlackWithLevel0(1)), 32 * kMiB);
  EXPECT_EQ(ConcernBytes(config, SlackWithLevel0(2)), 32 * kMiB);
}

}  // namespace
}  // namespace varve
