#include "engine/base/checksum.h"

#include <gtest/gtest.h>

#include <string>

namespace varve {
namespace {

// The function is part of every format: these values are XXH3's, and must never change.
TEST(Checksum, IsTheOneThatTheFormatsName) {
  EXPECT_EQ(Checksum64(std::string_view("")), 0x2d06800538d394c2U);
  EXPECT_EQ(Checksum64(std::string_view("varve")), Checksum64(std::string_view("varve"), 0));
}

TEST(Checksum, DependsOnEveryBitAndOnTheSeed) {
  std::string bytes(300, 'x');
  const uint64_t before = Checksum64(bytes, 1);
  EXPECT_NE(before, Checksum64(bytes, 2));
  for (size_t i = 0; i < bytes.size() * 8; i++) {
    bytes[i / 8] = static_cast<char>(bytes[i / 8] ^ (1 << (i % 8)));
    EXPECT_NE(before, Checksum64(bytes, 1)) << i;
    bytes[i / 8] = static_cast<char>(bytes[i / 8] ^ (1 << (i % 8)));
  }
}

}  // namespace
}  // namespace varve
