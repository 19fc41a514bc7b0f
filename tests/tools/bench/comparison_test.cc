#include "tools/bench/comparison.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace varve {
namespace {

nlohmann::json RunOf(const char* engine, int round, double operations_per_second) {
  return {{"engine", engine},
          {"round", round},
          {"phases", {{{"name", "fillrandom"}, {"operations_per_second", operations_per_second}}}}};
}

TEST(Comparison, AFigureIsTheMedianAndARatioStaysWithinItsRound) {
  // The machine is twice as fast in every round; within each, the peer has half of varve's rate.
  const nlohmann::json runs = {RunOf("varve", 1, 100),   RunOf("rocksdb", 1, 50), RunOf("varve", 2, 200),
                               RunOf("rocksdb", 2, 100), RunOf("varve", 3, 400),  RunOf("rocksdb", 3, 200)};
  const std::string tables = ComparisonTables(runs);
  EXPECT_NE(tables.find(" 200 "), std::string::npos) << tables;
  EXPECT_NE(tables.find("100 (x0.50)"), std::string::npos) << tables;
}

TEST(Comparison, AnEngineWithoutThePhaseHasADash) {
  nlohmann::json runs = {RunOf("varve", 1, 100), RunOf("leveldb", 1, 50)};
  runs[1]["phases"] = nlohmann::json::array();
  const std::string tables = ComparisonTables(runs);
  EXPECT_NE(tables.find("100"), std::string::npos) << tables;
  EXPECT_NE(tables.find("-"), std::string::npos) << tables;
}

TEST(Comparison, FiguresThatNobodyHasAreLeftOut) {
  const std::string tables = ComparisonTables(nlohmann::json::array({RunOf("varve", 1, 100)}));
  EXPECT_NE(tables.find("ops/s"), std::string::npos);
  EXPECT_EQ(tables.find("p99"), std::string::npos);
}

TEST(Comparison, AWorkloadThatIsAskedForTwiceHasTwoTables) {
  nlohmann::json run = RunOf("varve", 1, 100);
  run["phases"].push_back(run["phases"][0]);
  const std::string tables = ComparisonTables(nlohmann::json::array({run}));
  EXPECT_NE(tables.find("fillrandom"), tables.rfind("fillrandom"));
}

}  // namespace
}  // namespace varve
