// What the simulated device promises, and that it is hostile beyond that.
#include "tests/sim/sim_device.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/device/aligned_buffer.h"
#include "engine/ring/local_executor.h"
#include "tests/support/manual_clock.h"

namespace varve::sim {
namespace {

constexpr uint32_t kSector = 512;

class SimDeviceTest : public testing::Test {
 protected:
  explicit SimDeviceTest(uint64_t seed = 1)
      : device_({.size_bytes = kMiB, .sector_bytes = kSector, .seed = seed}, trace_) {}

  Status Write(uint64_t sector, char with, Persistence persistence = Persistence::kCached,
               uint64_t sectors = 1) {
    AlignedBuffer buffer(sectors * kSector, kSector);
    std::fill_n(buffer.data(), buffer.size(), std::byte(with));
    return executor_.Run(
        device_.Write(DeviceOffset(sector * kSector), buffer.span(), IoPurpose::kWal, persistence));
  }
  Status Flush() { return executor_.Run(device_.Flush(IoPurpose::kWal)); }
  char Read(uint64_t sector) {
    AlignedBuffer buffer(kSector, kSector);
    const Status read =
        executor_.Run(device_.Read(DeviceOffset(sector * kSector), buffer.span(), IoPurpose::kCheck));
    EXPECT_TRUE(read.ok()) << read.ToString();
    return buffer.chars()[0];
  }
  void LosePower() {
    device_.PowerOff();
    device_.PowerOn();
  }

  ManualClock clock_;
  Trace trace_{clock_, 100};
  LocalExecutor executor_{clock_};
  SimDevice device_;
};

TEST_F(SimDeviceTest, WhatWasFlushedOrWrittenDurablyAlwaysSurvives) {
  for (int i = 0; i < 100; ++i) {
    const auto with = static_cast<char>('a' + i % 26);
    ASSERT_TRUE(Write(0, with).ok());
    ASSERT_TRUE(Flush().ok());
    ASSERT_TRUE(Write(1, with, Persistence::kDurable).ok());
    LosePower();
    ASSERT_EQ(Read(0), with);
    ASSERT_EQ(Read(1), with);
  }
}

TEST_F(SimDeviceTest, ADurableWriteIsNotUndoneByAnEarlierCachedOne) {
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(Write(0, 'o').ok());
    ASSERT_TRUE(Write(0, 'n', Persistence::kDurable).ok());
    LosePower();
    ASSERT_EQ(Read(0), 'n');
  }
}

TEST_F(SimDeviceTest, WhatWasNotFlushedIsLostOrKeptOrTornInEveryWay) {
  std::set<std::string> seen;
  for (int i = 0; i < 400; ++i) {
    ASSERT_TRUE(Write(0, '-', Persistence::kDurable, 3).ok());
    ASSERT_TRUE(Write(0, 'x', Persistence::kCached, 3).ok());
    LosePower();
    seen.insert({Read(0), Read(1), Read(2)});
  }
  EXPECT_EQ(seen.size(), 8U);
}

TEST_F(SimDeviceTest, AKillLosesNothingThatWasWrittenButALaterLossOfPowerDoes) {
  bool lost = false;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(Write(0, '-', Persistence::kDurable).ok());
    ASSERT_TRUE(Write(0, 'x').ok());
    device_.Kill();
    device_.PowerOn();
    ASSERT_EQ(Read(0), 'x');
    LosePower();
    lost = lost || Read(0) == '-';
  }
  EXPECT_TRUE(lost);
}

TEST_F(SimDeviceTest, AFailedFlushLosesWhatItShouldHaveMadeDurable) {
  bool lost = false;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(Write(0, '-', Persistence::kDurable).ok());
    ASSERT_TRUE(Write(0, 'x').ok());
    device_.Plan({.flush_errors = 1});
    EXPECT_FALSE(Flush().ok());
    device_.Plan({});
    EXPECT_FALSE(Flush().ok());
    EXPECT_EQ(Read(0), 'x');
    LosePower();
    lost = lost || Read(0) == '-';
  }
  EXPECT_TRUE(lost);
}

TEST_F(SimDeviceTest, EveryOperationFailsOnceThePowerIsGone) {
  device_.Plan({.power_off_after = 2});
  EXPECT_TRUE(Write(0, 'a').ok());
  EXPECT_TRUE(Flush().ok());
  EXPECT_FALSE(Write(0, 'b').ok());
  EXPECT_TRUE(device_.off());
  EXPECT_FALSE(Flush().ok());
  device_.PowerOn();
  EXPECT_EQ(Read(0), 'a');
}

TEST_F(SimDeviceTest, LiesAreToldAsPlanned) {
  ASSERT_TRUE(Write(0, '-', Persistence::kDurable).ok());
  ASSERT_TRUE(Write(7, '-', Persistence::kDurable).ok());
  device_.Plan({.lost_writes = 1});
  EXPECT_TRUE(Write(0, 'x', Persistence::kDurable).ok());
  EXPECT_EQ(Read(0), '-');
  EXPECT_EQ(device_.lies(), 1U);
  device_.Plan({.misdirected_writes = 1});
  EXPECT_TRUE(Write(3, 'x', Persistence::kDurable).ok());
  EXPECT_EQ(Read(3), '\0');
  EXPECT_TRUE(Read(0) == 'x' || Read(7) == 'x');
  EXPECT_TRUE(device_.disturbed());
}

}  // namespace
}  // namespace varve::sim
