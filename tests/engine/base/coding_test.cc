#include "engine/base/coding.h"

#include <gtest/gtest.h>

#include <limits>

namespace varve {
namespace {

TEST(Coding, VarintsOfEveryLengthComeBack) {
  for (int bits = 0; bits <= 64; bits++) {
    const uint64_t n = bits == 64 ? std::numeric_limits<uint64_t>::max() : (uint64_t{1} << bits) - 1;
    std::string bytes;
    AppendVarint(bytes, n);
    EXPECT_EQ(bytes.size(), VarintLength(n));
    Decoder decoder(bytes);
    EXPECT_EQ(decoder.Varint(), n);
    EXPECT_TRUE(decoder.empty());
  }
}

TEST(Coding, TruncatedVarintIsRefusedAndConsumesNothing) {
  std::string bytes;
  AppendVarint(bytes, uint64_t{1} << 40);
  bytes.pop_back();
  Decoder decoder(bytes);
  EXPECT_FALSE(decoder.Varint().has_value());
  EXPECT_EQ(decoder.rest().size(), bytes.size());
}

TEST(Coding, VarintBeyond64BitsIsRefused) {
  const std::string eleven(11, '\xff');
  EXPECT_FALSE(Decoder(eleven).Varint().has_value());
  std::string ten(9, '\xff');
  ten.push_back('\x02');
  EXPECT_FALSE(Decoder(ten).Varint().has_value());
}

TEST(Coding, LengthBeyondTheInputIsRefusedAndConsumesNothing) {
  std::string bytes;
  AppendVarint(bytes, 5);
  bytes += "four";
  Decoder decoder(bytes);
  EXPECT_FALSE(decoder.LengthPrefixed().has_value());
  EXPECT_EQ(decoder.rest(), bytes);
}

TEST(Coding, FieldsComeBackInOrder) {
  std::string bytes;
  AppendFixed<uint16_t>(bytes, 0x1234);
  AppendLengthPrefixed(bytes, "name");
  AppendFixed<uint64_t>(bytes, 7);
  Decoder decoder(bytes);
  EXPECT_EQ(decoder.Fixed<uint16_t>(), 0x1234);
  EXPECT_EQ(decoder.LengthPrefixed(), "name");
  EXPECT_EQ(decoder.Fixed<uint64_t>(), 7U);
  EXPECT_FALSE(decoder.Fixed<uint8_t>().has_value());
}

TEST(Coding, BigEndianNumbersSortAsBytes) {
  std::string small;
  std::string large;
  AppendBigEndian64(small, 255);
  AppendBigEndian64(large, 256);
  EXPECT_LT(small, large);
  EXPECT_EQ(LoadBigEndian64(large.data()), 256U);
}

}  // namespace
}  // namespace varve
