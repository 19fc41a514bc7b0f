// A judge that cannot condemn is worthless: each kind of wrong answer is planted and seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/store_oracle.h"

namespace varve::sim {
namespace {

using testing::HasSubstr;
using testing::Optional;

// Two clients; client 0 has put a key three times, client 1 once after it.
class StoreOracleTest : public testing::Test {
 protected:
  StoreOracleTest() {
    for (int i = 1; i <= 3; ++i) {
      Put(0, "v" + std::to_string(i));
      states_.push_back(Seen());
    }
    Put(1, "w1");
  }

  void Put(size_t client, const std::string& value) {
    WriteBatch batch;
    oracle_.Begin(client, {{KeyOf(client, 30), false, value}}, batch);
    oracle_.Acknowledged(client);
  }
  State Seen() const {
    State all;
    for (const State& state : oracle_.Look().states) {
      all.insert(state.begin(), state.end());
    }
    return all;
  }
  Problem Check(const Entries& entries) const {
    return StoreOracle::CheckEntries(oracle_.Look(), "", "", entries);
  }
  Entries AllEntries() const {
    const State all = Seen();
    return {all.begin(), all.end()};
  }

  StoreOracle oracle_{2};
  // After each batch of client 0.
  std::vector<State> states_;
};

TEST_F(StoreOracleTest, TheTruthIsNoProblem) {
  EXPECT_EQ(Check(AllEntries()), std::nullopt);
  EXPECT_EQ(oracle_.CheckOwn(0, KeyOf(0, 30), "v3"), std::nullopt);
  EXPECT_EQ(oracle_.CheckWasWritten(KeyOf(0, 30), "v1"), std::nullopt);
  EXPECT_EQ(oracle_.Adopt(Seen(), true), std::nullopt);
}

TEST_F(StoreOracleTest, AScanWithAWrongMissingOrStrangeEntryIsSeen) {
  Entries entries = AllEntries();
  entries[0].second = "other";
  EXPECT_THAT(Check(entries), Optional(HasSubstr("instead of")));
  entries = AllEntries();
  entries.pop_back();
  EXPECT_THAT(Check(entries), Optional(HasSubstr("is missing")));
  entries = AllEntries();
  entries.emplace_back("zzz-0", "x");
  EXPECT_THAT(Check(entries), Optional(HasSubstr("should not be there")));
  entries = AllEntries();
  std::swap(entries[0], entries[1]);
  EXPECT_THAT(Check(entries), Optional(HasSubstr("after")));
}

TEST_F(StoreOracleTest, AnOldValueOfAnOwnKeyIsSeen) {
  EXPECT_THAT(oracle_.CheckOwn(0, KeyOf(0, 30), "v2"), Optional(HasSubstr("instead of v3")));
  EXPECT_THAT(oracle_.CheckOwn(0, KeyOf(0, 30), std::nullopt), Optional(HasSubstr("reads nothing")));
  EXPECT_THAT(oracle_.CheckWasWritten(KeyOf(0, 30), "v4"), Optional(HasSubstr("never written")));
}

TEST_F(StoreOracleTest, LossOfWhatWasDurableIsSeen) {
  EXPECT_EQ(StoreOracle(oracle_).Adopt(states_[1], true), std::nullopt);
  oracle_.Durable({3, 0});
  EXPECT_THAT(oracle_.Adopt(states_[1], true), Optional(HasSubstr("were durable")));
}

TEST_F(StoreOracleTest, OnlyWhereDataWasDestroyedMayAnOlderStateThanTheLastCrashLeftComeBack) {
  ASSERT_EQ(oracle_.Adopt(Seen(), true), std::nullopt);
  const State all = Seen();
  EXPECT_THAT(StoreOracle(oracle_).Adopt(states_[1], true), Optional(HasSubstr("3 were durable")));
  EXPECT_EQ(oracle_.Adopt(states_[1], false), std::nullopt);
  // What did not survive once is gone for good.
  EXPECT_THAT(oracle_.Adopt(all, false), Optional(HasSubstr("3 batches of client 0 survived, of 2")));
}

TEST_F(StoreOracleTest, ALaterBatchWithoutAnEarlierOneIsSeen) {
  // What client 1 wrote after the third batch of client 0, with only two of that.
  State survived = Seen();
  survived[KeyOf(0, 30)] = "v2";
  survived[MarkerOf(0)] = "2";
  EXPECT_THAT(oracle_.Adopt(survived, true), Optional(HasSubstr("acknowledged before it began, did not")));
}

TEST_F(StoreOracleTest, HalfABatchIsSeen) {
  State survived = states_[2];
  survived[MarkerOf(0)] = "2";
  EXPECT_THAT(oracle_.Adopt(survived, true), Optional(HasSubstr("after 2 batches of client 0")));
}

TEST_F(StoreOracleTest, ABatchOfUnknownOutcomeMayBeThereOrNot) {
  WriteBatch batch;
  oracle_.Begin(0, {{KeyOf(0, 30), false, "v4"}}, batch);
  EXPECT_EQ(oracle_.CheckOwn(0, KeyOf(0, 30), "v3"), std::nullopt);
  EXPECT_EQ(oracle_.CheckOwn(0, KeyOf(0, 30), "v4"), std::nullopt);
  EXPECT_EQ(StoreOracle(oracle_).Adopt(Seen(), true), std::nullopt);
  State with = Seen();
  with[KeyOf(0, 30)] = "v4";
  with[MarkerOf(0)] = "4";
  EXPECT_EQ(oracle_.Adopt(with, true), std::nullopt);
}

}  // namespace
}  // namespace varve::sim
