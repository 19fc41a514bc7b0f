// Merges into tables that are small: whether they are joined.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/engine/compaction/small_store.h"

namespace varve {
namespace {

constexpr uint64_t kKeys = 2000;

// Level 2 holds every key, in tables of some 128 KiB.
class SmallTables : public testing::Test {
 protected:
  SmallTables() {
    store_.limits.append = true;
    Put(1);
    store_.MergeAll(0);
    store_.MergeAll(1);
  }

  // Every `step`th key, into a table of level 0.
  void Put(uint64_t step) {
    Memtable memtable(4 * kMiB);
    AddNumbered(memtable, 0, kKeys, step, sequence_);
    store_.Flush(memtable);
  }
  size_t Tables() const { return store_.versions->current()->tree(2).size(); }

  // Merges every `step`th key into level 2, whose tables hold a third of a table each. How many got a
  // segment.
  uint64_t AppendedTo(uint64_t step) {
    Put(step);
    store_.MergeAll(0);
    CompactionPlan plan = store_.PlanAll(1);
    plan.output_table_bytes = 3 * plan.child_bytes() / plan.children.size();
    const Result<JobOutput> output = store_.RunMerge(plan, {});
    EXPECT_TRUE(output.ok()) << output.ToString();
    store_.Install(output->edit);
    for (uint64_t n = 0; n < kKeys; ++n) {
      EXPECT_TRUE(store_.Read(NumberedKey(n))) << n;
    }
    return output->statistics.children_by[static_cast<size_t>(ChildMerge::kAppend)];
  }

  SmallStore store_{512};
  uint64_t sequence_ = 0;
};

TEST_F(SmallTables, StayApartWhereWhatComesMakesThemLarge) {
  const size_t tables = Tables();
  // Half as much as they hold: with it they hold half a table each.
  EXPECT_EQ(AppendedTo(2), tables);
  EXPECT_EQ(Tables(), tables);
}

TEST_F(SmallTables, AreJoinedWhereWhatComesLeavesThemSmall) {
  const size_t tables = Tables();
  EXPECT_EQ(AppendedTo(50), 0U);
  EXPECT_LT(Tables(), tables);
}

}  // namespace
}  // namespace varve
