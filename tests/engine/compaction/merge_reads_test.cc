// What merges read from the device: no more than they need, and at once what they need together.
#include <gtest/gtest.h>

#include <string>

#include "tests/engine/compaction/small_store.h"

namespace varve {
namespace {

constexpr uint64_t kKeys = 8000;
constexpr size_t kValueBytes = 400;

// Every `step`th key, into a table of level 0.
void Put(SmallStore& store, uint64_t& sequence, uint64_t step) {
  Memtable memtable(4 * kMiB);
  for (uint64_t n = 0; n < kKeys; n += step) {
    memtable.Add(SequenceNumber(++sequence), RecordKind::kValue, fmt::format("key{:06}", n),
                 std::string(kValueBytes, 'v'));
  }
  store.Flush(memtable);
}

class MergeReads : public testing::TestWithParam<uint32_t> {
 protected:
  // Level 2 holds all keys, level 1 every `step`th again, in tables of 512 KiB.
  void Prepare(uint64_t step) {
    store_.segment.filter_reserve = 1;
    uint64_t sequence = 0;
    Put(store_, sequence, 1);
    store_.Merge(PlanOf(0));
    store_.Merge(PlanOf(1));
    Put(store_, sequence, step);
    store_.Merge(PlanOf(0));
    ASSERT_EQ(store_.versions->current()->tree(1).size(), 1u);
    ASSERT_GT(store_.versions->current()->tree(2).size(), 4u);
  }
  CompactionPlan PlanOf(uint32_t from) const {
    CompactionPlan plan = store_.PlanAll(from);
    plan.output_table_bytes = 512 * kKiB;
    plan.grandparent_bytes_max = UINT64_MAX;
    return plan;
  }
  uint64_t Reads() const { return store_.device.counters().of(IoPurpose::kCompaction).reads; }
  uint64_t ReadBytes() const { return store_.device.counters().of(IoPurpose::kCompaction).read_bytes; }

  SmallStore store_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(SectorBytes, MergeReads, testing::Values(512, 4096));

// Between two of them lies a block that no record meets: together they are one request, apart two.
TEST_P(MergeReads, DirtyBlocksAreReadAtOnceWhateverLiesBetweenThem) {
  Prepare(20);
  store_.limits.block = true;
  const CompactionPlan plan = PlanOf(1);
  const uint64_t dirty_blocks = kKeys / 20;
  const uint64_t reads_before = Reads();
  const Result<JobOutput> output = store_.RunMerge(plan, {});
  ASSERT_TRUE(output.ok()) << output.ToString();
  ASSERT_EQ(output->statistics.children_by[static_cast<size_t>(ChildMerge::kBlock)], plan.children.size());
  // Of each child besides: index and filter, and its records.
  EXPECT_LT(Reads() - reads_before, dirty_blocks / 2 + plan.children.size() * 4);
}

TEST_P(MergeReads, NeighbouringChildrenReadTheBlocksBetweenThemOnce) {
  Prepare(8);
  store_.limits.append = true;
  const CompactionPlan plan = PlanOf(1);
  // An append asks each child for its filter, to see what the records shadow.
  uint64_t filter_bytes = 0;
  for (const std::shared_ptr<const LiveTable>& child : plan.children) {
    filter_bytes += child->view().meta_bytes() + 2 * GetParam();
  }
  const uint64_t bytes_before = ReadBytes();
  const Result<JobOutput> output = store_.RunMerge(plan, {});
  ASSERT_TRUE(output.ok()) << output.ToString();
  ASSERT_EQ(output->statistics.children_by[static_cast<size_t>(ChildMerge::kAppend)], plan.children.size());
  // Three walks, which begin and end in the middle of a block.
  EXPECT_LT(ReadBytes() - bytes_before, plan.input_bytes() + filter_bytes + 3 * 16 * kKiB);
}

}  // namespace
}  // namespace varve
