#include "tools/listing.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <string>

namespace varve {
namespace {

TEST(Listing, ModesReadAsLsShowsThem) {
  EXPECT_EQ(FormatMode(S_IFREG | 0644), "-rw-r--r--");
  EXPECT_EQ(FormatMode(S_IFDIR | 01777), "drwxrwxrwt");
  EXPECT_EQ(FormatMode(S_IFDIR | 01776), "drwxrwxrwT");
  EXPECT_EQ(FormatMode(S_IFREG | 04755), "-rwsr-xr-x");
  EXPECT_EQ(FormatMode(S_IFREG | 02644), "-rw-r-Sr--");
  EXPECT_EQ(FormatMode(S_IFLNK | 0777), "lrwxrwxrwx");
  EXPECT_EQ(FormatMode(S_IFIFO), "p---------");
  EXPECT_EQ(FormatMode(S_IFSOCK), "s---------");
  EXPECT_EQ(FormatMode(S_IFCHR), "c---------");
  EXPECT_EQ(FormatMode(S_IFBLK), "b---------");
}

TEST(Listing, ALineTellsSizeOwnerAndEscapedName) {
  Attributes attributes;
  attributes.mode = S_IFREG | 0600;
  attributes.nlink = 2;
  attributes.uid = 1000;
  attributes.gid = 100;
  attributes.size = 1234;
  const std::string line = FormatListingLine(attributes, "new\nline");
  EXPECT_EQ(line.substr(0, 38), "-rw-------   2  1000   100       1234 ");
  EXPECT_EQ(line.substr(line.size() - 10), " new\\nline");
}

TEST(Listing, DevicesShowTheirNumbersInsteadOfASize) {
  Attributes attributes;
  attributes.mode = S_IFBLK | 0660;
  attributes.rdev = static_cast<uint32_t>(makedev(8, 1));
  EXPECT_NE(FormatListingLine(attributes, "sda1").find(" 8, 1 "), std::string::npos);
}

}  // namespace
}  // namespace varve
