#include "engine/sst_log/weight.h"

#include <gtest/gtest.h>

#include <string>

namespace varve {
namespace {

using namespace std::string_literals;

TEST(Sparseness, CountsTheBitsOfTheRangeAndTheEntriesInIt) {
  struct Case {
    std::string claim;
    std::string smallest;
    std::string largest;
    uint64_t entries;
    size_t common_prefix;
    double sparseness;
  };
  const std::string directory = "d\0\0\0\0\0\0\x17"s;
  const std::vector<Case> cases = {
      {"the first bit of all", "\x00"s, "\x80"s, 1, 0, 128},
      {"the last bit of the first byte", "`", "a", 1, 0, 121},
      {"the first bit of the ninth byte", "12345678\x00"s, "12345678\x80"s, 1, 0, 64},
      {"the last bit of the sixteenth byte", "123456789012345`", "123456789012345a", 1, 0, 1},
      {"nothing within sixteen bytes", "1234567890123456a", "1234567890123456z", 1, 0, 0},
      {"one key", "key", "key", 1, 0, 0},
      {"many versions of one key", "key", "key", 8, 0, -3},
      {"entries make it denser", "\x00"s, "\x80"s, 1024, 0, 118},
      {"no entries count as one", "\x00"s, "\x80"s, 0, 0, 128},
      {"a key that ends has zeros behind", "a", "a\x01"s, 1, 0, 128 - 15},
      {"zeros behind its end are nothing", "a", "a\0\0"s, 1, 0, 0},
      {"an empty key", "", "\x01"s, 1, 0, 121},
      {"bits begin behind the common prefix", directory + "\x00"s, directory + "\x80"s, 1, 8, 128},
      {"and without it lie deep", directory + "\x00"s, directory + "\x80"s, 1, 0, 64},
      {"a prefix spares bits for the keys' ends", directory + "1234567\x00"s, directory + "1234567\x80"s, 1,
       8, 72},
      {"they are not seen without it", directory + "12345678\x00"s, directory + "12345678\x80"s, 1, 0, 0},
      {"a key that is no longer than the prefix", directory, directory + "\x80"s, 1, 8, 128},
      {"a prefix beyond both keys", "a", "b", 1, 20, 0},
  };
  for (const Case& one : cases) {
    EXPECT_DOUBLE_EQ(Sparseness(one.smallest, one.largest, one.entries, one.common_prefix), one.sparseness)
        << one.claim;
  }
}

TEST(CombinedWeights, AreHalfHotnessAndHalfSparseness) {
  struct Case {
    std::string claim;
    std::vector<TableTraits> tables;
    std::vector<double> weights;
  };
  const std::vector<Case> cases = {
      {"no table", {}, {}},
      {"one table", {{7, 100}}, {0}},
      {"all the same", {{7, 100}, {7, 100}, {7, 100}}, {0, 0, 0}},
      {"only hotness tells", {{0, 100}, {30, 100}, {40, 100}}, {0, 0.375, 0.5}},
      {"only sparseness tells", {{7, 90}, {7, 100}, {7, 94}}, {0, 0.5, 0.2}},
      {"both", {{0, 90}, {10, 100}, {10, 90}, {0, 100}, {5, 95}}, {0, 1, 0.5, 0.5, 0.5}},
      {"what is great but differs little", {{1000, 10}, {1001, 20}, {1004, 10}}, {0, 0.625, 0.5}},
      {"below zero", {{0, -8}, {1, -4}, {2, 0}}, {0, 0.5, 1}},
  };
  for (const Case& one : cases) {
    const std::vector<double> weights = CombinedWeights(one.tables);
    ASSERT_EQ(weights.size(), one.weights.size()) << one.claim;
    for (size_t i = 0; i < weights.size(); ++i) {
      EXPECT_DOUBLE_EQ(weights[i], one.weights[i]) << one.claim << ", table " << i;
    }
  }
}

}  // namespace
}  // namespace varve
