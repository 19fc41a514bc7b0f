#include "engine/cache/passing_pages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/huge_page_pool.h"

namespace varve {
namespace {

constexpr uint64_t kTwoPages = 2 * HugePagePool::kPageBytes * PassingPages::kCacheShare;

bool IsPage(ReadRun& run) {
  return reinterpret_cast<uintptr_t>(run.span().data()) % HugePagePool::kPageBytes == 0;
}

TEST(PassingPages, ALongReadLiesInAPageAndTheNextInTheSame) {
  PassingPages pages(kTwoPages);
  const std::byte* first = nullptr;
  for (int i = 0; i < 3; ++i) {
    ReadRun run = pages.Take(1 * kMiB + 512, 512);
    EXPECT_EQ(run.span().size(), 1 * kMiB + 512);
    EXPECT_TRUE(IsPage(run));
    EXPECT_TRUE(i == 0 || run.span().data() == first);
    first = run.span().data();
  }
  EXPECT_EQ(pages.page_bytes(), HugePagePool::kPageBytes);
}

TEST(PassingPages, ReadsBeyondTheirShareHaveBuffers) {
  PassingPages pages(kTwoPages);
  std::vector<ReadRun> runs;
  for (int i = 0; i < 5; ++i) {
    runs.push_back(pages.Take(1 * kMiB, 512));
    std::memset(runs.back().span().data(), 'a' + i, 1 * kMiB);
  }
  EXPECT_EQ(pages.page_bytes(), 2 * HugePagePool::kPageBytes);
  for (size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i].Block(1 * kMiB - 10, 10).bytes(), std::string(10, static_cast<char>('a' + i)));
  }
  runs.clear();
  EXPECT_EQ(pages.page_bytes(), 2 * HugePagePool::kPageBytes);
}

TEST(PassingPages, ShortReadsAndThoseOfMoreThanAPageTakeNone) {
  PassingPages pages(1024 * kMiB);
  for (const size_t bytes : {PassingPages::kReadBytesMin - 512, HugePagePool::kPageBytes + 512}) {
    ReadRun run = pages.Take(bytes, 512);
    EXPECT_EQ(run.span().size(), bytes);
    EXPECT_TRUE(run.Block(0, 100).is_apart());
  }
  EXPECT_EQ(pages.page_bytes(), 0u);
}

TEST(PassingPages, ASmallCacheHasNone) {
  PassingPages pages(HugePagePool::kPageBytes * PassingPages::kCacheShare - 1);
  EXPECT_EQ(pages.Take(1 * kMiB, 512).span().size(), 1 * kMiB);
  EXPECT_EQ(pages.page_bytes(), 0u);
}

TEST(PassingPages, ThereIsAMostOfAll) {
  PassingPages pages(UINT64_MAX);
  std::vector<ReadRun> runs;
  for (uint64_t i = 0; i < PassingPages::kBytesMax / HugePagePool::kPageBytes + 3; ++i) {
    runs.push_back(pages.Take(1 * kMiB, 4096));
  }
  EXPECT_EQ(pages.page_bytes(), PassingPages::kBytesMax);
}

TEST(PassingPages, BlocksOutliveReadAndPages) {
  BlockRef block;
  {
    PassingPages pages(kTwoPages);
    ReadRun run = pages.Take(1 * kMiB, 512);
    std::memset(run.span().data(), 'z', 1 * kMiB);
    block = run.Block(5000, 100);
    EXPECT_TRUE(block.is_apart());
    run = ReadRun();
    ReadRun other = pages.Take(1 * kMiB, 512);
    // The page is in use as long as the block is.
    std::memset(other.span().data(), 'y', 1 * kMiB);
  }
  EXPECT_EQ(block.bytes(), std::string(100, 'z'));
}

}  // namespace
}  // namespace varve
