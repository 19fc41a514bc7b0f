#include "tools/bench/workload.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace varve {
namespace {

TEST(Workloads, SharesOfAMixAddUpToOne) {
  for (const Workload& workload : AllWorkloads()) {
    const double sum =
        workload.read + workload.update + workload.insert + workload.scan + workload.read_modify_write;
    EXPECT_DOUBLE_EQ(sum, workload.kind == PhaseKind::kMix ? 1 : 0) << workload.name;
  }
}

TEST(Workloads, AreFoundByTheirOwnNames) {
  std::set<std::string_view> names;
  for (const Workload& workload : AllWorkloads()) {
    EXPECT_EQ(FindWorkload(workload.name), &workload);
    EXPECT_TRUE(names.insert(workload.name).second) << workload.name;
  }
  EXPECT_EQ(FindWorkload("fillbackwards"), nullptr);
}

}  // namespace
}  // namespace varve
