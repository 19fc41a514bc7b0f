#include "engine/store/reader_meter.h"

#include <gtest/gtest.h>

namespace varve {
namespace {

constexpr uint64_t kRecords = 1'000;

class ReaderMeterTest : public ::testing::Test {
 protected:
  bool Flush() { return meter_.AddFlush(kRecords, readers_); }
  bool ReadsTables() const { return meter_.ReadsTables(readers_); }
  bool Gets() const { return meter_.Gets(readers_); }

  ReaderMeter meter_;
  ReaderMeter::Readers readers_;
};

TEST_F(ReaderMeterTest, ALoadHasNoReaders) {
  EXPECT_FALSE(Flush());
  EXPECT_FALSE(ReadsTables());
  EXPECT_FALSE(Gets());
}

TEST_F(ReaderMeterTest, WhatIsFlushedIsReadWhereAFourthAsManyRecordsAre) {
  readers_.gets = 249;
  EXPECT_FALSE(Flush());
  readers_.gets += 250;
  EXPECT_TRUE(Flush());
  EXPECT_FALSE(Flush());
}

TEST_F(ReaderMeterTest, SteadyReadersAreSeenByEveryMerge) {
  for (int i = 0; i < 20; i++) {
    readers_.gets += 20;
    Flush();
    EXPECT_TRUE(ReadsTables()) << i;
    EXPECT_TRUE(Gets()) << i;
  }
}

TEST_F(ReaderMeterTest, FewReadersBesideManyWritesAreNone) {
  for (int i = 0; i < 20; i++) {
    readers_.gets += 15;
    Flush();
    EXPECT_FALSE(ReadsTables()) << i;
  }
}

TEST_F(ReaderMeterTest, WhoeverReadIsForgottenAfterFourFlushes) {
  readers_.gets = 1'000'000;
  for (int i = 0; i < 4; i++) {
    Flush();
    EXPECT_TRUE(ReadsTables()) << i;
    EXPECT_TRUE(Gets()) << i;
  }
  Flush();
  EXPECT_FALSE(ReadsTables());
  EXPECT_FALSE(Gets());
}

TEST_F(ReaderMeterTest, WhoComesBackIsSeenBeforeTheNextFlush) {
  for (int i = 0; i < 10; i++) {
    Flush();
  }
  EXPECT_FALSE(ReadsTables());
  readers_.gets = 63;
  EXPECT_TRUE(ReadsTables());
  EXPECT_TRUE(Gets());
}

TEST_F(ReaderMeterTest, WalksAreWhatMergesCarryForAndNobodyElse) {
  readers_.walks = 1'000;
  EXPECT_FALSE(Flush());
  EXPECT_TRUE(ReadsTables());
  EXPECT_FALSE(Gets());
}

}  // namespace
}  // namespace varve
