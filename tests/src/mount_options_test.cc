#include "src/mount_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace varve {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

MountOptions Parsed(const std::vector<std::string>& lists, bool by_root = true) {
  Result<MountOptions> options = ParseMountOptions(lists, by_root, false);
  EXPECT_TRUE(options.ok()) << options.ToString();
  return options.ok() ? *options : MountOptions();
}

TEST(MountOptions, RootMountsForEverybodyWithPermissionsCheckedByTheKernel) {
  const MountOptions options = Parsed({});
  EXPECT_THAT(options.kernel, Contains("allow_other"));
  EXPECT_THAT(options.kernel, Contains("default_permissions"));
}

TEST(MountOptions, OrdinaryUserMountsForHimselfUnlessHeAsks) {
  EXPECT_THAT(Parsed({}, false).kernel, Not(Contains("allow_other")));
  EXPECT_THAT(Parsed({"allow_other"}, false).kernel, Contains("allow_other"));
}

TEST(MountOptions, SetUserIdAndDevicesNeedToBeAskedFor) {
  EXPECT_THAT(Parsed({}).kernel, Contains("nosuid"));
  EXPECT_THAT(Parsed({}).kernel, Contains("nodev"));
  const MountOptions asked = Parsed({"suid,dev"});
  EXPECT_THAT(asked.kernel, Contains("suid"));
  EXPECT_THAT(asked.kernel, Not(Contains("nosuid")));
  EXPECT_THAT(asked.kernel, Not(Contains("nodev")));
}

TEST(MountOptions, LaterOptionsWinOverEarlierOnes) {
  EXPECT_FALSE(Parsed({"ro", "rw"}).read_only);
  const MountOptions read_only = Parsed({"rw,ro"});
  EXPECT_TRUE(read_only.read_only);
  EXPECT_TRUE(read_only.store.read_only);
  EXPECT_THAT(read_only.kernel, Contains("ro"));
}

TEST(MountOptions, ValuesReachTheStore) {
  const MountOptions options = Parsed({"commit=0.25,cache=32M,memtable=8M,techniques=block:sstlog"});
  EXPECT_EQ(options.store.commit_interval_nanos, 250'000'000U);
  EXPECT_EQ(options.store.block_cache_bytes, 32 * kMiB);
  EXPECT_EQ(options.store.memtable_bytes, 8 * kMiB);
  EXPECT_TRUE(options.store.techniques.block_merge);
  EXPECT_TRUE(options.store.techniques.sst_log);
  EXPECT_FALSE(options.store.techniques.monkey);
}

TEST(MountOptions, TechniquesCanAllBeTurnedOff) {
  const MountOptions options = Parsed({"techniques=monkey,techniques=none"});
  EXPECT_FALSE(options.store.techniques.monkey);
  EXPECT_FALSE(options.store.techniques.block_merge);
}

TEST(MountOptions, TechniquesThatAreBuiltAreInUseUnlessNamed) {
  EXPECT_TRUE(Parsed({"noatime"}).store.techniques.block_merge);
  EXPECT_TRUE(Parsed({"noatime"}).store.techniques.append_merge);
  EXPECT_FALSE(Parsed({"techniques=append"}).store.techniques.block_merge);
}

TEST(MountOptions, QuotedCommasDoNotSeparate) {
  const MountOptions options = Parsed({"techniques=block\\,append,noatime"});
  EXPECT_TRUE(options.store.techniques.block_merge);
  EXPECT_TRUE(options.store.techniques.append_merge);
  EXPECT_THAT(options.kernel, Contains("noatime"));
}

TEST(MountOptions, WhatFstabKeepsForOthersIsIgnored) {
  const MountOptions options =
      Parsed({"defaults,noauto,nofail,_netdev,x-systemd.automount,x-gvfs-show,user=me"});
  EXPECT_THAT(options.kernel, Not(Contains("noauto")));
}

TEST(MountOptions, TimesOfAccessesAreRelativeUnlessOtherwiseTold) {
  EXPECT_EQ(Parsed({}).access_times, AccessTimes::kRelative);
  EXPECT_EQ(Parsed({"noatime"}).access_times, AccessTimes::kNever);
  EXPECT_EQ(Parsed({"noatime,relatime"}).access_times, AccessTimes::kRelative);
  EXPECT_EQ(Parsed({"strictatime"}).access_times, AccessTimes::kAlways);
  EXPECT_TRUE(Parsed({}).directory_access_times);
  EXPECT_FALSE(Parsed({"nodiratime"}).directory_access_times);
}

TEST(MountOptions, UnknownOptionIsRefusedByNameWithAListOfThoseThereAre) {
  for (const char* const list : {"bogus", "bogus=1", "rw,bogus"}) {
    const Result<MountOptions> options = ParseMountOptions({list}, true, false);
    ASSERT_TRUE(options.Is(ErrorCode::kInvalidArgument)) << list;
    EXPECT_THAT(options.error().message(), HasSubstr("bogus"));
    EXPECT_THAT(options.error().message(), HasSubstr("commit=SECONDS"));
  }
}

TEST(MountOptions, SloppyIgnoresTheUnknown) {
  EXPECT_TRUE(ParseMountOptions({"bogus,bogus=1"}, true, true).ok());
}

TEST(MountOptions, SenselessValuesAreRefused) {
  for (const char* const list :
       {"commit=0", "commit=", "commit=-1", "commit=1x", "commit=nan", "cache=1", "cache=", "memtable=x",
        "techniques=", "techniques=block:", "techniques=sorting"}) {
    EXPECT_TRUE(ParseMountOptions({list}, true, false).Is(ErrorCode::kInvalidArgument)) << list;
  }
}

}  // namespace
}  // namespace varve
