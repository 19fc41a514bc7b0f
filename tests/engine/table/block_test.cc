// Blocks by themselves, and readers of bytes that no builder made.
#include <gtest/gtest.h>

#include "engine/base/prng.h"
#include "engine/table/block_builder.h"
#include "engine/table/data_block.h"
#include "engine/table/index_block.h"
#include "engine/table/segment_footer.h"
#include "tests/engine/table/table_fixture.h"

namespace varve {
namespace {

std::string BlockOf(const Entries& entries) {
  BlockBuilder builder;
  for (const auto& [key, value] : entries) {
    builder.Add(key, value);
  }
  return builder.Finish();
}

Entries PrefixedEntries() {
  Entries entries;
  for (uint64_t i = 0; i < 100; ++i) {
    for (uint64_t version = 0; version < 1 + i % 3; ++version) {
      entries[InternalKeyOf("dir/" + NumberedKey(i * 3) + (i % 4 == 0 ? "" : "/child"), 100 + version)] =
          "v" + std::to_string(i) + "." + std::to_string(version);
    }
  }
  return entries;
}

TEST(DataBlock, PointSearchAgreesWithAMap) {
  const Entries entries = PrefixedEntries();
  const std::string block = BlockOf(entries);
  for (uint64_t i = 0; i < 305; ++i) {
    for (const char* suffix : {"", "/", "/child", "/child2"}) {
      for (const uint64_t snapshot : {99u, 100u, 101u, 500u}) {
        const std::string user_key = "dir/" + NumberedKey(i) + suffix;
        const auto expected = entries.lower_bound(SeekKey(user_key, SequenceNumber(snapshot)));
        const FoundVersion found = FindInDataBlock(block, user_key, SequenceNumber(snapshot));
        if (expected == entries.end() || UserKeyOf(expected->first) != user_key) {
          ASSERT_EQ(found.kind, FoundVersion::Kind::kAbsent) << user_key;
        } else {
          ASSERT_EQ(found.kind, FoundVersion::Kind::kFound) << user_key;
          ASSERT_EQ(found.trailer, TrailerOf(expected->first));
          ASSERT_EQ(found.value, expected->second);
        }
      }
    }
  }
  EXPECT_EQ(FindInDataBlock(block, "", SequenceNumber(9)).kind, FoundVersion::Kind::kAbsent);
  EXPECT_EQ(FindInDataBlock(block, "zzz", SequenceNumber(9)).kind, FoundVersion::Kind::kAbsent);
}

TEST(DataBlock, SharedPrefixesSaveSpace) {
  Entries entries;
  uint64_t raw = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    const std::string key = InternalKeyOf("a long common prefix of all keys " + NumberedKey(i), 5);
    entries[key] = "";
    raw += key.size();
  }
  EXPECT_LT(BlockOf(entries).size(), raw / 2);
}

// Everything that a reader can be asked to do with a data block.
void ReadAnything(std::string_view payload) {
  (void)FindInDataBlock(payload, "dir/key000042", SequenceNumber(100));
  DataBlockCursor cursor;
  cursor.Reset(payload);
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
  }
  cursor.Reset(payload);
  int moves = 0;
  for (cursor.SeekToLast(); cursor.Valid() && moves < 200; cursor.Prev(), ++moves) {
  }
  cursor.Reset(payload);
  cursor.Seek(InternalKeyOf("dir/key000042", 100));
}

TEST(DataBlock, BytesThatNobodyWroteNeverCrash) {
  const std::string block = BlockOf(PrefixedEntries());
  Prng prng(9);
  for (size_t length = 0; length < block.size(); length += 7) {
    ReadAnything(block.substr(0, length));
  }
  for (int i = 0; i < 2000; ++i) {
    // A copy of its own on the heap: a sanitizer sees every byte read beyond it.
    std::string changed = block.substr(0, prng.OneIn(4) ? prng.Below(block.size()) : block.size());
    for (uint64_t changes = prng.Between(1, 6); changes > 0 && !changed.empty(); --changes) {
      const size_t from_end = prng.OneIn(2) ? std::min<size_t>(changed.size(), 40) : changed.size();
      changed[changed.size() - 1 - prng.Below(from_end)] = static_cast<char>(prng.Below(256));
    }
    const std::vector<char> exact(changed.begin(), changed.end());
    ReadAnything(std::string_view(exact.data(), exact.size()));
  }
}

std::vector<IndexEntry> ExampleIndex() {
  std::vector<IndexEntry> entries;
  for (uint64_t i = 0; i < 50; ++i) {
    IndexEntry entry;
    entry.smallest = "prefix/" + NumberedKey(i * 10);
    entry.largest = "prefix/" + NumberedKey(i * 10 + 5) + (i % 2 == 0 ? "" : "/more");
    entry.block = BlockHandle{i * 5000, 4100 + static_cast<uint32_t>(i), static_cast<uint32_t>(i * 77777),
                              Generation(i % 3 + 1)};
    entry.entries = i + 1;
    entries.push_back(std::move(entry));
  }
  return entries;
}

TEST(IndexBlock, EntriesSurviveEncoding) {
  const std::vector<IndexEntry> entries = ExampleIndex();
  const std::string payload = EncodeIndexBlock(entries);
  const std::optional<IndexBlock> index = IndexBlock::Parse(payload);
  ASSERT_TRUE(index.has_value());
  ASSERT_EQ(index->size(), entries.size());
  size_t bytes_max = 0;
  for (uint32_t i = 0; i < index->size(); ++i) {
    const std::optional<IndexBlock::Entry> entry = index->At(i);
    ASSERT_TRUE(entry.has_value());
    EXPECT_EQ(index->Copy(*entry), entries[i]);
    bytes_max += IndexEntryBytesMax(entries[i]);
  }
  EXPECT_LE(payload.size(), bytes_max + 16);
}

TEST(IndexBlock, FindsTheBlockAndTheGaps) {
  const std::vector<IndexEntry> entries = ExampleIndex();
  const std::string payload = EncodeIndexBlock(entries);
  const IndexBlock index = *IndexBlock::Parse(payload);
  std::vector<std::string> keys = {"", "a", "pre", "prefix/", "prefiy", "z"};
  for (uint64_t i = 0; i < 510; ++i) {
    keys.push_back("prefix/" + NumberedKey(i));
    keys.push_back("prefix/" + NumberedKey(i) + "/m");
  }
  for (const std::string& key : keys) {
    uint32_t expected = 0;
    while (expected < entries.size() && entries[expected].largest < key) {
      ++expected;
    }
    const std::optional<uint32_t> found = index.LowerBound(key);
    ASSERT_EQ(found, expected) << key;
    if (expected < entries.size()) {
      EXPECT_EQ(index.StartsAfter(*index.At(*found), key), entries[expected].smallest > key) << key;
    }
  }
}

// Keys that end with a number are found by counting: with all numbers there, with a hole, of more than one
// length, and where blocks hold more than one.
TEST(IndexBlock, FindsCountedKeys) {
  const auto key_of = [](uint64_t n) {
    std::string key = "chunk";
    for (int shift = 24; shift >= 0; shift -= 8) {
      key.push_back(static_cast<char>(n >> shift & 0xff));
    }
    return key;
  };
  const auto check = [&](const std::vector<std::string>& largest) {
    std::vector<IndexEntry> entries;
    for (const std::string& key : largest) {
      entries.push_back({key, key, BlockHandle{entries.size() * 4096, 4100, 7, Generation(1)}, 1, false});
    }
    const std::string payload = EncodeIndexBlock(entries);
    const IndexBlock index = *IndexBlock::Parse(payload);
    std::vector<std::string> keys = largest;
    for (uint64_t n = 990; n < 1400; ++n) {
      keys.push_back(key_of(n));
      keys.push_back(key_of(n) + "x");
      keys.push_back(key_of(n).substr(0, 8));
    }
    for (const std::string& key : keys) {
      const auto expected =
          static_cast<uint32_t>(std::lower_bound(largest.begin(), largest.end(), key) - largest.begin());
      ASSERT_EQ(index.LowerBound(key), expected) << testing::PrintToString(key);
    }
  };
  std::vector<std::string> dense, holes, strides, lengths;
  for (uint64_t n = 1000; n < 1300; ++n) {
    dense.push_back(key_of(n));
    if (n % 50 < 30) {
      holes.push_back(key_of(n));
    }
    if (n % 7 == 0) {
      strides.push_back(key_of(n));
    }
    lengths.push_back(key_of(n).substr(0, 8));
    if (n % 256 != 0) {
      lengths.back() = key_of(n) + (n % 3 == 0 ? "tail" : "");
    }
  }
  check(dense);
  check(holes);
  check(strides);
  check(lengths);
  check({key_of(1000)});
}

TEST(IndexBlock, BytesThatNobodyWroteNeverCrash) {
  const std::string payload = EncodeIndexBlock(ExampleIndex());
  Prng prng(11);
  for (int i = 0; i < 5000; ++i) {
    std::vector<char> changed(
        payload.begin(), payload.begin() + static_cast<ptrdiff_t>(prng.OneIn(4) ? prng.Below(payload.size())
                                                                                : payload.size()));
    for (uint64_t changes = prng.Between(1, 6); changes > 0 && !changed.empty(); --changes) {
      changed[prng.Below(changed.size())] = static_cast<char>(prng.Below(256));
    }
    const std::optional<IndexBlock> index =
        IndexBlock::Parse(std::string_view(changed.data(), changed.size()));
    if (!index) {
      continue;
    }
    (void)index->LowerBound("prefix/key000123");
    if (const std::optional<IndexBlock::Entry> first = index->At(0)) {
      (void)index->LowerBound(index->Copy(*first).largest);
    }
    for (uint32_t at = 0; at < index->size(); ++at) {
      const std::optional<IndexBlock::Entry> entry = index->At(at);
      if (entry) {
        (void)index->StartsAfter(*entry, "prefix/key000123");
        (void)index->Copy(*entry);
      }
    }
  }
}

TEST(SegmentFooter, BytesThatNobodyWroteNeverCrash) {
  SegmentDescriptor descriptor;
  descriptor.smallest = InternalKeyOf("a", 1);
  descriptor.largest = InternalKeyOf("b", 1);
  const FilterGeometry geometry = FilterGeometry::For(10000, 10);
  const std::vector<BlockHandle> pages(geometry.pages, BlockHandle{100, 4105, 7, Generation(1)});
  std::string payload;
  AppendFooter(payload, StoreUuid{1}, TableId(1), Generation(1), 0, descriptor, geometry, pages,
               EncodeIndexBlock(ExampleIndex()), 1);
  ASSERT_TRUE(SegmentFooter::Parse(payload).has_value());
  Prng prng(13);
  for (int i = 0; i < 20000; ++i) {
    std::vector<char> changed(payload.begin(), payload.end());
    for (uint64_t changes = prng.Between(1, 3); changes > 0; --changes) {
      changed[prng.Below(prng.OneIn(2) ? 176 : changed.size())] = static_cast<char>(prng.Below(256));
    }
    const std::optional<SegmentFooter> footer =
        SegmentFooter::Parse(std::string_view(changed.data(), changed.size()));
    if (footer && footer->has_filter()) {
      (void)footer->FilterPage(footer->filter().PageOf(prng.Next()));
      (void)footer->FilterPage(footer->filter().pages - 1);
    }
  }
}

}  // namespace
}  // namespace varve
