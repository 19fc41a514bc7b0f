#include "engine/sst_log/hot_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/base/prng.h"

namespace varve {
namespace {

constexpr HotMapOptions kSmall{.layer_keys = 1000, .bytes_max = 1 * kMiB};

uint64_t HashOfNumber(uint64_t n) {
  return Hash64("user" + std::to_string(n));
}

uint64_t HotnessOf(const HotMap& map, uint64_t n) {
  return map.SumOf({HashOfNumber(n)});
}

uint64_t RotationsOf(const HotMap& map) {
  const HotMap::Statistics statistics = map.statistics();
  return statistics.grown + statistics.full + statistics.alike;
}

void AddRange(HotMap& map, uint64_t first, uint64_t end) {
  for (uint64_t n = first; n < end; ++n) {
    map.Add(HashOfNumber(n));
  }
}

// From key `first` on, each once, until a layer is retired.
void AddUntilRotation(HotMap& map, uint64_t first) {
  const uint64_t before = RotationsOf(map);
  for (uint64_t n = first; RotationsOf(map) == before; ++n) {
    ASSERT_LT(n, first + 100'000);
    map.Add(HashOfNumber(n));
  }
}

std::vector<uint64_t> CapacitiesOf(const HotMap& map) {
  std::vector<uint64_t> capacities;
  for (const HotMap::LayerStatistics& layer : map.statistics().layers) {
    capacities.push_back(layer.capacity);
  }
  return capacities;
}

TEST(HotMap, AKeyThatWasUpdatedNTimesIsInNLayers) {
  HotMap map({.layer_keys = 10'000});
  for (uint64_t round = 0; round < 7; ++round) {
    for (uint64_t n = 0; n < 800; ++n) {
      if (n % 8 > round) {
        map.Add(HashOfNumber(n));
      }
    }
  }
  for (uint64_t n = 0; n < 800; ++n) {
    const uint64_t updates = n % 8;
    EXPECT_EQ(HotnessOf(map, n), (2ULL << std::min<uint64_t>(updates, 5)) - 2) << n;
  }
  EXPECT_EQ(HotnessOf(map, 7), KeyHotness::kMax);
  EXPECT_EQ(RotationsOf(map), 0U);
  for (size_t i = 0; i < HotMap::kLayers; ++i) {
    EXPECT_EQ(map.statistics().layers[i].keys, 700 - 100 * i);
  }
}

TEST(HotMap, NoUpdateIsForgottenBeforeALayerIsRetired) {
  HotMap map({.layer_keys = 20'000});
  Prng prng(1);
  std::vector<uint64_t> updates(12'000);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t n = prng.Below(prng.OneIn(2) ? updates.size() : 1000);
    ++updates[n];
    map.Add(HashOfNumber(n));
  }
  ASSERT_EQ(RotationsOf(map), 0U);
  for (uint64_t n = 0; n < updates.size(); ++n) {
    ASSERT_GE(HotnessOf(map, n), (2ULL << std::min<uint64_t>(updates[n], 5)) - 2) << n;
  }
}

TEST(HotMap, ASumIsOverAllKeysHoweverMany) {
  HotMap map({.layer_keys = 10'000});
  AddRange(map, 0, 1000);
  std::vector<uint64_t> hashes;
  for (uint64_t n = 0; n < 3000; ++n) {
    hashes.push_back(HashOfNumber(n % 1000));
  }
  EXPECT_EQ(map.SumOf(hashes), 6000U);
  EXPECT_EQ(map.SumOf({}), 0U);
}

TEST(HotMap, AFullTopGrowsWhereTheNextLayerIsUsed) {
  HotMap map(kSmall);
  AddRange(map, 0, 900);
  AddRange(map, 0, 300);
  ASSERT_EQ(RotationsOf(map), 0U);
  const uint64_t second = map.statistics().layers[1].keys;
  ASSERT_GT(second, 200U);
  AddUntilRotation(map, 10'000);
  EXPECT_EQ(map.statistics().grown, 1U);
  EXPECT_EQ(CapacitiesOf(map), (std::vector<uint64_t>{1000, 1000, 1000, 1000, 1100}));
  // What was updated twice is known as updated once, and what was once no longer.
  EXPECT_GE(map.statistics().layers[0].keys, second);
  EXPECT_LT(map.statistics().layers[0].keys, second + 30);
  EXPECT_EQ(map.statistics().layers[4], (HotMap::LayerStatistics{0, 1100}));
  EXPECT_GE(HotnessOf(map, 0), 2U);
}

TEST(HotMap, AFullTopOfColdKeysComesBackAsLargeAsTheBottom) {
  HotMap map(kSmall);
  AddRange(map, 0, 900);
  AddRange(map, 0, 300);
  AddUntilRotation(map, 10'000);
  ASSERT_EQ(CapacitiesOf(map), (std::vector<uint64_t>{1000, 1000, 1000, 1000, 1100}));
  AddUntilRotation(map, 20'000);
  EXPECT_EQ(map.statistics().grown, 1U);
  EXPECT_EQ(map.statistics().full, 1U);
  EXPECT_EQ(map.statistics().alike, 0U);
  EXPECT_EQ(CapacitiesOf(map), (std::vector<uint64_t>{1000, 1000, 1000, 1100, 1100}));
}

TEST(HotMap, OfTwoLayersThatAreAlikeOneGoes) {
  HotMap map(kSmall);
  AddRange(map, 0, 600);
  AddRange(map, 0, 530);
  EXPECT_EQ(RotationsOf(map), 0U);
  AddRange(map, 530, 550);
  EXPECT_EQ(map.statistics().alike, 1U);
  EXPECT_EQ(RotationsOf(map), 1U);
  EXPECT_EQ(CapacitiesOf(map), (std::vector<uint64_t>(5, 1000)));
  EXPECT_EQ(map.statistics().layers[4].keys, 0U);
  EXPECT_GE(HotnessOf(map, 0), 2U);
}

TEST(HotMap, AlikeLayersThatAreHardlyUsedStay) {
  HotMap map(kSmall);
  for (int updates = 0; updates < 5; ++updates) {
    AddRange(map, 0, 200);
  }
  EXPECT_EQ(RotationsOf(map), 0U);
  EXPECT_EQ(HotnessOf(map, 0), KeyHotness::kMax);
}

TEST(HotMap, NeverTakesMoreMemoryThanItMay) {
  struct Case {
    HotMapOptions options;
    uint64_t keys;      // that are updated, uniformly
    uint64_t bytes;     // in the end
    bool grows = true;  // on the way
  };
  const std::vector<Case> cases = {
      {{.layer_keys = 1000, .bytes_max = 5 * 2048}, 2000, 5 * 2048},
      {{.layer_keys = 1000, .bytes_max = 5 * 2048 + 4}, 2000, 5 * 2048},
      {{.layer_keys = 1 << 30, .bytes_max = 5 * 5 * kKiB}, 5000, 5 * 4 * kKiB, false},
      {{.layer_keys = 1 << 30, .bytes_max = 5 * 128}, 200, 5 * 128, false},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.options.bytes_max);
    HotMap map(one.options);
    Prng prng(7);
    const auto update = [&](int times) {
      for (int i = 0; i < times; ++i) {
        map.Add(HashOfNumber(prng.Below(one.keys)));
        if (i % 16 == 0) {
          ASSERT_LE(map.bytes(), one.options.bytes_max);
        }
      }
    };
    update(150'000);
    EXPECT_EQ(map.bytes(), one.bytes);
    const HotMap::Statistics before = map.statistics();
    EXPECT_EQ(before.grown > 0, one.grows);
    update(50'000);
    EXPECT_EQ(map.statistics().grown, before.grown);
    EXPECT_GT(map.statistics().full, before.full);
  }
}

// Ranks drawn with a probability that falls as 1 / rank^0.99.
class ZipfRanks {
 public:
  explicit ZipfRanks(uint64_t ranks) {
    for (uint64_t rank = 1; rank <= ranks; ++rank) {
      shares_.push_back((shares_.empty() ? 0 : shares_.back()) + std::pow(static_cast<double>(rank), -0.99));
    }
  }
  uint64_t Draw(Prng& prng) const {
    const auto at = std::upper_bound(shares_.begin(), shares_.end(), prng.NextDouble() * shares_.back());
    return std::min<uint64_t>(static_cast<uint64_t>(at - shares_.begin()), shares_.size() - 1);
  }

 private:
  std::vector<double> shares_;
};

double AverageOf(const HotMap& map, uint64_t first, uint64_t end) {
  std::vector<uint64_t> hashes;
  for (uint64_t n = first; n < end; ++n) {
    hashes.push_back(HashOfNumber(n));
  }
  return static_cast<double>(map.SumOf(hashes)) / static_cast<double>(end - first);
}

TEST(HotMap, HotKeysRankAboveColdOnesHoweverLongItRuns) {
  HotMap map({.layer_keys = 1000, .bytes_max = 5 * 2 * kKiB});
  const ZipfRanks ranks(5000);
  Prng prng(3);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 10'000; ++i) {
      map.Add(HashOfNumber(ranks.Draw(prng)));
    }
    const double hot = AverageOf(map, 0, 50);
    const double warm = AverageOf(map, 100, 1000);
    const double cold = AverageOf(map, 2000, 5000);
    EXPECT_GT(hot, 2 * warm) << "round " << round;
    EXPECT_GT(warm, 5 * cold) << "round " << round;
  }
  EXPECT_GT(RotationsOf(map), 20U);
}

TEST(HotMap, WhatWasHotIsForgottenWhenOtherKeysAre) {
  HotMap map(kSmall);
  Prng prng(5);
  for (const uint64_t first : {0, 1'000'000}) {
    for (int i = 0; i < 40'000; ++i) {
      map.Add(HashOfNumber(first + (prng.OneIn(2) ? prng.Below(100) : prng.Below(10'000))));
    }
  }
  EXPECT_LT(AverageOf(map, 0, 100), 2);
  EXPECT_GT(AverageOf(map, 1'000'000, 1'000'100), 20);
}

// A map with something in every layer, of five lines.
constexpr HotMapOptions kTiny{.layer_keys = 100, .bytes_max = 5 * 128};

std::unique_ptr<HotMap> TinyMap() {
  auto map = std::make_unique<HotMap>(kTiny);
  for (uint64_t updates = 0; updates < 5; ++updates) {
    AddRange(*map, 10 * updates, 60);
  }
  return map;
}

TEST(HotMap, IsReadBackAsItWas) {
  const std::unique_ptr<HotMap> map = TinyMap();
  const std::string bytes = map->Encode();
  const std::unique_ptr<HotMap> again = HotMap::Decode(bytes, kTiny);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->Encode(), bytes);
  EXPECT_EQ(again->statistics().layers, map->statistics().layers);
  for (uint64_t n = 0; n < 100; ++n) {
    EXPECT_EQ(HotnessOf(*again, n), HotnessOf(*map, n));
  }
  // It goes on alike.
  AddRange(*map, 0, 5000);
  AddRange(*again, 0, 5000);
  EXPECT_EQ(again->Encode(), map->Encode());
  EXPECT_GT(RotationsOf(*again), 0U);
}

TEST(HotMap, WhatNoMapIsSavedAsIsRefused) {
  const std::string good = TinyMap()->Encode();
  ASSERT_NE(HotMap::Decode(good, kTiny), nullptr);
  for (size_t bytes = 0; bytes < good.size(); ++bytes) {
    EXPECT_EQ(HotMap::Decode(std::string_view(good).substr(0, bytes), kTiny), nullptr) << bytes;
  }
  EXPECT_EQ(HotMap::Decode(good + 'x', kTiny), nullptr);
  // A varint each: version, and of the first layer its capacity and its keys. Its one page follows.
  ASSERT_EQ(good.substr(0, 2), "\x01\x64");
  const auto changed = [&](size_t at, const std::string& by) {
    std::string bytes = good;
    return bytes.replace(at, by.size(), by);
  };
  EXPECT_EQ(HotMap::Decode(changed(0, "\x02"), kTiny), nullptr) << "another version";
  EXPECT_EQ(HotMap::Decode(changed(1, std::string(1, '\0')), kTiny), nullptr) << "no capacity";
  EXPECT_EQ(HotMap::Decode(changed(1, "\x67"), kTiny), nullptr) << "more capacity than memory";
  EXPECT_EQ(HotMap::Decode(changed(2, "\x65"), kTiny), nullptr) << "more keys than capacity";
  EXPECT_EQ(HotMap::Decode(changed(2, std::string(1, '\0')), kTiny), nullptr) << "bits of no keys";
  EXPECT_EQ(HotMap::Decode(changed(3, std::string(128, '\xff')), kTiny), nullptr) << "all bits";
  std::string huge;
  AppendVarint(huge, 1);
  AppendVarint(huge, UINT64_MAX);
  AppendVarint(huge, 0);
  EXPECT_EQ(HotMap::Decode(huge + good, {}), nullptr);
}

TEST(HotMap, ALargerMapThanMemoryNowAllowsIsRefused) {
  HotMap map({.layer_keys = 1000, .bytes_max = 5 * 2 * kKiB});
  EXPECT_NE(HotMap::Decode(map.Encode(), {.layer_keys = 100, .bytes_max = 5 * 2 * kKiB}), nullptr);
  EXPECT_EQ(HotMap::Decode(map.Encode(), {.layer_keys = 100, .bytes_max = 5 * kKiB}), nullptr);
}

TEST(HotMap, DamagedBytesAreRefusedOrAnotherMapButNeverACrash) {
  const std::string good = TinyMap()->Encode();
  for (size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = good;
      flipped[at] = static_cast<char>(good[at] ^ (1 << bit));
      const std::unique_ptr<HotMap> map = HotMap::Decode(flipped, kTiny);
      if (map != nullptr) {
        EXPECT_LE(map->bytes(), kTiny.bytes_max);
        AddRange(*map, 0, 20);
        EXPECT_LE(HotnessOf(*map, 5), KeyHotness::kMax);
      }
    }
  }
}

// Capacities and keys that no map comes to by itself: what is read back goes on taking keys.
TEST(HotMap, AFullTopThatIsReadBackIsRetired) {
  std::string bytes(1, '\x01');
  for (size_t i = 0; i < HotMap::kLayers; ++i) {
    bytes += "\x64\x64" + std::string(128, '\0');
  }
  const std::unique_ptr<HotMap> map = HotMap::Decode(bytes, kTiny);
  ASSERT_NE(map, nullptr);
  AddRange(*map, 0, 2);
  EXPECT_EQ(map->statistics().full, HotMap::kLayers);
  EXPECT_EQ(map->statistics().layers[0].keys, 1U);
}

TEST(HotMap, ThreadsMayAddAndAskAtOnce) {
  HotMap map({.layer_keys = 50'000});
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&map, thread] {
      for (uint64_t n = 0; n < 2000; ++n) {
        map.Add(HashOfNumber(thread * 2000 + n));
        if (n % 500 == 0) {
          EXPECT_GE(AverageOf(map, thread * 2000, thread * 2000 + n + 1), 2);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(map.statistics().layers[0].keys, 8000U);
  EXPECT_GE(AverageOf(map, 0, 8000), 2);
}

}  // namespace
}  // namespace varve
