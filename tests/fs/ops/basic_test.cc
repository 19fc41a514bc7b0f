#include <fcntl.h>
#include <stdio.h>

#include "tests/fs/ops/ops_fixture.h"

namespace varve {
namespace {

TEST(Basic, ANewFileIsFoundByNameAndGivesBackItsBytes) {
  OpsFixture t;
  const InodeNumber file = t.Make(kRootInode, "key");
  ASSERT_TRUE(t.Write(file, 0, "value").ok());
  const Result<Attributes> found = t.Run(t.fs->Lookup(kRootInode, "key"));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->inode, file);
  EXPECT_EQ(found->size, 5u);
  EXPECT_EQ(t.Read(file), "value");
}

}  // namespace
}  // namespace varve
