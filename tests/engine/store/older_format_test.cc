// Stores of the format before: they are read and written as they are, and whoever made them can read them.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/space/superblock_store.h"
#include "engine/store/check_store.h"
#include "engine/store/store_at_rest.h"
#include "engine/table/block_reader.h"
#include "engine/table/segment_footer.h"
#include "engine/table/segment_layout.h"
#include "engine/table/table_format.h"
#include "tests/engine/store/store_harness.h"

namespace varve::testing {
namespace {

class NoProblems final : public CheckObserver {
 public:
  void OnProblem(StoreProblem problem) override { ADD_FAILURE() << problem.what; }
  void OnProgress(uint64_t /*done_bytes*/, uint64_t /*total_bytes*/) override {}
};

class OlderFormat : public ::testing::Test {
 protected:
  static std::string KeyOf(int n) { return std::to_string(1000 + n) + std::string(100, 'k'); }

  StoreAtRest AtRest() { return h_.Run(ReadStoreAtRest(h_.device(), nullptr)).value(); }

  // An empty store is told what it is.
  void SetFormat(uint32_t version) {
    Superblock superblock = AtRest().superblock;
    superblock.format_version = version;
    SuperblockStore superblocks(h_.device());
    ASSERT_TRUE(h_.Run(superblocks.Load()).ok());
    ASSERT_TRUE(h_.Run(superblocks.Update(superblock)).ok());
  }

  // Puts, and merges down, what becomes some tables.
  void Fill(uint64_t round) {
    ASSERT_TRUE(h_.Open(SmallStoreOptions()).ok());
    for (int n = 0; n < 200; ++n) {
      ASSERT_TRUE(h_.Put(KeyOf(n), std::to_string(round) + std::string(1000, 'v')).ok());
    }
    ASSERT_TRUE(h_.Run(h_.store().Settle()).ok());
    ASSERT_TRUE(h_.Close().ok());
  }

  // How many segments have footers of that version.
  uint64_t FootersOf(bool whole_keys) {
    const StoreAtRest store = AtRest();
    BlockCache cache(0);
    const TableEnvironment environment{h_.device(), cache, store.superblock.uuid};
    uint64_t count = 0;
    store.manifest.version.ForEachTable([&](const LiveTable& table) {
      for (const SegmentDescriptor& segment : table.view().segments) {
        const BlockRef block = h_.Run(ReadBlock(environment, table.view(), segment.footer, BlockKind::kFooter,
                                                IoPurpose::kCheck, false))
                                   .value();
        count += SegmentFooter::Parse(PayloadOf(block.bytes()))->has_whole_keys() == whole_keys ? 1 : 0;
      }
    });
    return count;
  }

  // How many entries of indexes have outlines.
  uint64_t Outlines() {
    const StoreAtRest store = AtRest();
    BlockCache cache(0);
    const TableEnvironment environment{h_.device(), cache, store.superblock.uuid};
    uint64_t count = 0;
    store.manifest.version.ForEachTable([&](const LiveTable& table) {
      for (uint32_t i = 0; i < table.view().segments.size(); ++i) {
        const SegmentLayout layout =
            h_.Run(ReadSegmentLayout(environment, table.view(), i, IoPurpose::kCheck)).value();
        count += std::count_if(layout.blocks.begin(), layout.blocks.end(),
                               [](const IndexEntry& entry) { return !entry.outline.empty(); });
      }
    });
    return count;
  }

  StoreHarness h_;
};

TEST_F(OlderFormat, ANewStoreIsOfTheNewOne) {
  Fill(0);
  EXPECT_EQ(FootersOf(true), 0U);
  EXPECT_GT(FootersOf(false), 0U);
}

// Who knows no later format would drop them, and check nothing of what they say.
TEST_F(OlderFormat, TablesOfAStoreOfTheFormatBeforeHaveNoOutlines) {
  StoreOptions options = SmallStoreOptions();
  options.outlines = {"1", 8};
  ASSERT_TRUE(h_.Open(options).ok());
  ASSERT_TRUE(h_.Close().ok());
  SetFormat(superblock_format::kFormatVersionWithoutOutlines);
  const auto fill = [&] {
    ASSERT_TRUE(h_.Open(options).ok());
    for (int n = 0; n < 200; ++n) {
      ASSERT_TRUE(h_.Put(std::to_string(1000 + n), std::string(1000, 'v')).ok());
    }
    ASSERT_TRUE(h_.Run(h_.store().Settle()).ok());
    ASSERT_TRUE(h_.Close().ok());
  };
  fill();
  EXPECT_EQ(FootersOf(true), 0U);
  EXPECT_EQ(Outlines(), 0U);
  SetFormat(superblock_format::kFormatVersion);
  fill();
  EXPECT_GT(Outlines(), 0U);
}

TEST_F(OlderFormat, TablesOfAnOlderStoreHaveIndexesThatItsMakerKnows) {
  ASSERT_TRUE(h_.Open(SmallStoreOptions()).ok());
  ASSERT_TRUE(h_.Close().ok());
  SetFormat(superblock_format::kFormatVersionOfWholeKeys);
  for (uint64_t round = 1; round < 3; ++round) {
    Fill(round);
    EXPECT_GT(FootersOf(true), 0U);
    EXPECT_EQ(FootersOf(false), 0U);
    EXPECT_EQ(AtRest().superblock.format_version, superblock_format::kFormatVersionOfWholeKeys);
    NoProblems observer;
    EXPECT_TRUE(h_.Run(CheckStore(h_.device(), CheckDepth::kOrder, observer)).ok());
  }
  ASSERT_TRUE(h_.Open(SmallStoreOptions()).ok());
  EXPECT_EQ(h_.Scan().size(), 200U);
}

// Footers of both versions stand side by side where a table of whole keys is read by who writes short ones.
TEST_F(OlderFormat, TablesOfBothVersionsAreReadTogether) {
  ASSERT_TRUE(h_.Open(SmallStoreOptions()).ok());
  ASSERT_TRUE(h_.Close().ok());
  SetFormat(superblock_format::kFormatVersionOfWholeKeys);
  Fill(0);
  SetFormat(superblock_format::kFormatVersion);
  ASSERT_TRUE(h_.Open(SmallStoreOptions()).ok());
  for (int n = 0; n < 200; n += 7) {
    ASSERT_TRUE(h_.Put(KeyOf(n), "new").ok());
  }
  ASSERT_TRUE(h_.Run(h_.store().Settle()).ok());
  EXPECT_EQ(h_.Scan().size(), 200U);
  ASSERT_TRUE(h_.Close().ok());
  EXPECT_GT(FootersOf(false), 0U);
  NoProblems observer;
  EXPECT_TRUE(h_.Run(CheckStore(h_.device(), CheckDepth::kOrder, observer)).ok());
}

}  // namespace
}  // namespace varve::testing
