#include "engine/store/read_order.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/version/version_edit.h"
#include "tests/support/table_views.h"

namespace varve {
namespace {

// The order in which the tables are asked, each with a * where it lies beside its Tree.
std::string AskedFor(const Version& version, std::string_view key) {
  std::string asked;
  TableReadOrder order(version);
  while (const LiveTable* const table = order.Next(key)) {
    asked += std::to_string(table->id().value) + (order.beside_tree() ? "* " : " ");
  }
  return asked;
}

TEST(TableReadOrder, GoesThroughLevel0ThenEachTreeAndItsLogNewestFirst) {
  const auto live = std::make_shared<LiveTables>(nullptr);
  VersionEdit edit;
  const auto add = [&](Place place, uint64_t id, std::string smallest, std::string largest) {
    FakeTable table;
    table.id = id;
    table.smallest = std::move(smallest);
    table.largest = std::move(largest);
    edit.added_tables.push_back({place, InstallStamp(edit.added_tables.size() + 1), MakeView(table)});
  };
  add({0, Part::kLevel0}, 1, "a", "z");
  add({0, Part::kLevel0}, 2, "c", "d");
  add({1, Part::kLog}, 13, "a", "m");
  add({1, Part::kLog}, 12, "d", "k");
  add({1, Part::kLog}, 11, "f", "z");
  add({1, Part::kTree}, 19, "a", "e");
  add({2, Part::kLog}, 21, "c", "c");
  add({3, Part::kTree}, 31, "a", "z");
  edit.next_stamp = InstallStamp(edit.added_tables.size() + 1);
  const Result<Version> version = ApplyVersionEdit(Version(), edit, *live);
  ASSERT_TRUE(version.ok()) << version.ToString();
  EXPECT_EQ(AskedFor(*version, "c"), "2* 1* 19 13* 21* 31 ");
  EXPECT_EQ(AskedFor(*version, "d"), "2* 1* 19 12* 13* 31 ");
  EXPECT_EQ(AskedFor(*version, "g"), "1* 11* 12* 13* 31 ");
  EXPECT_EQ(AskedFor(*version, "n"), "1* 11* 31 ");
  EXPECT_EQ(AskedFor(*version, "zz"), "");
}

}  // namespace
}  // namespace varve
