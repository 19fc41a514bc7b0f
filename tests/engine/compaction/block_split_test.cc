#include "engine/compaction/block_split.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/base/internal_key.h"
#include "engine/base/prng.h"
#include "engine/table/block_builder.h"

namespace varve {
namespace {

std::string KeyOf(std::string_view key, uint64_t sequence = 1) {
  std::string internal_key;
  AppendInternalKey(internal_key, key, SequenceNumber(sequence), RecordKind::kValue);
  return internal_key;
}
std::string KeyOf(char key, uint64_t sequence = 1) {
  return KeyOf(std::string(1, key), sequence);
}

// A block of "bdfhj", each with a value of 100 bytes; "f" in two versions.
class BlockSplits : public testing::Test {
 protected:
  BlockSplits() {
    for (const char key : std::string("bdfhj")) {
      if (key == 'f') {
        builder_.Add(KeyOf(key, 2), std::string(100, key));
      }
      builder_.Add(KeyOf(key), std::string(100, key));
    }
    payload_ = builder_.Finish();
    entry_.smallest = "b";
    entry_.largest = "j";
    entry_.entries = 6;
    entry_.block.bytes = static_cast<uint32_t>(payload_.size());
  }

  // What stays, as first and last key with the number of versions, and in between what was before it.
  Result<std::string> Split(const std::string& keys, uint64_t keep_bytes_min = 0) {
    RecordRun records;
    for (const char key : keys) {
      records.Add(KeyOf(key, 9), "new");
    }
    replaced_ = RecordRun();
    Result<BlockSplit> split = SplitBlock(TableId(1), entry_, payload_, CacheStanding::kAbsent, records, 0,
                                          records.size(), keep_bytes_min, replaced_);
    if (!split.ok()) {
      return split.error();
    }
    std::string text;
    for (const KeptSpan& kept : split->kept) {
      EXPECT_EQ(kept.span.block, entry_.block);
      text += fmt::format("{}/{} {}-{}:{}{} ", kept.end_record, kept.end_replaced, kept.span.smallest,
                          kept.span.largest, kept.span.entries, kept.span.is_span ? "" : " whole");
    }
    return text;
  }
  std::string Replaced() const {
    std::string keys;
    for (size_t i = 0; i < replaced_.size(); ++i) {
      keys += UserKeyOf(replaced_.key(i));
    }
    return keys;
  }

  BlockBuilder builder_;
  std::string payload_;
  IndexEntry entry_;
  RecordRun replaced_;
};

TEST_F(BlockSplits, RecordsThatNothingReplacesStayAsSpans) {
  EXPECT_EQ(Split("d").value(), "0/0 b-b:1 1/1 f-j:4 ");
  EXPECT_EQ(Replaced(), "d");
}

TEST_F(BlockSplits, ANewKeyLiesBetweenTwoSpans) {
  EXPECT_EQ(Split("e").value(), "0/0 b-d:2 1/0 f-j:4 ");
  EXPECT_EQ(Replaced(), "");
}

TEST_F(BlockSplits, AllVersionsOfAKeyGoTogether) {
  EXPECT_EQ(Split("f").value(), "0/0 b-d:2 1/2 h-j:2 ");
  EXPECT_EQ(Replaced(), "ff");
}

TEST_F(BlockSplits, TheEndsAreUpdatedToo) {
  EXPECT_EQ(Split("bj").value(), "1/1 d-h:4 ");
  EXPECT_EQ(Replaced(), "bj");
}

TEST_F(BlockSplits, WithoutARecordTheBlockStaysWhole) {
  EXPECT_EQ(Split("").value(), "0/0 b-j:6 whole ");
  EXPECT_EQ(Split("a").value(), "1/0 b-j:6 whole ");
}

// Of the keys of spans an index may leave out what tells them from nothing in the block.
TEST_F(BlockSplits, WhatTellsASpanFromTheRestOfItsBlockIsKnown) {
  const auto bytes_of = [&](const IndexEntry& entry, const std::vector<std::string>& come) {
    BlockBuilder builder;
    for (const char* const key : {"aab", "aacdb", "aacf", "b"}) {
      builder.Add(KeyOf(key), "value");
    }
    const std::string payload = builder.Finish();
    RecordRun records;
    for (const std::string& key : come) {
      records.Add(KeyOf(key, 9), "new");
    }
    RecordRun replaced;
    std::string text;
    const auto split = SplitBlock(TableId(1), entry, payload, CacheStanding::kAbsent, records, 0,
                                  records.size(), 0, replaced);
    for (const KeptSpan& kept : split->kept) {
      text += fmt::format("{}:{} {}:{} ", kept.span.smallest, kept.key_bytes_min.smallest, kept.span.largest,
                          kept.key_bytes_min.largest);
    }
    return text;
  };
  IndexEntry entry;
  entry.smallest = "aa";
  entry.largest = "c";
  entry.entries = 4;
  EXPECT_EQ(bytes_of(entry, {}), "aab:0 b:0 ");
  EXPECT_EQ(bytes_of(entry, {"aacdb"}), "aab:0 aab:3 aacf:4 b:0 ");
  // Beside a span there is what its entry leaves out.
  entry.is_span = true;
  entry.smallest = "aac";
  entry.largest = "aad";
  entry.entries = 2;
  EXPECT_EQ(bytes_of(entry, {}), "aacdb:3 aacf:3 ");
  EXPECT_EQ(bytes_of(entry, {"aace"}), "aacdb:3 aacdb:4 aacf:4 aacf:3 ");
}

TEST_F(BlockSplits, WhereLittleWouldStayNothingDoes) {
  EXPECT_EQ(Split("d", 1000).value(), "");
  EXPECT_EQ(Replaced(), "bdffhj");
}

TEST_F(BlockSplits, OfASpanOnlyWhatLiesInItCounts) {
  entry_.is_span = true;
  entry_.smallest = "d";
  entry_.largest = "h";
  entry_.entries = 4;
  EXPECT_EQ(Split("f").value(), "0/0 d-d:1 1/2 h-h:1 ");
  EXPECT_EQ(Split("f", 1000).value(), "");
  EXPECT_EQ(Replaced(), "dffh");
}

TEST_F(BlockSplits, ABlockOutOfOrderIsCorrupt) {
  for (const std::string& keys : {std::string("bhdj"), std::string("bdbj"), std::string("bddj")}) {
    BlockBuilder builder;
    for (const char key : keys) {
      builder.Add(KeyOf(key), std::string(100, key));
    }
    payload_ = builder.Finish();
    entry_.entries = keys.size();
    EXPECT_TRUE(Split("e").status().Is(ErrorCode::kCorruption)) << keys;
  }
}

TEST_F(BlockSplits, WhatIsGivenUpIsItsShareOfTheBlock) {
  entry_.block.bytes = 6000;
  RecordRun records;
  records.Add(KeyOf('d', 9), "new");
  records.Add(KeyOf('f', 9), "new");
  const auto replaced_of = [&](uint64_t keep_bytes_min) {
    replaced_ = RecordRun();
    return SplitBlock(TableId(1), entry_, payload_, CacheStanding::kAbsent, records, 0, records.size(),
                      keep_bytes_min, replaced_)
        ->replaced_bytes;
  };
  // Six records of one size.
  EXPECT_EQ(replaced_of(0), 3000U);
  EXPECT_EQ(replaced_of(UINT64_MAX), 6000U);
  // Of the span "d" to "f" all goes, and that is half of the block.
  entry_.smallest = "d";
  entry_.largest = "f";
  entry_.entries = 3;
  entry_.is_span = true;
  EXPECT_EQ(replaced_of(0), 3000U);
}

TEST_F(BlockSplits, ABlockThatIsNotWhatItsEntrySaysIsCorrupt) {
  IndexEntry right = entry_;
  entry_.largest = "i";
  EXPECT_TRUE(Split("d").Is(ErrorCode::kCorruption));
  entry_ = right;
  entry_.smallest = "c";
  EXPECT_TRUE(Split("d").Is(ErrorCode::kCorruption));
  entry_ = right;
  entry_.entries = 5;
  EXPECT_TRUE(Split("d").Is(ErrorCode::kCorruption));
  entry_ = right;
  entry_.is_span = true;
  entry_.largest = "h";
  EXPECT_TRUE(Split("d").Is(ErrorCode::kCorruption));
  entry_ = right;
  payload_.resize(payload_.size() / 2);
  EXPECT_TRUE(Split("d").Is(ErrorCode::kCorruption));
}

}  // namespace
}  // namespace varve
