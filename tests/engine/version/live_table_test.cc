#include "engine/version/live_table.h"

#include <gtest/gtest.h>

#include "tests/support/table_views.h"

namespace varve {
namespace {

// What a merge takes up in the time of a seek's read.
constexpr uint64_t kSeekBytes = 16 * kKiB;

struct Releases final : TableObserver {
  struct Release {
    TableId id;
    std::vector<Extent> unreferenced;
    bool is_last;
  };
  std::vector<Release> seen;
  int paid = 0;

  void OnReadersHavePaid() override { ++paid; }

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

TEST(LiveTables, ReadersPayForSegmentsUntilTheTableIsWorthAMerge) {
  Fixture fixture;
  TableView view = ViewOf(1, {{10, 40}});
  const auto plain = fixture.Installed(view);
  for (int i = 0; i < 100'000; ++i) {
    plain->CountSeek();
  }
  EXPECT_FALSE(plain->ReadersHavePaid());
  view.id = TableId(2);
  view.segments.push_back(view.segments.front());
  view.segments.push_back(view.segments.front());
  const auto table = fixture.Installed(view);
  const uint64_t price = view.live_bytes();
  uint64_t seeks = 0;
  while (!table->ReadersHavePaid()) {
    EXPECT_EQ(fixture.releases.paid, 0);
    EXPECT_EQ(table->read_much(), seeks * 2 * kSeekBytes >= price / 2);
    table->CountSeek();
    ++seeks;
  }
  // Two segments beyond the first.
  EXPECT_EQ(seeks, CeilDiv(price, 2 * kSeekBytes));
  for (int i = 0; i < 100; ++i) {
    table->CountGet();
  }
  EXPECT_EQ(fixture.releases.paid, 1);
}

TEST(LiveTables, ReadersPayForATableOfLevel0AgainAndAgain) {
  Fixture fixture;
  const auto table = fixture.Installed(ViewOf(1, {{10, 40}}));
  const uint64_t seeks_for_price = CeilDiv(table->valid_bytes(), kSeekBytes);
  for (uint64_t i = 0; i < 3 * seeks_for_price; ++i) {
    table->CountSeek(true);
  }
  EXPECT_EQ(table->paid_bytes(), 3 * seeks_for_price * kSeekBytes);
  // Each time that they have paid as much as it holds they say so: what a merge costs depends on others.
  EXPECT_EQ(fixture.releases.paid, table->paid_bytes() / table->valid_bytes());
  EXPECT_FALSE(table->ReadersHavePaid());
}

TEST(LiveTables, WhatReadersPaidCountsOnAfterAnAppendAndNotAfterAMerge) {
  Fixture fixture;
  TableView view = ViewOf(1, {{10, 40}});
  view.segments.push_back(view.segments.front());
  const auto two = fixture.Installed(view);
  while (!two->read_much()) {
    two->CountSeek();
  }
  view.generation = view.generation.Next();
  view.segments.push_back(view.segments.front());
  const auto three = fixture.Installed(view);
  uint64_t seeks = 0;
  for (; !three->ReadersHavePaid(); ++seeks) {
    three->CountSeek();
  }
  EXPECT_LT(seeks, CeilDiv(view.live_bytes(), 2 * kSeekBytes));
  view.generation = view.generation.Next();
  view.segments.resize(1);
  EXPECT_FALSE(fixture.Installed(view)->ReadersHavePaid());
  view.generation = view.generation.Next();
  view.segments.resize(2, view.segments.front());
  EXPECT_FALSE(fixture.Installed(view)->read_much());
}

TEST(LiveTables, ATableHasOneGenerationOnceTheOthersAreLetGo) {
  Fixture fixture;
  EXPECT_FALSE(fixture.tables->HasOneGeneration(TableId(1)));
  auto first = fixture.Installed(ViewOf(1, {{10, 4}}));
  EXPECT_TRUE(fixture.tables->HasOneGeneration(TableId(1)));
  auto second = fixture.Installed(ViewOf(2, {{10, 4}}));
  EXPECT_FALSE(fixture.tables->HasOneGeneration(TableId(1)));
  first.reset();
  EXPECT_TRUE(fixture.tables->HasOneGeneration(TableId(1)));
}

TEST(LiveTables, InstalledGenerationsAreCountedOnce) {
  Fixture fixture;
  auto first = fixture.Installed(ViewOf(1, {{10, 4}}));
  // A move installs it again.
  fixture.tables->MarkInstalled(first->id(), first->generation());
  auto second = fixture.Installed(ViewOf(2, {{10, 4}}));
  EXPECT_EQ(fixture.tables->installed_count(), 2U);
  first.reset();
  EXPECT_EQ(fixture.tables->installed_count(), 1U);
}

}  // namespace
}  // namespace varve
