// Long keys in an index: as much of them as tells blocks apart, and no more.
#include "engine/table/index_keys.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/base/common_prefix.h"
#include "engine/base/prng.h"
#include "engine/table/index_builder.h"
#include "engine/table/segment_layout.h"
#include "tests/engine/table/table_fixture.h"

namespace varve {
namespace {

std::string Smallest(std::string key, std::string_view before, size_t bytes_min = 0) {
  ShortenSmallest(key, before, bytes_min);
  return key;
}
std::string Largest(std::string key, std::string_view behind, size_t bytes_min = 0) {
  ShortenLargest(key, behind, bytes_min);
  return key;
}

TEST(IndexKeys, AreShortenedToWhatTellsThemApart) {
  const std::string zeros(20, '0');
  EXPECT_EQ(Smallest(zeros + "bcd", zeros + "abc"), zeros + "b");
  EXPECT_EQ(Largest(zeros + "abc", zeros + "bcd"), zeros + "ac");
  EXPECT_EQ(Smallest(zeros + "bcd", zeros + "abc", 22), zeros + "bc");
  EXPECT_EQ(Largest(zeros + "abcde", zeros + "bcd", 23), zeros + "abce");
  EXPECT_EQ(Largest(zeros + "a\xff\xff" + "bc", zeros + "b"), zeros + "a\xff\xff" + "c");
  EXPECT_EQ(Largest(zeros + "a\xff\xff", zeros + "b"), zeros + "a\xff\xff");
}

TEST(IndexKeys, ShortOnesAndTheBeginningsOfLongOnesStay) {
  const std::string chunk = std::string("\x03\0\0\0\0\0\0\0\x07", 9) + std::string("\0\0\0\0\0\0\0\x09", 8);
  EXPECT_EQ(Smallest(chunk, "a"), chunk);
  EXPECT_EQ(Largest(chunk, "z"), chunk);
  EXPECT_EQ(Smallest(std::string(100, 'b'), "a").size(), kIndexKeyBytesMin);
  EXPECT_EQ(Largest(std::string(100, 'b'), "c"), std::string(kIndexKeyBytesMin - 1, 'b') + "c");
  EXPECT_EQ(Smallest(std::string(100, 'b'), "a", SIZE_MAX), std::string(100, 'b'));
  EXPECT_EQ(Largest(std::string(100, 'b'), "c", SIZE_MAX), std::string(100, 'b'));
}

TEST(IndexKeys, AtRandomStayOnTheirSides) {
  Prng prng(1);
  const auto random_key = [&] {
    std::string key(prng.OneIn(2) ? 18 : 0, 'k');
    for (uint64_t length = prng.Below(10); length > 0; --length) {
      key.push_back(static_cast<char>(prng.OneIn(3) ? 0xff : 'a' + prng.Below(2)));
    }
    return key;
  };
  for (int i = 0; i < 100'000; ++i) {
    std::string before = random_key();
    std::string behind = random_key();
    if (before == behind) {
      continue;
    }
    if (behind < before) {
      std::swap(before, behind);
    }
    const size_t bytes_min = prng.Below(30);
    const std::string largest = Largest(before, behind, bytes_min);
    const std::string smallest = Smallest(behind, largest, bytes_min);
    ASSERT_LE(before, largest);
    ASSERT_LT(largest, smallest);
    ASSERT_LE(smallest, behind);
    ASSERT_EQ(smallest.substr(0, bytes_min), behind.substr(0, bytes_min));
    ASSERT_GE(CommonPrefixOf(largest, before), std::min(bytes_min, before.size()));
  }
}

// 128-byte keys that tell themselves apart early, four to a block.
Entries Long(uint64_t count) {
  Entries entries;
  for (uint64_t i = 0; i < count; ++i) {
    entries[InternalKeyOf(NumberedKey(2 * i) + std::string(118, '0'), i + 1)] = std::string(896, 'v');
  }
  return entries;
}

TEST(IndexKeys, AnIndexOfLongKeysIsSmall) {
  TableFixture fixture;
  const Entries entries = Long(4000);
  SegmentOptions options;
  options.bits_per_key = 0;
  const TableView view = fixture.Build(entries, options);
  options.short_index_keys = false;
  const TableView whole = fixture.Build(entries, options);
  const uint64_t blocks = view.segments[0].data_blocks;
  EXPECT_LT(view.meta_bytes() / blocks, 70U);
  EXPECT_GT(whole.meta_bytes() / blocks, 250U);
  EXPECT_EQ(fixture.Verify(view), std::vector<std::string>());
  EXPECT_EQ(fixture.Verify(whole), std::vector<std::string>());
  const SegmentLayout layout =
      fixture.Run(ReadSegmentLayout(fixture.environment, view, 0, IoPurpose::kCheck)).value();
  // The ends are the table's.
  EXPECT_EQ(layout.blocks.front().smallest, view.smallest);
  EXPECT_EQ(layout.blocks.back().largest, view.largest);
  // Keys that are there, and keys that lie between blocks.
  for (uint64_t i = 0; i < 4000; ++i) {
    const Result<TableLookup> there = fixture.Get(view, NumberedKey(2 * i) + std::string(118, '0'));
    ASSERT_TRUE(there.ok() && there->kind == TableLookup::Kind::kValue) << i;
    const Result<TableLookup> between = fixture.Get(view, NumberedKey(2 * i + 1));
    ASSERT_TRUE(between.ok() && between->kind == TableLookup::Kind::kAbsent) << i;
  }
}

}  // namespace
}  // namespace varve
