#include "tools/streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

namespace varve {
namespace {

TEST(Streams, EscapingKeepsAnyNameOnOneLine) {
  std::string line;
  AppendEscaped(line, std::string_view("a\nb\tc\\d\x01\x1b\x7f\0e", 12));
  EXPECT_EQ(line, "a\\nb\\tc\\\\d\\x01\\x1b\\x7f\\x00e");
}

TEST(Streams, EscapingLeavesTextOfAllLanguagesAlone) {
  std::string line;
  AppendEscaped(line, "høst 秋");
  EXPECT_EQ(line, "høst 秋");
}

TEST(Streams, AStringIsReadInPiecesAndThenEnds) {
  StringSource source("abcde");
  std::array<char, 3> piece{};
  EXPECT_EQ(source.Read(piece).value(), 3u);
  EXPECT_EQ(source.Read(piece).value(), 2u);
  EXPECT_EQ(piece[0], 'd');
  EXPECT_EQ(source.Read(piece).value(), 0u);
}

TEST(Streams, AFailingDescriptorIsAnErrorThatNamesIt) {
  DescriptorSource source(-1, "nothing");
  std::array<char, 3> piece{};
  const Result<size_t> read = source.Read(piece);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message().find("nothing"), std::string::npos);
}

}  // namespace
}  // namespace varve
