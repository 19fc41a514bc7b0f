#include "fs/content/content.h"

#include <gtest/gtest.h>

#include "engine/ring/local_executor.h"
#include "fs/namespace/namespace_format.h"
#include "tests/support/memory_store.h"

namespace varve {
namespace {

class ContentTest : public ::testing::Test {
 protected:
  ContentTest() : executor_(clock_), content_(store_, FormatParameters{1000, 4096}) {
    file_.inode.number = InodeNumber(7);
    file_.inode.mode = S_IFREG | 0644;
  }

  void Write(uint64_t offset, const std::string& data) {
    WriteBatch batch;
    ASSERT_TRUE(executor_.Run(content_.StageWrite(file_, offset, data, batch)).ok());
    Apply(batch);
  }
  StaleChunks Truncate(uint64_t size) {
    WriteBatch batch;
    StaleChunks stale;
    EXPECT_TRUE(executor_.Run(content_.StageTruncate(file_, size, batch, stale)).ok());
    Apply(batch);
    return stale;
  }
  void Punch(uint64_t from, uint64_t to) {
    WriteBatch batch;
    ASSERT_TRUE(executor_.Run(content_.StagePunch(file_, from, to, batch)).ok());
    Apply(batch);
  }
  void Apply(const WriteBatch& batch) {
    last_records_ = batch.count();
    if (!batch.empty()) {
      ASSERT_TRUE(executor_.Run(store_.Write(batch, Durability::kInterval)).ok());
    }
  }
  std::string Read(uint64_t offset, size_t length) {
    std::string into(length, '?');
    const Result<size_t> read = executor_.Run(
        content_.Read(file_.inode, file_.content, offset, std::span<char>(into), ReadOptions()));
    EXPECT_TRUE(read.ok()) << read.ToString();
    into.resize(read.ok() ? *read : 0);
    return into;
  }
  size_t Chunks() const { return store_.Dump().size(); }

  SystemClock clock_;
  LocalExecutor executor_;
  MemoryStore store_;
  Content content_;
  FileImage file_;
  uint32_t last_records_ = 0;
};

TEST_F(ContentTest, ContentUpToTheInlineLimitMakesNoRecordOfItsOwn) {
  Write(0, std::string(1000, 'a'));
  EXPECT_FALSE(file_.inode.chunked);
  EXPECT_EQ(Chunks(), 0u);
  EXPECT_EQ(Read(0, 2000), std::string(1000, 'a'));
}

TEST_F(ContentTest, AFileThatOutgrowsTheLimitMovesToChunksInOneBatch) {
  Write(0, std::string(1000, 'a'));
  Write(1000, "b");
  EXPECT_TRUE(file_.inode.chunked);
  EXPECT_EQ(file_.inode.chunk_count, 1u);
  EXPECT_EQ(Read(0, 2000), std::string(1000, 'a') + "b");
}

TEST_F(ContentTest, AWriteFarBeyondTheEndLeavesAHoleThatReadsAsZeros) {
  Write(0, "head");
  Write(5 * 4096 + 10, "tail");
  EXPECT_EQ(file_.inode.chunk_count, 2u);
  EXPECT_EQ(Read(0, 8), std::string("head\0\0\0\0", 8));
  EXPECT_EQ(Read(5 * 4096 + 8, 100), std::string("\0\0tail", 6));
  EXPECT_EQ(content_.BlocksOf(file_.inode), 2u * 8);
}

TEST_F(ContentTest, AppendingAWholeChunkAndOverwritingOneReadNothing) {
  Write(0, std::string(3 * 4096, 'a'));
  const uint64_t gets = store_.gets();
  Write(3 * 4096, std::string(4096, 'b'));
  Write(4096, std::string(4096, 'c'));
  EXPECT_EQ(store_.gets(), gets);
  EXPECT_EQ(file_.inode.chunk_count, 4u);
  EXPECT_EQ(Read(4095, 3), "acc");
}

TEST_F(ContentTest, APartialOverwriteReadsAndWritesOneChunk) {
  Write(0, std::string(3 * 4096, 'a'));
  const uint64_t gets = store_.gets();
  Write(4096 + 5, "xyz");
  EXPECT_EQ(store_.gets(), gets + 1);
  EXPECT_EQ(last_records_, 1u);
  EXPECT_EQ(Read(4096 + 4, 5), "axyza");
}

TEST_F(ContentTest, BytesCutOffDoNotComeBackWhenTheFileGrowsAgain) {
  Write(0, std::string(3 * 4096, 'a'));
  EXPECT_TRUE(Truncate(4096 + 10).empty());
  EXPECT_EQ(Chunks(), 2u);
  EXPECT_TRUE(Truncate(3 * 4096).empty());
  EXPECT_EQ(Read(4096, 4096), std::string(10, 'a') + std::string(4086, '\0'));
  EXPECT_EQ(Read(2 * 4096, 4096), std::string(4096, '\0'));
}

TEST_F(ContentTest, ATruncationOfManyChunksLeavesTheirDeletionToTheBackground) {
  for (int i = 0; i < 5; ++i) {
    Write(static_cast<uint64_t>(i) << 20, std::string(1 << 20, 'a'));
  }
  const StaleChunks stale = Truncate(4096 * 2 + 1);
  EXPECT_EQ(stale.from, 3u);
  EXPECT_EQ(stale.end, 5u * 256);
  EXPECT_EQ(file_.inode.chunk_count, 3u);
  EXPECT_LE(last_records_, 1u);
}

TEST_F(ContentTest, APunchedChunkIsGoneAndItsNeighboursLoseOnlyWhatWasPunched) {
  Write(0, std::string(4 * 4096, 'a'));
  Punch(4000, 2 * 4096 + 100);
  EXPECT_EQ(file_.inode.chunk_count, 3u);
  EXPECT_EQ(Read(0, 4 * 4096), std::string(4000, 'a') + std::string(2 * 4096 + 100 - 4000, '\0') +
                                   std::string(2 * 4096 - 100, 'a'));
}

TEST_F(ContentTest, SeekFindsDataAndHolesAtChunkGrain) {
  Write(0, std::string(4096, 'a'));
  Write(3 * 4096, std::string(4096, 'b'));
  const auto seek = [&](uint64_t offset, SeekFor what) {
    return executor_.Run(content_.Seek(file_.inode, offset, what));
  };
  EXPECT_EQ(*seek(100, SeekFor::kData), 100u);
  EXPECT_EQ(*seek(100, SeekFor::kHole), 4096u);
  EXPECT_EQ(*seek(5000, SeekFor::kData), 3u * 4096);
  EXPECT_EQ(*seek(3 * 4096, SeekFor::kHole), 4u * 4096);
  EXPECT_TRUE(seek(4 * 4096, SeekFor::kData).Is(ErrorCode::kNoData));
}

TEST_F(ContentTest, LargeReadsFillHolesAndEdgesAsSmallOnesDo) {
  Write(4096, std::string(3 * 4096, 'a'));
  Write(9 * 4096, std::string(100, 'b'));
  Write(14 * 4096 + 50, std::string(4096, 'c'));
  std::string expected(15 * 4096 + 50, '\0');
  expected.replace(4096, 3 * 4096, std::string(3 * 4096, 'a'));
  expected.replace(9 * 4096, 100, std::string(100, 'b'));
  expected.replace(14 * 4096 + 50, 4096, std::string(4096, 'c'));
  for (const uint64_t offset : {0, 1, 4095, 4096, 4097, 6 * 4096, 9 * 4096 + 50, 13 * 4096}) {
    for (const size_t length : {1, 4096, 3 * 4096, 4 * 4096, 4 * 4096 + 1, 8 * 4096 - 1, 20 * 4096}) {
      EXPECT_TRUE(Read(offset, length) == expected.substr(offset, length)) << offset << " " << length;
    }
  }
}

TEST_F(ContentTest, AChunkLongerThanChunksAreIsCorruption) {
  Write(0, std::string(2 * 4096, 'a'));
  WriteBatch batch;
  batch.Put(NamespaceKey::Chunk(file_.inode.number, 0), std::string(5000, 'x'));
  Apply(batch);
  std::string into(10, '?');
  std::unique_ptr<UnfinishedRead> rest;
  EXPECT_TRUE(content_.BeginRead(file_.inode, {}, 0, std::span<char>(into), ReadOptions(), rest)
                  ->Is(ErrorCode::kCorruption));
}

}  // namespace
}  // namespace varve
