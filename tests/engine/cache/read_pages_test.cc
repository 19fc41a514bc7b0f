#include "engine/cache/read_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "engine/cache/block_cache.h"

namespace varve {
namespace {

constexpr uint32_t kBlockBytes = 4000;

BlockKey KeyOf(uint64_t n) {
  return BlockKey{TableId(1), Generation(1), n * kBlockBytes};
}

// A read of so many blocks, of which each byte is its number.
ReadRun ReadOf(ReadPages& pages, size_t blocks) {
  ReadRun run = pages.Take(RoundUp(blocks * kBlockBytes, 512));
  for (size_t i = 0; i < blocks; ++i) {
    std::memset(run.span().data() + i * kBlockBytes, static_cast<int>(i), kBlockBytes);
  }
  return run;
}

bool IsBlock(const BlockRef& block, size_t n) {
  return block && block.bytes() == std::string(kBlockBytes, static_cast<char>(n));
}

TEST(ReadPages, BlocksOutliveTheReadAndThePages) {
  for (const uint64_t cache_bytes : {ReadPages::kCacheBytesMin - 1, ReadPages::kCacheBytesMin}) {
    std::vector<BlockRef> blocks;
    {
      ReadPages pages(cache_bytes);
      const ReadRun run = ReadOf(pages, 10);
      for (uint32_t i = 0; i < 10; ++i) {
        blocks.push_back(run.Block(i * kBlockBytes, kBlockBytes));
      }
    }
    for (size_t i = 0; i < 10; ++i) {
      EXPECT_TRUE(IsBlock(blocks[i], i)) << i;
    }
  }
}

TEST(ReadRuns, BlocksThatPassLieWhereTheyWereReadAndBlocksThatStayDoNot) {
  for (const bool pass : {true, false}) {
    std::vector<BlockRef> blocks;
    {
      ReadRun run =
          pass ? ReadRun::ForBlocksThatPass(4 * 512, 512) : ReadRun::ForBlocksThatStay(4 * 512, 512);
      ASSERT_EQ(run.span().size(), 4U * 512);
      std::memset(run.span().data(), 'a', 2 * 512);
      std::memset(run.span().data() + 2 * 512, 'b', 2 * 512);
      blocks = {run.Block(100, 900), run.Block(2 * 512, 1000)};
      EXPECT_EQ(blocks[0].is_apart(), pass);
      EXPECT_EQ(blocks[0].bytes().data() == run.view().data() + 100, pass);
      // One that takes the place of another lets go of it.
      ReadRun other = ReadRun::ForBlocksThatPass(512, 512);
      other = std::move(run);
      EXPECT_EQ(other.Block(0, 1).bytes(), "a");
    }
    EXPECT_EQ(blocks[0].bytes(), std::string(900, 'a'));
    EXPECT_EQ(blocks[1].bytes(), std::string(1000, 'b'));
  }
}

TEST(ReadPages, ReadsThatArriveTogetherDoNotShareBytes) {
  ReadPages pages(ReadPages::kCacheBytesMin);
  std::vector<ReadRun> runs;
  // More than two pages; one read is larger than a page.
  for (size_t i = 0; i < 40; ++i) {
    runs.push_back(pages.Take(i == 20 ? 3 * kMiB : 130 * kKiB));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(runs.back().span().data()) % AlignedBuffer::kAlignment, 0u);
    std::memset(runs.back().span().data(), static_cast<int>(i), runs.back().span().size());
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i].Block(0, kBlockBytes).bytes(), std::string(kBlockBytes, static_cast<char>(i))) << i;
  }
}

TEST(ReadPages, SmallCachesGetCopies) {
  ReadPages small(ReadPages::kCacheBytesMin - 1);
  EXPECT_FALSE(ReadOf(small, 1).Block(0, kBlockBytes).is_apart());
  EXPECT_FALSE(small.BeginPreparing());
  ReadPages large(ReadPages::kCacheBytesMin);
  EXPECT_TRUE(ReadOf(large, 1).Block(0, kBlockBytes).is_apart());
}

// Whether nobody waits for the kernel who reads into it.
bool IsResident(ReadRun run) {
  unsigned char resident[ReadPage::kBytes / 4096] = {};
  EXPECT_EQ(mincore(run.span().data(), run.span().size(), resident), 0);
  return resident[0] == 1;
}

TEST(ReadPages, TheNextPageIsPreparedOnce) {
  ReadPages pages(ReadPages::kCacheBytesMin);
  EXPECT_FALSE(IsResident(pages.Take(ReadPage::kBytes)));
  ASSERT_TRUE(pages.BeginPreparing());
  EXPECT_FALSE(pages.BeginPreparing());  // it is being made
  pages.Prepare();
  EXPECT_FALSE(pages.BeginPreparing());  // it is ready
  EXPECT_TRUE(IsResident(pages.Take(4096)));
  EXPECT_TRUE(pages.BeginPreparing());
  // Who does not wait for it makes another.
  EXPECT_FALSE(IsResident(pages.Take(ReadPage::kBytes)));
  pages.Prepare();
  EXPECT_TRUE(IsResident(pages.Take(ReadPage::kBytes)));
}

// Else one block that is used again and again would hold a whole page.
TEST(ReadPages, ABlockThatProvesItselfLeavesItsPage) {
  BlockCache cache(1 * kMiB, 1);
  ReadPages pages(ReadPages::kCacheBytesMin);
  {
    const ReadRun run = ReadOf(pages, 200);
    for (uint32_t i = 0; i < 200; ++i) {
      cache.Insert(KeyOf(i), BlockKind::kData, run.Block(i * kBlockBytes, kBlockBytes));
      if (i == 100) {
        EXPECT_TRUE(cache.Peek(KeyOf(100)).is_apart());
      }
      (void)cache.Lookup(KeyOf(100), BlockKind::kData);
    }
    for (uint32_t i = 0; i < 200; ++i) {
      cache.Insert(KeyOf(1000 + i), BlockKind::kData, run.Block(i * kBlockBytes, kBlockBytes));
    }
  }
  const BlockRef proven = cache.Peek(KeyOf(100));
  ASSERT_TRUE(IsBlock(proven, 100));
  EXPECT_FALSE(proven.is_apart());
  EXPECT_FALSE(cache.Peek(KeyOf(99)));
}

TEST(ReadPages, ABlockThatIsHeldOrOfTheIndexLeavesItsPage) {
  BlockCache cache(1 * kMiB, 1);
  ReadPages pages(ReadPages::kCacheBytesMin);
  const ReadRun run = ReadOf(pages, 2);
  cache.Insert(KeyOf(0), BlockKind::kData, run.Block(0, kBlockBytes));
  cache.Insert(KeyOf(1), BlockKind::kIndex, run.Block(kBlockBytes, kBlockBytes));
  EXPECT_FALSE(cache.Peek(KeyOf(1)).is_apart());
  EXPECT_TRUE(IsBlock(cache.Peek(KeyOf(1)), 1));
  HeldBlock held;
  while (!held) {
    EXPECT_TRUE(IsBlock(cache.LookupToHold(KeyOf(0), BlockKind::kData, held), 0));
  }
  EXPECT_FALSE(cache.Peek(KeyOf(0)).is_apart());
}

TEST(ReadPages, AReadThatIsGivenUpIsAnothers) {
  BlockCache cache(1 * kMiB);
  const BlockCache::ReadTicket first = cache.JoinRead(KeyOf(0));
  const BlockCache::ReadTicket second = cache.JoinRead(KeyOf(0));
  EXPECT_TRUE(first.leads);
  EXPECT_FALSE(second.leads);
  EXPECT_TRUE(cache.IsBeingRead(KeyOf(0)));
  cache.AbandonRead(KeyOf(0), first);
  EXPECT_TRUE(second.read->done.IsSet());
  EXPECT_FALSE(second.read->result.has_value());
  EXPECT_FALSE(cache.IsBeingRead(KeyOf(0)));
  EXPECT_TRUE(cache.JoinRead(KeyOf(0)).leads);
}

}  // namespace
}  // namespace varve
