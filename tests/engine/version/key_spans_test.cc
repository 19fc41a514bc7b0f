#include "engine/version/key_spans.h"

#include <gtest/gtest.h>

#include "engine/base/prng.h"

namespace varve {
namespace {

KeySpans SpansOf(std::initializer_list<KeyRange> ranges) {
  KeySpans spans;
  for (const KeyRange& range : ranges) {
    spans.Append(range);
  }
  return spans;
}

TEST(KeySpans, WhatIsTakenAwayLeavesItsNeighboursWhole) {
  const KeySpans left = SpansOf({{"a", "z"}}).Minus(SpansOf({{"f", "k"}, {"z", "zz"}}));
  EXPECT_EQ(left.ToString(), "[a..f) (k..z)");
  EXPECT_TRUE(left.Contains("ezzz"));
  EXPECT_FALSE(left.Contains("f"));
  EXPECT_FALSE(left.Contains("k"));
  EXPECT_TRUE(left.Contains(std::string("k\0", 2)));  // the very next key
  EXPECT_FALSE(left.Contains("z"));
}

TEST(KeySpans, OneKeyIsARange) {
  const KeySpans one = SpansOf({{"k", "k"}});
  EXPECT_TRUE(one.Contains("k"));
  EXPECT_TRUE(one.Minus(one).empty());
  EXPECT_EQ(SpansOf({{"a", "z"}}).Minus(one).And(one), KeySpans());
}

// Keys are single letters, and sets are masks of them.
TEST(KeySpans, AgreeWithSetsOfKeysOnRandomOnes) {
  Prng prng(5);
  const auto random_spans = [&](uint32_t& mask) {
    KeySpans spans;
    mask = 0;
    for (uint64_t at = prng.Below(4); at < 26; at += 1 + prng.Below(5)) {
      const uint64_t end = std::min<uint64_t>(25, at + prng.Below(6));
      spans.Append(KeyRange{std::string(1, static_cast<char>('a' + at)),
                            std::string(1, static_cast<char>('a' + end))});
      for (; at < end; ++at) {
        mask |= 1U << at;
      }
      mask |= 1U << end;
    }
    return spans;
  };
  const auto expect_is = [](const KeySpans& spans, uint32_t mask) {
    for (int i = 0; i < 26; ++i) {
      ASSERT_EQ(spans.Contains(std::string(1, static_cast<char>('a' + i))), (mask >> i & 1) != 0)
          << spans.ToString() << " at " << i;
    }
  };
  for (int round = 0; round < 3000; ++round) {
    uint32_t a_mask = 0;
    uint32_t b_mask = 0;
    uint32_t c_mask = 0;
    const KeySpans a = random_spans(a_mask);
    const KeySpans b = random_spans(b_mask);
    const KeySpans c = random_spans(c_mask);
    expect_is(a, a_mask);
    expect_is(a.Minus(b), a_mask & ~b_mask);
    expect_is(a.And(b), a_mask & b_mask);
    expect_is(a.Minus(b).Minus(c), a_mask & ~b_mask & ~c_mask);
    expect_is(a.Minus(b).And(c), a_mask & ~b_mask & c_mask);
    ASSERT_TRUE(a.Covers(a.Minus(b)));
    if ((a_mask & b_mask) != 0) {
      ASSERT_TRUE(a.Overlaps(b));
    }
  }
}

}  // namespace
}  // namespace varve
