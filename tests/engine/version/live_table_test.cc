#include "engine/version/live_table.h"

#include <gtest/gtest.h>

#include "tests/support/table_views.h"

namespace varve {
namespace {

struct Releases final : TableReleaseObserver {
  struct Release {
    TableId id;
    std::vector<Extent> unreferenced;
    bool is_last;
  };
  std::vector<Release> seen;

  void OnTableReleased(const TableView& view, std::vector<Extent> unreferenced, bool is_last) override {
    seen.push_back({view.id, std::move(unreferenced), is_last});
  }
};

TableView ViewOf(uint64_t generation, std::vector<Extent> extents) {
  TableView view = MakeView({.id = 1, .generation = generation});
  view.extents.clear();
  uint64_t at = 0;
  for (const Extent& extent : extents) {
    view.extents.push_back({at, extent});
    at += extent.bytes();
  }
  return view;
}

struct Fixture {
  Releases releases;
  std::shared_ptr<LiveTables> tables = std::make_shared<LiveTables>(&releases);

  std::shared_ptr<const LiveTable> Installed(TableView view) {
    auto table = tables->Add(std::move(view));
    tables->MarkInstalled(table->id(), table->generation());
    return table;
  }
};

TEST(LiveTables, TheLastHolderOfAnInstalledTableReleasesItsSpace) {
  Fixture fixture;
  auto table = fixture.Installed(ViewOf(1, {{10, 4}, {20, 2}}));
  auto held = table;
  table.reset();
  EXPECT_TRUE(fixture.releases.seen.empty());
  held.reset();
  ASSERT_EQ(fixture.releases.seen.size(), 1u);
  EXPECT_EQ(fixture.releases.seen[0].unreferenced, (std::vector<Extent>{{10, 4}, {20, 2}}));
  EXPECT_TRUE(fixture.releases.seen[0].is_last);
}

TEST(LiveTables, AnAppendedTableGivesBackOnlyWhatItsNextGenerationLeftBehind) {
  Fixture fixture;
  auto first = fixture.Installed(ViewOf(1, {{10, 4}, {20, 2}}));
  auto second = fixture.Installed(ViewOf(2, {{12, 2}, {20, 2}, {30, 1}}));
  first.reset();
  ASSERT_EQ(fixture.releases.seen.size(), 1u);
  EXPECT_EQ(fixture.releases.seen[0].unreferenced, (std::vector<Extent>{{10, 2}}));
  EXPECT_FALSE(fixture.releases.seen[0].is_last);
  second.reset();
  EXPECT_EQ(fixture.releases.seen[1].unreferenced, (std::vector<Extent>{{12, 2}, {20, 2}, {30, 1}}));
  EXPECT_TRUE(fixture.releases.seen[1].is_last);
}

TEST(LiveTables, SpaceThatAnOlderGenerationStillReadsWaitsForIt) {
  Fixture fixture;
  auto first = fixture.Installed(ViewOf(1, {{10, 4}}));
  auto second = fixture.Installed(ViewOf(2, {{10, 4}, {30, 1}}));
  second.reset();
  EXPECT_EQ(fixture.releases.seen[0].unreferenced, (std::vector<Extent>{{30, 1}}));
  first.reset();
  EXPECT_EQ(fixture.releases.seen[1].unreferenced, (std::vector<Extent>{{10, 4}}));
}

TEST(LiveTables, ATableThatWasNeverInstalledIsItsJobsBusiness) {
  Fixture fixture;
  fixture.tables->Add(ViewOf(1, {{10, 4}})).reset();
  EXPECT_TRUE(fixture.releases.seen.empty());
}

TEST(LiveTables, NothingIsReportedOnceReportingStopped) {
  Fixture fixture;
  auto table = fixture.Installed(ViewOf(1, {{10, 4}}));
  fixture.tables->StopReporting();
  table.reset();
  EXPECT_TRUE(fixture.releases.seen.empty());
}

}  // namespace
}  // namespace varve
