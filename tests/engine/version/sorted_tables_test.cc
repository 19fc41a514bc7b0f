#include "engine/version/sorted_tables.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>

#include "engine/base/prng.h"
#include "tests/support/table_views.h"

namespace varve {
namespace {

std::string Key(uint64_t n) {
  return fmt::format("{:08}", n);
}

std::shared_ptr<const LiveTable> TableOf(uint64_t id, uint64_t low, uint64_t high) {
  return MakeTable({.id = id, .smallest = Key(low), .largest = Key(high), .bytes = 100 + id});
}

TableName NameOf(const LiveTable& table) {
  return {table.id(), table.generation(), std::string(table.smallest_key())};
}

std::vector<uint64_t> IdsOf(const SortedTables& tables) {
  std::vector<uint64_t> ids;
  for (auto cursor = tables.First(); cursor.Valid(); cursor.Next()) {
    ids.push_back(cursor->id().value);
  }
  return ids;
}

SortedTables Filled(uint64_t tables) {
  std::vector<std::shared_ptr<const LiveTable>> added;
  for (uint64_t i = 0; i < tables; ++i) {
    added.push_back(TableOf(i + 1, i * 10, i * 10 + 5));
  }
  return SortedTables().Edited({}, std::move(added)).value();
}

TEST(SortedTables, FindsTheOneTableThatCoversAKey) {
  const SortedTables tables = Filled(1000);
  for (uint64_t key = 0; key < 10000; ++key) {
    const LiveTable* found = tables.Find(Key(key));
    if (key % 10 <= 5) {
      ASSERT_NE(found, nullptr) << key;
      EXPECT_EQ(found->id().value, key / 10 + 1);
    } else {
      EXPECT_EQ(found, nullptr) << key;
    }
  }
}

TEST(SortedTables, ListsWhatOverlapsARangeWithBothEndsIncluded) {
  const SortedTables tables = Filled(300);
  EXPECT_EQ(tables.Overlapping({Key(25), Key(40)}).size(), 3u);
  EXPECT_EQ(tables.Overlapping({Key(26), Key(29)}).size(), 0u);
  EXPECT_FALSE(tables.AnyOverlaps({Key(26), Key(29)}));
  EXPECT_TRUE(tables.AnyOverlaps({Key(26), Key(30)}));
  EXPECT_EQ(tables.Overlapping({"", "~"}).size(), 300u);
}

TEST(SortedTables, RandomEditsAgreeWithAMapAndWalkBothWays) {
  Prng prng(7);
  SortedTables tables;
  std::map<uint64_t, std::shared_ptr<const LiveTable>> model;  // by slot
  uint64_t next_id = 1;
  for (int round = 0; round < 300; ++round) {
    std::vector<TableName> removed;
    std::vector<std::shared_ptr<const LiveTable>> added;
    for (uint64_t slot = prng.Below(1000), end = slot + prng.Below(40); slot < end; ++slot) {
      const auto there = model.find(slot);
      if (there != model.end() && !prng.OneIn(3)) {
        removed.push_back(NameOf(*there->second));
        model.erase(there);
      }
      if (!model.contains(slot) && !prng.OneIn(4)) {
        const uint64_t low = slot * 10 + prng.Below(5);
        model[slot] = TableOf(next_id++, low, low + prng.Below(5));
        added.push_back(model[slot]);
      }
    }
    Result<SortedTables> edited = tables.Edited(removed, added);
    ASSERT_TRUE(edited.ok()) << edited.ToString();
    tables = std::move(edited).value();
    std::vector<uint64_t> expected;
    TableTotals totals;
    for (const auto& [slot, table] : model) {
      expected.push_back(table->id().value);
      totals.Add(*table);
    }
    ASSERT_EQ(IdsOf(tables), expected);
    EXPECT_EQ(tables.size(), model.size());
    EXPECT_EQ(tables.totals().valid_bytes, totals.valid_bytes);
    std::vector<uint64_t> backward;
    for (auto cursor = tables.Last(); cursor.Valid(); cursor.Prev()) {
      backward.insert(backward.begin(), cursor->id().value);
    }
    ASSERT_EQ(backward, expected);
  }
}

TEST(SortedTables, AnEditOfOneTableLeavesTheOldValueAsItWas) {
  const SortedTables before = Filled(500);
  const SortedTables after = before.Edited({NameOf(*before.Find(Key(2500)))}, {}).value();
  EXPECT_EQ(before.size(), 500u);
  EXPECT_NE(before.Find(Key(2500)), nullptr);
  EXPECT_EQ(after.size(), 499u);
  EXPECT_EQ(after.Find(Key(2500)), nullptr);
}

TEST(SortedTables, OverlapIsRefusedWhereverItLies) {
  const SortedTables tables = Filled(300);
  for (const uint64_t at : {uint64_t{0}, uint64_t{1280}, uint64_t{1500}, uint64_t{2990}}) {
    EXPECT_TRUE(tables.Edited({}, {TableOf(999, at + 5, at + 7)}).Is(ErrorCode::kCorruption)) << at;
    EXPECT_TRUE(tables.Edited({}, {TableOf(999, at + 6, at + 7)}).ok()) << at;
  }
  EXPECT_TRUE(tables.Edited({}, {TableOf(999, 6, 2996)}).Is(ErrorCode::kCorruption));
  EXPECT_TRUE(
      tables.Edited({}, {TableOf(998, 3001, 3005), TableOf(999, 3005, 3009)}).Is(ErrorCode::kCorruption));
}

TEST(SortedTables, RemovingWhatIsNotThereIsRefused) {
  const SortedTables tables = Filled(3);
  TableName name = NameOf(*tables.Find(Key(10)));
  name.generation = Generation(2);
  EXPECT_TRUE(tables.Edited({name}, {}).Is(ErrorCode::kCorruption));
  EXPECT_TRUE(SortedTables().Edited({name}, {}).Is(ErrorCode::kCorruption));
}

}  // namespace
}  // namespace varve
