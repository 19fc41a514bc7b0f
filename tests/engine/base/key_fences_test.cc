#include "engine/base/key_fences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/prng.h"

namespace varve {
namespace {

std::vector<std::string_view> ViewsOf(const std::vector<std::string>& keys) {
  return {keys.begin(), keys.end()};
}

// Of a short alphabet with the lowest and the highest byte in it, so that keys share much and end early.
std::string DrawKey(Prng& prng, const std::string& prefix) {
  constexpr std::string_view kBytes("\0\1a\xff", 4);
  std::string key = prefix;
  for (uint64_t left = prng.Below(12); left > 0; --left) {
    key += kBytes[prng.Below(kBytes.size())];
  }
  return key;
}

TEST(KeyFences, FindsEveryKeysPlaceAmongAnyOthers) {
  Prng prng(1);
  for (int round = 0; round < 300; ++round) {
    const std::string prefix = round % 3 == 0 ? "" : DrawKey(prng, "dir");
    std::vector<std::string> keys;
    for (uint64_t left = prng.Below(40); left > 0; --left) {
      keys.push_back(DrawKey(prng, prefix));
    }
    std::sort(keys.begin(), keys.end());
    const KeyFences fences(ViewsOf(keys));
    ASSERT_EQ(fences.size(), keys.size());
    for (int i = 0; i < 100; ++i) {
      const std::string key = i % 4 == 0 ? DrawKey(prng, "") : DrawKey(prng, prefix);
      const auto expected =
          static_cast<size_t>(std::lower_bound(keys.begin(), keys.end(), key) - keys.begin());
      EXPECT_EQ(fences.LowerBound(key, [&](size_t at) { return keys[at] < key; }), expected);
    }
  }
}

// A layer of the search tree ends with a line of eight, or within one; the largest number is a key's too.
TEST(KeyFences, FindsPlacesInTreesOfAnyNumberOfLayers) {
  for (const size_t count : {7, 8, 9, 63, 64, 65, 511, 512, 513, 4097}) {
    for (const bool with_largest : {false, true}) {
      std::vector<std::string> keys;
      for (size_t i = 0; i < count; ++i) {
        keys.push_back({static_cast<char>(i >> 8), static_cast<char>(i)});
      }
      if (with_largest) {
        keys.back() = std::string(12, '\xff');
      }
      const KeyFences fences(ViewsOf(keys));
      const auto place_of = [&](const std::string& key) {
        return fences.LowerBound(key, [&](size_t at) { return keys[at] < key; });
      };
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(place_of(keys[i]), i);
        ASSERT_EQ(place_of(keys[i] + "a"), i + 1);
      }
      EXPECT_EQ(place_of(std::string(8, '\xff')), with_largest ? count - 1 : count);
      EXPECT_EQ(place_of(std::string(13, '\xff')), count);
    }
  }
}

TEST(KeyFences, LeavesOneKeyToBeComparedWhereEightBytesTell) {
  std::vector<std::string> keys;
  for (char c = 'a'; c <= 'z'; ++c) {
    keys.push_back(std::string("a long prefix of all ") + c + std::string(100, c));
  }
  const KeyFences fences(ViewsOf(keys));
  for (size_t i = 0; i < keys.size(); ++i) {
    const KeyFences::Range near = fences.Near(keys[i]);
    EXPECT_EQ(near.first, i);
    EXPECT_EQ(near.end, i + 1);
  }
  EXPECT_EQ(fences.Near("a long prefix of all mm").end, 12U);
  EXPECT_EQ(fences.Near("a long prefix").end, 0U);
  EXPECT_EQ(fences.Near("b").first, keys.size());
}

TEST(KeyFences, TakesKeysWithoutBytes) {
  const std::vector<std::string> keys = {"", "a"};
  const KeyFences fences(ViewsOf(keys));
  EXPECT_EQ(fences.LowerBound(std::string_view(), [](size_t) { return false; }), 0U);
  EXPECT_EQ(fences.LowerBound("b", [](size_t) { return true; }), 2U);
}

TEST(KeyFences, OfNoKeysHasOnePlace) {
  const KeyFences fences;
  EXPECT_EQ(fences.size(), 0U);
  EXPECT_EQ(fences.Near("key").first, 0U);
  EXPECT_EQ(fences.Near("key").end, 0U);
  EXPECT_EQ(fences.LowerBound("", [](size_t) { return true; }), 0U);
}

}  // namespace
}  // namespace varve
