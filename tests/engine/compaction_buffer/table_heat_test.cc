#include "engine/compaction_buffer/table_heat.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/engine/table/table_fixture.h"

namespace varve {
namespace {

// Four records a block, 64 a part.
constexpr uint64_t kRecords = 1600;
constexpr size_t kValueBytes = 1000;

class TableHeat : public ::testing::Test {
 protected:
  TableHeat() : view_(fixture_.Build(NumberedEntries(kRecords, kValueBytes))) {}

  void Read(uint64_t from, uint64_t to, uint64_t step = 1) {
    for (uint64_t n = from; n < to; n += step) {
      ASSERT_TRUE(fixture_.Get(view_, NumberedKey(n)).ok());
    }
  }
  KeySpans Whole() const { return KeySpans::Of(KeyRange{view_.smallest, view_.largest}); }
  KeptPart Hot(const KeySpans& within, double share = 0.8) {
    return HotPartOf(fixture_.environment, view_, within, {}, share);
  }

  TableFixture fixture_;
  TableView view_;
};

TEST_F(TableHeat, WhatNobodyHasReadIsCold) {
  EXPECT_TRUE(Hot(Whole()).kept.empty());
}

TEST_F(TableHeat, AReadTableIsHotAsAWholeAndGivesNothingBack) {
  Read(0, kRecords);
  const KeptPart part = Hot(Whole());
  EXPECT_EQ(part.kept, Whole());
  EXPECT_FALSE(part.view.has_value());
}

TEST_F(TableHeat, OnlyTheHotPartIsKeptWithTheSpaceThatItTakes) {
  Read(400, 800);
  const KeptPart part = Hot(Whole());
  EXPECT_TRUE(part.kept.Contains(NumberedKey(600)));
  EXPECT_FALSE(part.kept.Contains(NumberedKey(200)));
  EXPECT_FALSE(part.kept.Contains(NumberedKey(1000)));
  EXPECT_EQ(part.kept.spans().size(), 1U) << part.kept.ToString();
  ASSERT_TRUE(part.view.has_value());
  EXPECT_EQ(part.view->id, view_.id);
  EXPECT_EQ(part.view->generation, view_.generation.Next());
  EXPECT_LT(part.view->allocated_bytes(), view_.allocated_bytes() / 2);
  // It answers for what it keeps from the device too.
  fixture_.cache.EraseTable(view_.id);
  for (uint64_t n = 0; n < kRecords; ++n) {
    if (part.kept.Contains(NumberedKey(n))) {
      EXPECT_EQ(ValueOf(fixture_.Get(*part.view, NumberedKey(n))).size(), kValueBytes) << n;
    }
  }
}

TEST_F(TableHeat, WhatIsTrimmedAgainGivesMoreBack) {
  Read(400, 800);
  KeptPart part = Hot(Whole());
  ASSERT_TRUE(part.view.has_value());
  const TableView first = *part.view;
  const KeySpans less = part.kept.Minus(KeySpans::Of(KeyRange{NumberedKey(400), NumberedKey(600)}));
  part = HotPartOf(fixture_.environment, first, less, {}, 0.8);
  ASSERT_TRUE(part.view.has_value());
  EXPECT_LT(part.view->allocated_bytes(), first.allocated_bytes());
  EXPECT_TRUE(part.kept.Contains(NumberedKey(700)));
  EXPECT_FALSE(part.kept.Contains(NumberedKey(500)));
}

TEST_F(TableHeat, APartIsHotByTheShareOfItsBlocks) {
  Read(0, kRecords, 8);  // every other block
  EXPECT_TRUE(Hot(Whole()).kept.empty());
  EXPECT_EQ(Hot(Whole(), 0.4).kept, Whole());
}

TEST_F(TableHeat, BlocksWhoseReadersAreServedElsewhereCountAsHot) {
  Read(0, 1);  // its footer and index are cached
  const IsServed served = [](std::string_view key) { return key < NumberedKey(800); };
  const KeptPart part = HotPartOf(fixture_.environment, view_, Whole(), served, 0.8);
  EXPECT_TRUE(part.kept.Contains(NumberedKey(500)));
  EXPECT_FALSE(part.kept.Contains(NumberedKey(1200)));
}

TEST_F(TableHeat, ATableOfSeveralSegmentsIsKeptWholeOrNotAtAll) {
  const TableView appended = fixture_.Append(view_, NumberedEntries(100, kValueBytes, 16));
  Read(400, 800);
  EXPECT_TRUE(HotPartOf(fixture_.environment, appended, Whole(), {}, 0.8).kept.empty());
  const KeptPart part = HotPartOf(fixture_.environment, appended, Whole(), {}, 0.2);
  EXPECT_EQ(part.kept, Whole());
  EXPECT_FALSE(part.view.has_value());
}

TEST_F(TableHeat, AYoungViewKeepsWhatItIsAskedForAndGivesBackTheRest) {
  Read(0, 1);
  const KeySpans within = KeySpans::Of(KeyRange{NumberedKey(100), NumberedKey(300)});
  const KeptPart part = WholePartOf(fixture_.environment, view_, within);
  EXPECT_EQ(part.kept, within);
  ASSERT_TRUE(part.view.has_value());
  EXPECT_LT(part.view->allocated_bytes(), view_.allocated_bytes() / 2);
  for (uint64_t n = 100; n <= 300; ++n) {
    EXPECT_EQ(ValueOf(fixture_.Get(*part.view, NumberedKey(n))).size(), kValueBytes) << n;
  }
}

// Of an index in parts, one that is not cached says nothing of what lies below it.
TEST(TableHeatOfALargeTable, WhatIsKeptUnderAPartOfTheIndexThatIsNotCachedGivesNothingBack) {
  TableFixture fixture;
  SegmentOptions options;
  options.block_bytes = 512;
  const TableView view = fixture.Build(NumberedEntries(20'000, 100), options);
  ASSERT_TRUE(fixture.Get(view, NumberedKey(0)).ok());  // one part of the index, and its footer
  const std::optional<SegmentHeat> heat = HeatOf(fixture.environment, view, {});
  ASSERT_TRUE(heat.has_value());
  ASSERT_TRUE(heat->blocks.back().is_index);
  const KeySpans last = KeySpans::Of(KeyRange{NumberedKey(19'000), NumberedKey(19'500)});
  EXPECT_FALSE(WholePartOf(fixture.environment, view, last).view.has_value());
  EXPECT_TRUE(HotPartOf(fixture.environment, view, last, {}, 0.01).kept.empty());
  const KeySpans first = KeySpans::Of(KeyRange{NumberedKey(0), NumberedKey(10)});
  EXPECT_TRUE(WholePartOf(fixture.environment, view, first).view.has_value());
}

}  // namespace
}  // namespace varve
