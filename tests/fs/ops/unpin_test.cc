#include "fs/ops/unpin.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace varve {
namespace {

TEST(Unpin, LetsGoOfWhatThePinHeldAndKeepsTheBytes) {
  auto table = std::make_shared<const std::string>("header and content");
  const std::weak_ptr<const std::string> held = table;
  PinnedValue pin(std::string_view(*table), table);
  std::string_view content = pin.bytes().substr(11);
  table.reset();
  ASSERT_FALSE(held.expired());
  Unpin(content, pin);
  EXPECT_TRUE(held.expired());
  EXPECT_EQ(content, "content");
}

TEST(Unpin, HoldsNothingWhereThereIsNoContent) {
  auto table = std::make_shared<const std::string>("header");
  const std::weak_ptr<const std::string> held = table;
  PinnedValue pin(std::string_view(*table), table);
  std::string_view content;
  table.reset();
  Unpin(content, pin);
  EXPECT_TRUE(held.expired());
  EXPECT_TRUE(content.empty());
}

}  // namespace
}  // namespace varve
