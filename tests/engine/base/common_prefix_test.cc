#include "engine/base/common_prefix.h"

#include <gtest/gtest.h>

#include <string>

namespace varve {
namespace {

TEST(CommonPrefixOf, IsWhatBothBeginWith) {
  EXPECT_EQ(CommonPrefixOf("", ""), 0U);
  EXPECT_EQ(CommonPrefixOf("abc", ""), 0U);
  EXPECT_EQ(CommonPrefixOf("abc", "xbc"), 0U);
  EXPECT_EQ(CommonPrefixOf("abc", "abd"), 2U);
  EXPECT_EQ(CommonPrefixOf("ab", "abd"), 2U);
  EXPECT_EQ(CommonPrefixOf("abd", "ab"), 2U);
  EXPECT_EQ(CommonPrefixOf("abc", "abc"), 3U);
}

TEST(CommonPrefixOf, EndsWhereABitDiffers) {
  for (size_t size = 1; size < 40; ++size) {
    const std::string all(size, 'k');
    EXPECT_EQ(CommonPrefixOf(all, all + "more"), size);
    for (size_t at = 0; at < size; ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string other = all;
        other[at] = static_cast<char>(other[at] ^ (1 << bit));
        ASSERT_EQ(CommonPrefixOf(all, other), at) << size << " " << bit;
        ASSERT_EQ(CommonPrefixOf(other, all + "more"), at) << size << " " << bit;
      }
    }
  }
}

}  // namespace
}  // namespace varve
