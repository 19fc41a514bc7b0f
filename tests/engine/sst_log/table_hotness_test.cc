// What becomes of the hotness of keys in the tables that hold them.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "engine/base/checksum.h"
#include "engine/sst_log/hot_map.h"
#include "engine/table/segment_layout.h"
#include "engine/version/live_table.h"
#include "tests/engine/table/table_fixture.h"

namespace varve {
namespace {

struct EachIs final : KeyHotness {
  explicit EachIs(uint64_t hotness) : each(hotness) {}
  uint64_t SumOf(const std::vector<uint64_t>& hashes) const override { return each * hashes.size(); }

  uint64_t each;
};

// The next generation of a table of one segment: its first `kept` blocks, and `added` keys behind them.
TableView Mended(TableFixture& fixture, const TableView& view, size_t kept, uint64_t added,
                 const KeyHotness* hotness) {
  const SegmentLayout layout =
      fixture.Run(ReadSegmentLayout(fixture.environment, view, 0, IoPurpose::kCompaction)).value();
  TableWriter writer(fixture.device, fixture.source, IoPurpose::kCompaction, view.extents, view.used_bytes,
                     64 * kKiB);
  SegmentBuilder segment(fixture.environment, view.id, view.generation.Next(), 0, writer,
                         SegmentOptions{.hotness = hotness});
  segment.MendSegment(view.segments.front());
  for (size_t i = 0; i < kept; ++i) {
    segment.Keep(layout.blocks.at(i), IndexKeyBytes());
  }
  for (uint64_t n = 0; n < added; ++n) {
    segment.Add(InternalKeyOf("new" + NumberedKey(n), 10'000 + n), "v");
  }
  MendedFilter filter = fixture
                            .Run(MendFilter(fixture.environment, view, layout.filter, layout.filter_pages,
                                            segment.hashes(), IoPurpose::kCompaction))
                            .value();
  TableView next = view;
  next.generation = view.generation.Next();
  next.segments.front() = segment.FinishMended(std::move(filter), 0, 0);
  const Status written = fixture.Run(writer.Finish());
  EXPECT_TRUE(written.ok()) << written.ToString();
  return next;
}

TEST(TableHotness, IsThatOfTheKeysOfEachSegment) {
  const EachIs two(2);
  const EachIs six(6);
  TableFixture fixture;
  const TableView view = fixture.Build(NumberedEntries(1000, 80), SegmentOptions{.hotness = &two});
  EXPECT_EQ(view.hotness(), 2000U);
  const TableView next = fixture.Append(view, NumberedEntries(100, 80), SegmentOptions{.hotness = &six});
  EXPECT_EQ(next.segments[0].hotness, 2000U);
  EXPECT_EQ(next.segments[1].hotness, 600U);
  EXPECT_EQ(std::make_shared<const LiveTable>(next, nullptr)->hotness(), 2600U);
}

TEST(TableHotness, OfKeysThatNobodyKnowsIsNone) {
  const EachIs two(2);
  TableFixture fixture;
  EXPECT_EQ(fixture.Build(NumberedEntries(100, 80)).hotness(), 0U);
  const SegmentOptions without_filter{.bits_per_key = 0, .hotness = &two};
  EXPECT_EQ(fixture.Build(NumberedEntries(100, 80), without_filter, 8).hotness(), 0U);
}

TEST(TableHotness, OfWhatIsMendedIsItsShareAndThatOfTheKeysAdded) {
  struct Case {
    uint64_t before;  // of each key
    uint64_t added;
    uint64_t kept_counts;
    uint64_t added_counts;
  };
  for (const Case& one : {Case{4, 62, 4, 62}, Case{4, 0, 4, 0}, Case{0, 6, 0, 6}, Case{62, 1000, 62, 62}}) {
    const EachIs before(one.before);
    const EachIs added(one.added);
    TableFixture fixture;
    const SegmentOptions options{.filter_reserve = 0.4, .hotness = &before};
    const TableView view = fixture.Build(NumberedEntries(1000, 80), options);
    const TableView next = Mended(fixture, view, view.segments.front().data_blocks / 3, 10, &added);
    const uint64_t kept = next.entries() - 10;
    ASSERT_GT(kept, 200U);
    ASSERT_LT(kept, 500U);
    EXPECT_EQ(next.hotness(), kept * one.kept_counts + 10 * one.added_counts);
  }
}

TEST(TableHotness, IsNeverMoreThanItsEntriesCanHave) {
  const EachIs far_too_much(1 << 20);
  TableFixture fixture;
  const TableView view = fixture.Build(NumberedEntries(1000, 80), SegmentOptions{.hotness = &far_too_much});
  EXPECT_EQ(view.hotness(), KeyHotness::MostOf(1000));
  EXPECT_EQ(KeyHotness::MostOf(1000), 62'000U);
  EXPECT_LT(KeyHotness::MostOf(UINT64_MAX), UINT64_MAX / 2);
}

TEST(TableHotness, IsWhatAHotMapSaysOfTheUserKeys) {
  HotMap map(HotMapOptions{});
  for (uint64_t n = 0; n < 100; ++n) {
    for (uint64_t updates = n < 10 ? 3 : 1; updates > 0; --updates) {
      map.Add(Hash64(NumberedKey(n)));
    }
  }
  TableFixture fixture;
  const TableView view = fixture.Build(NumberedEntries(1000, 80), SegmentOptions{.hotness = &map});
  EXPECT_EQ(view.hotness(), 10U * (2 + 4 + 8) + 90U * 2);
}

}  // namespace
}  // namespace varve
