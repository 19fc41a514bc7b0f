#include "engine/store/read_order.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/table_views.h"

namespace varve {
namespace {

// The order in which the tables are asked, each with a * where it lies beside its Tree.
std::string AskedFor(const Version& version, std::string_view key) {
  std::string asked;
  TableReadOrder order(version);
  for (TableToAsk next = order.Next(key); next.table != nullptr; next = order.Next(key)) {
    asked += std::to_string(next.table->id().value) + (next.beside_tree ? "* " : " ");
  }
  return asked;
}

TEST(TableReadOrder, GoesThroughLevel0ThenEachTreeAndItsLogNewestFirst) {
  FakeVersion version;
  const auto add = [&](Place place, uint64_t id, std::string smallest, std::string largest) {
    FakeTable table;
    table.id = id;
    table.smallest = std::move(smallest);
    table.largest = std::move(largest);
    version.Add(place, MakeView(table));
  };
  add({0, Part::kLevel0}, 1, "a", "z");
  add({0, Part::kLevel0}, 2, "c", "d");
  add({1, Part::kLog}, 13, "a", "m");
  add({1, Part::kLog}, 12, "d", "k");
  add({1, Part::kLog}, 11, "f", "z");
  add({1, Part::kTree}, 19, "a", "e");
  add({2, Part::kLog}, 21, "c", "c");
  add({3, Part::kTree}, 31, "a", "z");
  const Version built = version.Build();
  EXPECT_EQ(AskedFor(built, "c"), "2* 1* 19 13* 21* 31 ");
  EXPECT_EQ(AskedFor(built, "d"), "2* 1* 19 12* 13* 31 ");
  EXPECT_EQ(AskedFor(built, "g"), "1* 11* 12* 13* 31 ");
  EXPECT_EQ(AskedFor(built, "n"), "1* 11* 31 ");
  EXPECT_EQ(AskedFor(built, "zz"), "");
}

}  // namespace
}  // namespace varve
