#include "tools/json_outline.h"

#include <gtest/gtest.h>

#include <string>

namespace varve {
namespace {

TEST(JsonOutline, MembersAreLinesAndObjectsAreIndented) {
  EXPECT_EQ(OutlineOfJson(R"({"health":"good","levels":{"count":7}})").value(),
            "health                         good\n"
            "levels\n"
            "  count                        7\n");
}

TEST(JsonOutline, SizesAndTimesAreReadable) {
  const std::string shown =
      OutlineOfJson(R"({"used_bytes":1572864,"bytes":512,"p99_nanos":1234567,"count":1024})").value();
  EXPECT_NE(shown.find(" 1.50 MiB\n"), std::string::npos);
  EXPECT_NE(shown.find(" 512 B\n"), std::string::npos);
  EXPECT_NE(shown.find(" 1234.6 us\n"), std::string::npos);
  EXPECT_NE(shown.find(" 1024\n"), std::string::npos);
}

TEST(JsonOutline, AHistogramOfTimesIsOneLine) {
  EXPECT_EQ(
      OutlineOfJson(R"({"latency_nanos":{"get":{"count":20000,"p50":20000},"sync":{"count":0,"p50":0}}})")
          .value(),
      "latency_nanos\n"
      "  get                          count 20000, p50 20.0 us\n"
      "  sync                         none\n");
}

TEST(JsonOutline, WhatFollowsAnObjectOfTimesIsNoTime) {
  EXPECT_EQ(OutlineOfJson(R"({"a_nanos":{"b":20000},"c":20000})").value(),
            "a_nanos\n"
            "  b                            20.0 us\n"
            "c                              20000\n");
}

TEST(JsonOutline, ArraysOfPlainValuesStayOnALine) {
  const std::string shown = OutlineOfJson(R"({"tables":[1,2,3],"names":["a"],"empty":[]})").value();
  EXPECT_NE(shown.find(" 1, 2, 3\n"), std::string::npos);
  EXPECT_NE(shown.find(" none\n"), std::string::npos);
}

TEST(JsonOutline, ArraysOfObjectsAreNumbered) {
  EXPECT_EQ(OutlineOfJson(R"({"level":[{"n":1},{"n":2}]})").value(),
            "level[0]\n"
            "  n                            1\n"
            "level[1]\n"
            "  n                            2\n");
}

TEST(JsonOutline, EscapesStayEscapes) {
  EXPECT_NE(OutlineOfJson(R"({"label":"a\"b\u001b[0m"})").value().find(R"(a\"b\u001b[0m)"),
            std::string::npos);
}

TEST(JsonOutline, SpaceBetweenTokensIsIgnored) {
  EXPECT_EQ(OutlineOfJson(" { \"a\" : 1 ,\n \"b\" : [ 1 , 2 ] } \n"), OutlineOfJson(R"({"a":1,"b":[1,2]})"));
}

TEST(JsonOutline, WhatIsNoJsonIsRefused) {
  for (const char* text : {"", "{", "{}}", R"({"a")", R"({"a":})", R"({"a":1,})", R"({"a":[1,})",
                           R"({"a":"b)", "{a:1}", "{\"a\":\"\n\"}"}) {
    EXPECT_EQ(OutlineOfJson(text), std::nullopt) << text;
  }
}

TEST(JsonOutline, DeepNestingIsRefusedInsteadOfOverflowing) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) {
    deep += "[";
  }
  EXPECT_EQ(OutlineOfJson(deep), std::nullopt);
}

}  // namespace
}  // namespace varve
