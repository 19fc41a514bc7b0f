#include "tools/bench/control_group.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace varve {
namespace {

// A folder that looks like the kernel's: files that it would have are made beforehand.
class ControlGroupTest : public ::testing::Test {
 protected:
  ControlGroupTest()
      : root_(std::filesystem::temp_directory_path() / ("groups-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(root_);
  }
  ~ControlGroupTest() override { std::filesystem::remove_all(root_); }

  void Make(const std::string& file) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << "";
  }
  std::string Read(const std::string& file) {
    std::ifstream stream(root_ / file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::string OwnFolder() { return "varve-bench-" + std::to_string(getpid()); }

  const std::filesystem::path root_;
};

TEST_F(ControlGroupTest, Version2LimitsMemoryAndDeviceInOneGroup) {
  Make("cgroup.controllers");
  const ControlGroup group(root_, OwnFolder(),
                           {.memory_bytes = 1000,
                            .device = "7:3",
                            .device_read_bytes_per_second = 400,
                            .device_written_bytes_per_second = 500});
  EXPECT_TRUE(group.problems().empty());
  EXPECT_EQ(Read(OwnFolder() + "/memory.max"), "1000");
  EXPECT_EQ(group.memory_limit_file(), (root_ / OwnFolder() / "memory.max").string());
  EXPECT_EQ(Read(OwnFolder() + "/io.max"), "7:3 rbps=400 wbps=500 riops=max wiops=max");
  ASSERT_EQ(group.procs_files().size(), 1U);
  EXPECT_EQ(group.procs_files()[0], (root_ / OwnFolder() / "cgroup.procs").string());
}

TEST_F(ControlGroupTest, ReadsAloneCanBeThrottled) {
  Make("cgroup.controllers");
  const ControlGroup group(root_, OwnFolder(), {.device = "7:3", .device_reads_per_second = 90});
  EXPECT_TRUE(group.problems().empty());
  EXPECT_EQ(Read(OwnFolder() + "/io.max"), "7:3 rbps=max wbps=max riops=90 wiops=max");
}

TEST_F(ControlGroupTest, Version1ThrottlesTheDeviceInTheRootGroupAndTakesItBack) {
  Make("memory/memory.limit_in_bytes");
  Make("blkio/cgroup.procs");
  {
    const ControlGroup group(root_, OwnFolder(),
                             {.memory_bytes = 1000,
                              .device = "7:3",
                              .device_read_bytes_per_second = 400,
                              .device_written_bytes_per_second = 500,
                              .device_reads_per_second = 30,
                              .device_writes_per_second = 60});
    EXPECT_TRUE(group.problems().empty());
    EXPECT_EQ(Read("memory/" + OwnFolder() + "/memory.limit_in_bytes"), "1000");
    EXPECT_EQ(group.memory_limit_file(), (root_ / "memory" / OwnFolder() / "memory.limit_in_bytes").string());
    EXPECT_EQ(Read("blkio/blkio.throttle.read_bps_device"), "7:3 400");
    EXPECT_EQ(Read("blkio/blkio.throttle.write_bps_device"), "7:3 500");
    EXPECT_EQ(Read("blkio/blkio.throttle.read_iops_device"), "7:3 30");
    EXPECT_EQ(Read("blkio/blkio.throttle.write_iops_device"), "7:3 60");
    EXPECT_EQ(group.procs_files().size(), 2U);
  }
  EXPECT_EQ(Read("blkio/blkio.throttle.read_bps_device"), "7:3 0");
  EXPECT_EQ(Read("blkio/blkio.throttle.write_iops_device"), "7:3 0");
}

TEST_F(ControlGroupTest, WhatThisMachineCannotLimitIsSaid) {
  const ControlGroup group(root_, OwnFolder(),
                           {.memory_bytes = 1000,
                            .device = "7:3",
                            .device_read_bytes_per_second = 400,
                            .device_written_bytes_per_second = 500});
  EXPECT_EQ(group.problems().size(), 2U);
  EXPECT_TRUE(group.procs_files().empty());
  EXPECT_FALSE(group.PeakMemoryBytes().has_value());
  EXPECT_TRUE(group.memory_limit_file().empty());
}

TEST_F(ControlGroupTest, NothingIsMadeWhereNothingIsLimited) {
  Make("cgroup.controllers");
  const ControlGroup group(root_, OwnFolder(), {});
  EXPECT_TRUE(group.problems().empty());
  EXPECT_FALSE(std::filesystem::exists(root_ / OwnFolder()));
}

}  // namespace
}  // namespace varve
