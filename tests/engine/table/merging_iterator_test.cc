// What a merge of walks does at its edges; orders and moves are in iterator_model_test.cc.
#include "engine/table/merging_iterator.h"

#include <gtest/gtest.h>

#include "tests/engine/table/table_fixture.h"

namespace varve {
namespace {

std::unique_ptr<InternalIterator> Merge(TableFixture& fixture, const TableView& first,
                                        const TableView& second, std::string_view upper = {}) {
  std::vector<std::unique_ptr<InternalIterator>> children;
  children.push_back(NewTableIterator(fixture.environment, first, TableIteratorOptions{}));
  children.push_back(NewTableIterator(fixture.environment, second, TableIteratorOptions{}));
  return NewMergingIterator(std::move(children), upper);
}

TEST(MergingIterator, NoChildrenIsAnEmptyOrder) {
  const std::unique_ptr<InternalIterator> merged = NewMergingIterator({});
  EXPECT_EQ(merged->SeekToFirst(), Step::kDone);
  EXPECT_FALSE(merged->Valid());
  EXPECT_TRUE(merged->status().ok());
}

TEST(MergingIterator, ErrorOfOneChildEndsTheWalkAndANewSeekRecovers) {
  TableFixture fixture;
  Entries one;
  Entries other;
  for (uint64_t i = 0; i < 200; ++i) {
    (i % 2 == 0 ? one : other)[InternalKeyOf(NumberedKey(i), i + 1)] = std::string(500, 'v');
  }
  const TableView first = fixture.Build(one, SegmentOptions{}, 1);
  const TableView second = fixture.Build(other, SegmentOptions{}, 2);
  const std::unique_ptr<InternalIterator> merged = Merge(fixture, first, second);
  fixture.Finish(*merged, merged->SeekToFirst());
  fixture.device.MakeUnreadable(TableFixture::DeviceOffsetOf(second, 30'000), 1);
  while (merged->Valid()) {
    fixture.Finish(*merged, merged->Next());
  }
  EXPECT_TRUE(merged->status().Is(ErrorCode::kDeviceError));
  fixture.device.Heal();
  fixture.Finish(*merged, merged->SeekToFirst());
  uint64_t count = 0;
  for (; merged->Valid(); fixture.Finish(*merged, merged->Next())) {
    EXPECT_EQ(UserKeyOf(merged->key()), NumberedKey(count++));
  }
  EXPECT_EQ(count, 200u);
  EXPECT_TRUE(merged->status().ok()) << merged->status().ToString();
}

// A child that stands behind the end is not asked, one that stands on the last key before it is.
TEST(MergingIterator, ChildrenThatStandBehindTheEndAreLeftOut) {
  TableFixture fixture;
  Entries one;
  Entries other;
  for (uint64_t i = 0; i < 10; ++i) {
    one[InternalKeyOf(NumberedKey(i), i + 1)] = "one";
    other[InternalKeyOf(NumberedKey(i + 9), i + 100)] = "other";
  }
  const TableView first = fixture.Build(one, SegmentOptions{}, 1);
  const TableView second = fixture.Build(other, SegmentOptions{}, 2);
  for (const uint64_t last : {3U, 9U, 12U}) {
    std::string upper = NumberedKey(last);
    upper.push_back('\0');
    const std::unique_ptr<InternalIterator> merged = Merge(fixture, first, second, upper);
    fixture.Finish(*merged, merged->Seek(SeekKey(NumberedKey(last), kSequenceNumberMax)));
    ASSERT_TRUE(merged->Valid()) << last;
    EXPECT_EQ(UserKeyOf(merged->key()), NumberedKey(last));
    fixture.Finish(*merged, merged->Seek(SeekKey(NumberedKey(last + 1), kSequenceNumberMax)));
    EXPECT_FALSE(merged->Valid()) << last;
    EXPECT_TRUE(merged->status().ok());
    // Back to what is before it.
    fixture.Finish(*merged, merged->SeekForPrev(LastKeyOf(NumberedKey(last))));
    uint64_t before = 0;
    for (; merged->Valid(); fixture.Finish(*merged, merged->Prev())) {
      ++before;
    }
    EXPECT_EQ(before, last < 9 ? last + 1 : last + 2);
  }
}

TEST(MergingIterator, TheForemostHasWhatComesBeforeTheOthers) {
  TableFixture fixture;
  Entries one;
  Entries other;
  for (uint64_t i = 0; i < 10; ++i) {
    one[InternalKeyOf(NumberedKey(i), i + 1)] = "one";
    other[InternalKeyOf(NumberedKey(i + 5), i + 100)] = "other";
  }
  const TableView first = fixture.Build(one, SegmentOptions{}, 1);
  const TableView second = fixture.Build(other, SegmentOptions{}, 2);
  const std::unique_ptr<InternalIterator> merged = Merge(fixture, first, second);
  fixture.Finish(*merged, merged->Seek(SeekKey(NumberedKey(2), kSequenceNumberMax)));
  std::optional<std::string_view> until;
  InternalIterator& foremost = merged->Foremost(until);
  EXPECT_NE(&foremost, merged.get());
  EXPECT_EQ(until, NumberedKey(5));
  EXPECT_EQ(foremost.key(), merged->key());
  // An end that comes sooner stays.
  const std::string sooner = NumberedKey(4);
  until = sooner;
  merged->Foremost(until);
  EXPECT_EQ(until, sooner);
  for (uint64_t i = 3; i < 6; ++i) {
    fixture.Finish(foremost, foremost.Next());
    EXPECT_EQ(UserKeyOf(foremost.key()), NumberedKey(i));
  }
  merged->TakeBack();
  // Of the two versions the newer one comes first, which is the other's.
  ASSERT_TRUE(merged->Valid());
  EXPECT_EQ(merged->value(), "other");
  fixture.Finish(*merged, merged->Next());
  EXPECT_EQ(merged->value(), "one");
  // The end of the first leaves the other alone.
  fixture.Finish(*merged, merged->Seek(SeekKey(NumberedKey(10), kSequenceNumberMax)));
  until.reset();
  InternalIterator& last = merged->Foremost(until);
  EXPECT_FALSE(until);
  uint64_t left = 0;
  for (; last.Valid(); fixture.Finish(last, last.Next())) {
    ++left;
  }
  EXPECT_EQ(left, 5U);
  merged->TakeBack();
  EXPECT_FALSE(merged->Valid());
  EXPECT_TRUE(merged->status().ok());
}

// A user key may be empty: no key lies before it, and it is no missing end.
TEST(MergingIterator, NothingComesBeforeAnEmptyKey) {
  TableFixture fixture;
  Entries one;
  Entries other;
  one[InternalKeyOf("", 7)] = "newer";
  one[InternalKeyOf("b", 1)] = "one";
  other[InternalKeyOf("", 2)] = "older";
  other[InternalKeyOf("a", 3)] = "other";
  const TableView first = fixture.Build(one, SegmentOptions{}, 1);
  const TableView second = fixture.Build(other, SegmentOptions{}, 2);
  const std::unique_ptr<InternalIterator> merged = Merge(fixture, first, second);
  fixture.Finish(*merged, merged->SeekToFirst());
  std::optional<std::string_view> until;
  merged->Foremost(until);
  ASSERT_TRUE(until);
  EXPECT_TRUE(until->empty());
}

}  // namespace
}  // namespace varve
