// Reads of the device that fail below a walk.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "engine/table/table_reader.h"
#include "tests/engine/table/table_fixture.h"

namespace varve {
namespace {

// A bad sector may be another block's.
TEST(TableIterator, AReadThatFailsIsMadeAgainForTheWantedBlockAlone) {
  TableFixture fixture;
  Entries entries;
  for (uint64_t i = 0; i < 200; ++i) {
    entries[InternalKeyOf(NumberedKey(i), i + 1)] = std::string(500, 'v');
  }
  const TableView view = fixture.Build(entries);
  for (uint64_t failing = 0; failing < 4; ++failing) {
    const std::unique_ptr<InternalIterator> walk =
        NewTableIterator(fixture.environment, view, TableIteratorOptions{});
    fixture.Finish(*walk, walk->SeekToFirst());
    fixture.device.FailRead(failing);
    uint64_t count = 0;
    for (; walk->Valid(); fixture.Finish(*walk, walk->Next())) {
      EXPECT_EQ(UserKeyOf(walk->key()), NumberedKey(count++));
    }
    // The first read behind the seek is of one block.
    if (failing > 0) {
      EXPECT_EQ(count, 200u) << failing;
      EXPECT_TRUE(walk->status().ok()) << walk->status().ToString();
    }
  }
}

}  // namespace
}  // namespace varve
