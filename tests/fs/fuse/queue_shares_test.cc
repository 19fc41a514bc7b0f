#include "fs/fuse/queue_shares.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace varve {
namespace {

constexpr uint16_t kHome = 1;
constexpr uint16_t kHelper = 0;

bool Always(uint16_t) {
  return true;
}
bool Never(uint16_t) {
  return false;
}

class QueueSharesTest : public testing::Test {
 protected:
  // Where the last of a row of requests goes that all find the same; the others must stay.
  uint16_t PlaceAfterARow(uint16_t at) {
    for (uint32_t i = 1; i < QueueShares::kInARow; ++i) {
      EXPECT_EQ(shares_.PlaceFor(kHome, at, true, Always), at);
    }
    // At home the row has to be over.
    if (at == kHome) {
      EXPECT_EQ(shares_.PlaceFor(kHome, at, true, Always), at);
    }
    return shares_.PlaceFor(kHome, at, true, Always);
  }
  void BeginMany(uint16_t at, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      shares_.Begin(kHome, at);
    }
  }
  void EndMany(uint16_t at, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      shares_.End(kHome, at);
    }
  }

  QueueShares shares_{2};
};

TEST_F(QueueSharesTest, FewRequestsStayAtHome) {
  for (uint32_t under_way = 0; under_way < QueueShares::kDeep; ++under_way) {
    EXPECT_EQ(PlaceAfterARow(kHome), kHome) << under_way;
    shares_.Begin(kHome, kHome);
  }
}

TEST_F(QueueSharesTest, ManyArePassedToWhoSleeps) {
  BeginMany(kHome, QueueShares::kDeep);
  EXPECT_EQ(PlaceAfterARow(kHome), kHelper);
  EXPECT_EQ(shares_.PlaceFor(kHome, kHome, true, Never), kHome);
  EXPECT_EQ(shares_.PlaceFor(kHome, kHome, true, Always), kHelper);
}

TEST_F(QueueSharesTest, UnevenForAMomentIsNotEnough) {
  for (int round = 0; round < 3; ++round) {
    BeginMany(kHome, QueueShares::kDeep);
    for (uint32_t i = 1; i < QueueShares::kInARow; ++i) {
      EXPECT_EQ(shares_.PlaceFor(kHome, kHome, true, Always), kHome);
    }
    EndMany(kHome, QueueShares::kDeep);
    EXPECT_EQ(shares_.PlaceFor(kHome, kHome, true, Always), kHome);
  }
}

TEST_F(QueueSharesTest, WhoHasAsManyOfItsOwnIsLeftAlone) {
  BeginMany(kHome, 8);
  for (int i = 0; i < 8; ++i) {
    shares_.Begin(kHelper, kHelper);
  }
  EXPECT_EQ(PlaceAfterARow(kHome), kHome);
}

TEST_F(QueueSharesTest, WhatMayNotMoveIsAnsweredAtHome) {
  BeginMany(kHome, 16);
  for (uint32_t i = 0; i < 2 * QueueShares::kInARow; ++i) {
    EXPECT_EQ(shares_.PlaceFor(kHome, kHome, false, Always), kHome);
  }
  EXPECT_EQ(shares_.PlaceFor(kHome, kHelper, false, Always), kHome);
  // Nor does anything move between such ones.
  for (uint32_t i = 0; i < 4 * QueueShares::kInARow; ++i) {
    EXPECT_EQ(shares_.PlaceFor(kHome, kHome, i % QueueShares::kInARow != 0, Always), kHome);
  }
}

TEST_F(QueueSharesTest, NoMoreArePassedThanMakeThemEqual) {
  BeginMany(kHome, 16);
  EXPECT_EQ(PlaceAfterARow(kHome), kHelper);
  uint32_t passed = 0;
  while (shares_.PlaceFor(kHome, kHome, true, Always) == kHelper) {
    shares_.Begin(kHome, kHelper);
    ++passed;
  }
  EXPECT_EQ(passed, 16 - QueueShares::kMargin + 1);
}

TEST_F(QueueSharesTest, AHelperPassesBackWhatIsMoreThanHomeHas) {
  BeginMany(kHome, 4);
  BeginMany(kHelper, 3 + QueueShares::kMargin);
  EXPECT_EQ(shares_.PlaceFor(kHome, kHelper, true, Always), kHelper);
  BeginMany(kHelper, 1);
  EXPECT_EQ(shares_.PlaceFor(kHome, kHelper, true, Never), kHelper);
  EXPECT_EQ(shares_.PlaceFor(kHome, kHelper, true, Always), kHome);
}

TEST_F(QueueSharesTest, WhatIsFewAgainGoesHomeForGood) {
  for (uint32_t i = 1; i < QueueShares::kInARow; ++i) {
    EXPECT_EQ(shares_.PlaceFor(kHome, kHelper, true, Never), kHelper);
  }
  EXPECT_EQ(shares_.PlaceFor(kHome, kHelper, true, Never), kHome);
}

TEST_F(QueueSharesTest, AMomentWithFewIsNoEnd) {
  for (int round = 0; round < 3; ++round) {
    for (uint32_t i = 1; i < QueueShares::kInARow; ++i) {
      EXPECT_EQ(shares_.PlaceFor(kHome, kHelper, true, Never), kHelper);
    }
    BeginMany(kHome, QueueShares::kShallow + 1);
    EXPECT_EQ(shares_.PlaceFor(kHome, kHelper, true, Never), kHelper);
    EndMany(kHome, QueueShares::kShallow + 1);
  }
}

TEST_F(QueueSharesTest, WhatHasEndedCountsNoMore) {
  BeginMany(kHome, QueueShares::kDeep);
  EndMany(kHome, 1);
  EXPECT_EQ(PlaceAfterARow(kHome), kHome);
}

TEST(QueueShares, OneReactorKeepsEverything) {
  QueueShares shares(1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(shares.PlaceFor(0, 0, true, Always), 0);
    shares.Begin(0, 0);
  }
}

TEST(QueueShares, OfManyReactorsTheNextFewHelp) {
  constexpr uint16_t kReactors = 6;
  QueueShares shares(kReactors);
  for (uint16_t home = 0; home < kReactors; ++home) {
    for (int i = 0; i < 40; ++i) {
      shares.Begin(home, home);
      (void)shares.PlaceFor(home, home, true, Never);
    }
    std::array<bool, kReactors> helps{};
    for (uint16_t sleeper = 0; sleeper < kReactors; ++sleeper) {
      const auto sleeps = [sleeper](uint16_t reactor) { return reactor == sleeper; };
      helps[sleeper] = shares.PlaceFor(home, home, true, sleeps) == sleeper && sleeper != home;
    }
    for (int i = 0; i < 40; ++i) {
      shares.End(home, home);
    }
    for (uint16_t other = 0; other < kReactors; ++other) {
      const size_t behind = (other + kReactors - home) % kReactors;
      EXPECT_EQ(helps[other], behind >= 1 && behind <= QueueShares::kHelpersMax) << home << ' ' << other;
    }
  }
}

// For ThreadSanitizer; and each thread's own count comes out exactly.
TEST(QueueShares, EachReactorCountsItsOwn) {
  QueueShares shares(2);
  std::array<std::thread, 2> threads;
  for (uint16_t at = 0; at < 2; ++at) {
    threads[at] = std::thread([&shares, at] {
      for (int i = 0; i < 10000; ++i) {
        shares.Begin(kHome, at);
        (void)shares.PlaceFor(kHome, at, true, Always);
        shares.End(kHome, at);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (uint32_t i = 1; i < QueueShares::kDeep; ++i) {
    shares.Begin(kHome, kHome);
  }
  for (uint32_t i = 0; i < 2 * QueueShares::kInARow; ++i) {
    EXPECT_EQ(shares.PlaceFor(kHome, kHome, true, Always), kHome);
  }
  shares.Begin(kHome, kHome);
  for (uint32_t i = 0; i < QueueShares::kInARow; ++i) {
    (void)shares.PlaceFor(kHome, kHome, true, Always);
  }
  EXPECT_EQ(shares.PlaceFor(kHome, kHome, true, Always), kHelper);
}

}  // namespace
}  // namespace varve
