// What the Store's contract says, one claim at a time.
#include "engine/store/store.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/engine/store/store_harness.h"

namespace varve::testing {
namespace {

TEST(Store, PutIsReadBackFromMemoryAndFromTables) {
  StoreHarness h;
  ASSERT_TRUE(h.Open(SmallOptions()).ok());
  ASSERT_TRUE(h.Put("apple", "red").ok());
  EXPECT_EQ(h.Get("apple"), "red");
  ASSERT_TRUE(h.Run(h.store().Settle()).ok());
  EXPECT_EQ(h.Get("apple"), "red");
  EXPECT_EQ(h.Get("apples"), std::nullopt);
  ASSERT_TRUE(h.Delete("apple").ok());
  EXPECT_EQ(h.Get("apple"), std::nullopt);
}

TEST(Store, CloseLeavesNoLogAndTheNextOpenFindsEverything) {
  StoreHarness h;
  ASSERT_TRUE(h.Open(SmallOptions()).ok());
  for (int i = 0; i < 2000; i++) {
    ASSERT_TRUE(h.Put("key" + std::to_string(i), std::string(100, 'v')).ok());
  }
  const Status closed = h.Close();
  ASSERT_TRUE(closed.ok()) << closed.ToString();
  const Status opened = h.Open(SmallOptions());
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  EXPECT_EQ(h.Scan().size(), 2000U);
}

}  // namespace
}  // namespace varve::testing
