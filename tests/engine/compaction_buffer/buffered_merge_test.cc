#include "engine/compaction_buffer/buffered_merge.h"

#include <gtest/gtest.h>

#include "engine/compaction_buffer/trim.h"
#include "tests/engine/table/table_fixture.h"

namespace varve {
namespace {

constexpr uint64_t kRecords = 400;

class BufferedMerge : public ::testing::Test {
 protected:
  std::shared_ptr<const LiveTable> Table(uint64_t id) {
    return std::make_shared<const LiveTable>(fixture_.Build(NumberedEntries(kRecords, 1000), {}, id),
                                             nullptr);
  }
  void Read(const LiveTable& table) {
    for (uint64_t n = 0; n < kRecords; ++n) {
      ASSERT_TRUE(fixture_.Get(table.view(), NumberedKey(n)).ok());
    }
  }
  Version With(std::vector<std::pair<Place, std::shared_ptr<const LiveTable>>> placed) {
    VersionEdit edit;
    uint64_t stamp = 1;
    for (const auto& [place, table] : placed) {
      edit.added_tables.push_back({place, InstallStamp(stamp++), table->view()});
    }
    edit.next_stamp = InstallStamp(stamp);
    return ApplyVersionEdit(Version(), edit, *tables_).value();
  }

  TableFixture fixture_;
  std::shared_ptr<LiveTables> tables_ = std::make_shared<LiveTables>(nullptr);
};

TEST_F(BufferedMerge, HotInputsBecomeViewsAndColdOnesHolesOldestFirst) {
  const auto first = Table(1);
  const auto second = Table(2);
  const Version version = With({{{0, Part::kLevel0}, first}, {{0, Part::kLevel0}, second}});
  Read(*second);
  CompactionPlan plan;
  plan.output_level = 1;
  plan.AddInput({0, Part::kLevel0}, version.level0()[1].table);  // in no order
  plan.AddInput({0, Part::kLevel0}, version.level0()[0].table);
  const auto elements = BufferElementsOf(fixture_.environment, version, plan, 0.8);
  ASSERT_EQ(elements.size(), 2U);
  EXPECT_FALSE(elements[0].view.has_value());
  EXPECT_EQ(elements[0].range, first->range().Owned());
  ASSERT_TRUE(elements[1].view.has_value());
  EXPECT_EQ(elements[1].view->id, TableId(2));
  EXPECT_EQ(elements[1].kept, KeySpans::Of(second->range()));
}

TEST_F(BufferedMerge, ALogIsOlderThanItsTree) {
  const auto waits = Table(1);
  const auto newer = Table(2);
  const Version version = With({{{1, Part::kTree}, newer}, {{1, Part::kLog}, waits}});
  Read(*waits);
  Read(*newer);
  CompactionPlan plan;
  plan.output_level = 2;
  plan.AddInput({1, Part::kTree}, version.tree(1).First().shared());
  plan.AddInput({1, Part::kLog}, version.level(1).log.front().table);
  const auto elements = BufferElementsOf(fixture_.environment, version, plan, 0.8);
  ASSERT_EQ(elements.size(), 2U);
  EXPECT_EQ(elements[0].view->id, TableId(1));
  EXPECT_EQ(elements[1].view->id, TableId(2));
}

// The readers of a table whose level's buffer served them come for the table itself.
TEST_F(BufferedMerge, WhatTheBufferAboveServedIsHandedOn) {
  const auto parent = Table(1);
  const auto buffered = Table(2);
  VersionEdit edit;
  edit.added_tables.push_back({{1, Part::kTree}, InstallStamp(1), parent->view()});
  edit.buffer_elements.push_back(
      {1, InstallStamp(2), buffered->range().Owned(), buffered->view(), KeySpans::Of(buffered->range())});
  edit.next_stamp = InstallStamp(3);
  const Version version = ApplyVersionEdit(Version(), edit, *tables_).value();
  ASSERT_TRUE(fixture_.Get(parent->view(), NumberedKey(0)).ok());  // its index is cached, its blocks are not
  CompactionPlan plan;
  plan.output_level = 2;
  plan.AddInput({1, Part::kTree}, version.tree(1).First().shared());
  const auto elements = BufferElementsOf(fixture_.environment, version, plan, 0.8);
  ASSERT_EQ(elements.size(), 1U);
  EXPECT_TRUE(elements[0].view.has_value());
}

// A hole would end what is served there.
TEST_F(BufferedMerge, WhatTheBufferBelowServesStaysServed) {
  const auto parent = Table(1);
  const auto buffered = Table(2);
  VersionEdit edit;
  edit.added_tables.push_back({{0, Part::kLevel0}, InstallStamp(1), parent->view()});
  edit.buffer_elements.push_back(
      {1, InstallStamp(2), buffered->range().Owned(), buffered->view(), KeySpans::Of(buffered->range())});
  edit.next_stamp = InstallStamp(3);
  const Version version = ApplyVersionEdit(Version(), edit, *tables_).value();
  ASSERT_TRUE(fixture_.Get(parent->view(), NumberedKey(0)).ok());
  CompactionPlan plan;
  plan.output_level = 1;
  plan.AddInput({0, Part::kLevel0}, version.level0()[0].table);
  const auto elements = BufferElementsOf(fixture_.environment, version, plan, 0.8);
  ASSERT_EQ(elements.size(), 1U);
  EXPECT_TRUE(elements[0].view.has_value());
}

TEST_F(BufferedMerge, MovesAndMergesWithinALevelPutNothingIntoABuffer) {
  const auto table = Table(1);
  const Version version = With({{{1, Part::kTree}, table}});
  Read(*table);
  CompactionPlan plan;
  plan.AddInput({1, Part::kTree}, version.tree(1).First().shared());
  plan.output_level = 1;
  EXPECT_TRUE(BufferElementsOf(fixture_.environment, version, plan, 0.8).empty());
  plan.output_level = 2;
  plan.kind = MergeKind::kTrivialMove;
  EXPECT_TRUE(BufferElementsOf(fixture_.environment, version, plan, 0.8).empty());
}

TEST_F(BufferedMerge, ATrimTakesWhatIsColdUnlessItIsYoung) {
  const auto table = Table(1);
  const BufferedView view{InstallStamp(5), table, KeySpans::Of(table->range())};
  EXPECT_FALSE(TrimOf(fixture_.environment, 2, view, true, 0.8).has_value());
  const std::optional<VersionEdit::TrimmedView> trim = TrimOf(fixture_.environment, 2, view, false, 0.8);
  ASSERT_TRUE(trim.has_value());
  EXPECT_TRUE(trim->kept.empty());
  EXPECT_EQ(trim->stamp, InstallStamp(5));
  Read(*table);
  EXPECT_FALSE(TrimOf(fixture_.environment, 2, view, false, 0.8).has_value());
}

}  // namespace
}  // namespace varve
