#include "tools/sizes.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace varve {
namespace {

TEST(Sizes, PlainNumbersAreBytes) {
  EXPECT_EQ(ParseSize("0"), 0u);
  EXPECT_EQ(ParseSize("4096"), 4096u);
  EXPECT_EQ(ParseSize("18446744073709551615"), UINT64_MAX);
}

TEST(Sizes, UnitsArePowersOf1024InAnySpelling) {
  for (const char* text : {"64M", "64m", "64MB", "64MiB", "64mib"}) {
    EXPECT_EQ(ParseSize(text), uint64_t{64} << 20) << text;
  }
  EXPECT_EQ(ParseSize("3K"), 3072u);
  EXPECT_EQ(ParseSize("1G"), uint64_t{1} << 30);
  EXPECT_EQ(ParseSize("2T"), uint64_t{2} << 40);
  EXPECT_EQ(ParseSize("1P"), uint64_t{1} << 50);
  EXPECT_EQ(ParseSize("100B"), 100u);
}

TEST(Sizes, FractionsNeedAUnit) {
  EXPECT_EQ(ParseSize("1.5G"), uint64_t{3} << 29);
  EXPECT_EQ(ParseSize("1.5"), std::nullopt);
}

TEST(Sizes, AnythingElseIsRefused) {
  for (const char* text :
       {"", "M", "-1", "+1", " 1", "1 M", "1X", "1MM", "1iB", "1.2.3M", "0x10", "1e3", "nan"}) {
    EXPECT_EQ(ParseSize(text), std::nullopt) << text;
  }
}

TEST(Sizes, BeyondSixtyFourBitsIsRefused) {
  EXPECT_EQ(ParseSize("18446744073709551616"), std::nullopt);
  EXPECT_EQ(ParseSize("16384P"), std::nullopt);
  EXPECT_EQ(ParseSize("16384.5P"), std::nullopt);
  EXPECT_EQ(ParseSize("16383P"), uint64_t{16383} << 50);
}

TEST(Sizes, AreShownWithThreeDigits) {
  EXPECT_EQ(FormatSize(0), "0 B");
  EXPECT_EQ(FormatSize(1023), "1023 B");
  EXPECT_EQ(FormatSize(1024), "1.00 KiB");
  EXPECT_EQ(FormatSize(64 * 1024), "64.0 KiB");
  EXPECT_EQ(FormatSize(uint64_t{3} << 29), "1.50 GiB");
  EXPECT_EQ(FormatSize((uint64_t{1} << 20) - 1), "1.00 MiB");
  EXPECT_EQ(FormatSize(UINT64_MAX), "16384 PiB");
}

}  // namespace
}  // namespace varve
