#include "engine/compaction_buffer/freeze.h"

#include <gtest/gtest.h>

namespace varve {
namespace {

TEST(RepeatMeter, ALevelThatTakesNewRecordsIsNotFrozen) {
  RepeatMeter meter;
  EXPECT_FALSE(meter.frozen(1));
  for (int i = 0; i < 100; ++i) {
    meter.Add(2, 1000, 100);
  }
  EXPECT_FALSE(meter.frozen(2));
}

TEST(RepeatMeter, ALevelWhoseRecordsAreReplacedFreezesAndThawsWithWhatComes) {
  RepeatMeter meter;
  for (int i = 0; i < 10; ++i) {
    meter.Add(3, 1000, 900);
  }
  EXPECT_TRUE(meter.frozen(3));
  EXPECT_FALSE(meter.frozen(2)) << "each level by itself";
  for (int i = 0; i < 100; ++i) {
    meter.Add(3, 1000, 450);
  }
  EXPECT_TRUE(meter.frozen(3)) << "a share in between changes nothing";
  for (int i = 0; i < 100; ++i) {
    meter.Add(3, 1000, 0);
  }
  EXPECT_FALSE(meter.frozen(3));
}

TEST(RepeatMeter, AMergeThatBringsNothingSaysNothing) {
  RepeatMeter meter;
  meter.Add(1, 0, 500);
  EXPECT_FALSE(meter.frozen(1));
}

}  // namespace
}  // namespace varve
