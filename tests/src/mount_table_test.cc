#include "src/mount_table.h"

#include <gtest/gtest.h>

namespace varve {
namespace {

constexpr char kTable[] =
    "24 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
    "90 24 7:0 / /mnt/a rw,nosuid,nodev,relatime shared:44 - fuseblk.varve /dev/loop0 rw,user_id=0\n"
    "91 24 0:50 / /mnt/with\\040blank rw,relatime - fuse.varve /home/me/my\\040keys.img rw,user_id=1000\n"
    "92 24 0:51 / /mnt/b rw - fuse.sshfs host: rw\n";

TEST(MountTable, FindsAMountByItsDirectory) {
  const auto found = FindVarveMount(std::string_view(kTable), "/mnt/a");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->source, "/dev/loop0");
}

TEST(MountTable, FindsAMountByItsDevice) {
  const auto found = FindVarveMount(std::string_view(kTable), "/dev/loop0");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->directory, "/mnt/a");
}

TEST(MountTable, UnderstandsBlanksInPaths) {
  const auto found = FindVarveMount(std::string_view(kTable), "/mnt/with blank");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->source, "/home/me/my keys.img");
}

TEST(MountTable, OtherFilesystemsAreNotOurs) {
  EXPECT_FALSE(FindVarveMount(std::string_view(kTable), "/mnt/b").has_value());
  EXPECT_FALSE(FindVarveMount(std::string_view(kTable), "/").has_value());
}

TEST(MountTable, OfMountsOnOneAnotherTheTopmostCounts) {
  const std::string twice = std::string(kTable) + "93 90 7:1 / /mnt/a rw - fuseblk.varve /dev/loop1 rw\n";
  EXPECT_EQ(FindVarveMount(std::string_view(twice), "/mnt/a")->source, "/dev/loop1");
}

TEST(MountTable, LinesThatAreNoEntriesAreSkipped) {
  EXPECT_FALSE(
      FindVarveMount(std::string_view("rubbish\n\n90 24 7:0 / /mnt/a rw -\n"), "/mnt/a").has_value());
}

}  // namespace
}  // namespace varve
