// Tables that are merged soon: what was written of them is kept in memory, for merges and whoever reads them
// meanwhile.
#include <gtest/gtest.h>

#include "engine/device/aligned_buffer.h"
#include "engine/table/block_reader.h"
#include "tests/engine/table/table_fixture.h"
#include "tests/support/turns_beside.h"

namespace varve {
namespace {

constexpr size_t kRecords = 2000;

class WrittenTableTest : public testing::TestWithParam<uint32_t> {
 protected:
  TableView BuildMergedSoon(const Entries& entries) {
    TableBuilderOptions options;
    options.id = TableId(7);
    options.written_for = WrittenFor::kNextMerge;
    return Build(options, entries);
  }
  TableView Build(const TableBuilderOptions& options, const Entries& entries) {
    TableBuilder builder(fixture.environment, fixture.source, options);
    for (const auto& [key, value] : entries) {
      builder.Add(key, value);
    }
    Result<TableView> view = fixture.Run(builder.Finish());
    EXPECT_TRUE(view.ok()) << view.ToString();
    return std::move(view).value();
  }

  // All records, as a merge reads them.
  Entries Walk(const TableView& view, IoPurpose purpose = IoPurpose::kCompaction) {
    TableIteratorOptions options;
    options.fill_cache = false;
    options.purpose = purpose;
    options.readahead_bytes = 256 * kKiB;
    options.sequential = true;
    const std::unique_ptr<InternalIterator> walk = NewTableIterator(fixture.environment, view, options);
    Entries entries;
    for (fixture.Finish(*walk, walk->SeekToFirst()); walk->Valid(); fixture.Finish(*walk, walk->Next())) {
      entries[std::string(walk->key())] = std::string(walk->value());
    }
    EXPECT_TRUE(walk->status().ok()) << walk->status().ToString();
    return entries;
  }

  uint64_t ReadsFor(IoPurpose purpose) const { return fixture.device.counters().of(purpose).reads.load(); }

  TableFixture fixture{{.sector_bytes = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(Sectors, WrittenTableTest, testing::Values(512, 4096));

TEST_P(WrittenTableTest, AMergeReadsThemWithoutTheDevice) {
  const Entries entries = NumberedEntries(kRecords, 300);
  const TableView view = BuildMergedSoon(entries);
  EXPECT_EQ(Walk(view), entries);
  EXPECT_EQ(ReadsFor(IoPurpose::kCompaction), 0u);
}

TEST_P(WrittenTableTest, AMergeCopiesThemInSlices) {
  const Entries entries = NumberedEntries(kRecords, 300);
  const TableView view = BuildMergedSoon(entries);
  std::vector<std::byte> bytes(512 * kKiB);
  TurnsBeside beside;
  const Status read =
      fixture.Run(beside.Count(ReadTableBytes(fixture.environment, view, 0, bytes, IoPurpose::kCompaction)));
  EXPECT_TRUE(read.ok()) << read.ToString();
  EXPECT_EQ(ReadsFor(IoPurpose::kCompaction), 0u);
  EXPECT_GE(beside.turns(), 2U);
  const std::string_view copied(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_EQ(copied.substr(0, 4096), fixture.device.Peek(TableFixture::DeviceOffsetOf(view, 0), 4096));
  const std::string last = fixture.device.Peek(TableFixture::DeviceOffsetOf(view, bytes.size() - 4096), 4096);
  EXPECT_EQ(copied.substr(bytes.size() - 4096), last);
}

TEST_P(WrittenTableTest, TheDeviceReadsWhatIsMissingBetweenThem) {
  const TableView view = BuildMergedSoon(NumberedEntries(kRecords, 300));
  constexpr uint64_t kFirst = 4096;
  struct Missing {
    uint64_t first_piece;
    uint64_t pieces;
  };
  // In the middle, at the beginning, at the end.
  for (const Missing& missing : {Missing{2, 2}, Missing{0, 1}, Missing{7, 1}}) {
    fixture.cache.EraseTable(view.id);
    AlignedBuffer bytes(8 * kWrittenPieceBytes);
    for (uint64_t at = 0; at < bytes.size(); at += kWrittenPieceBytes) {
      const uint64_t piece = at / kWrittenPieceBytes;
      if (piece < missing.first_piece || piece >= missing.first_piece + missing.pieces) {
        fixture.cache.KeepWritten(
            view.id, at, fixture.device.Peek(TableFixture::DeviceOffsetOf(view, at), kWrittenPieceBytes),
            WrittenFor::kNextMerge);
      }
    }
    const std::span<std::byte> into = bytes.span().subspan(kFirst);
    const uint64_t reads = ReadsFor(IoPurpose::kCompaction);
    const Status read =
        fixture.Run(ReadTableBytes(fixture.environment, view, kFirst, into, IoPurpose::kCompaction));
    EXPECT_TRUE(read.ok()) << read.ToString();
    EXPECT_EQ(ReadsFor(IoPurpose::kCompaction) - reads, 1U) << missing.first_piece;
    for (uint64_t at = kFirst; at < bytes.size(); at += 4096) {
      ASSERT_EQ(bytes.view().substr(at, 4096),
                fixture.device.Peek(TableFixture::DeviceOffsetOf(view, at), 4096))
          << at;
    }
  }
}

TEST_P(WrittenTableTest, SoDoUsersMeanwhile) {
  const Entries entries = NumberedEntries(kRecords, 300);
  const TableView view = BuildMergedSoon(entries);
  EXPECT_EQ(Walk(view, IoPurpose::kUserRead), entries);
  EXPECT_EQ(ReadsFor(IoPurpose::kUserRead), 0u);
}

TEST_P(WrittenTableTest, AMergeLetsGoOfWhatItHasRead) {
  const Entries entries = NumberedEntries(kRecords, 300);
  const TableView view = BuildMergedSoon(entries);
  const uint64_t held = fixture.cache.statistics().of(BlockKind::kWritten).charged_bytes;
  EXPECT_EQ(Walk(view, IoPurpose::kUserRead), entries);
  EXPECT_EQ(fixture.cache.statistics().of(BlockKind::kWritten).charged_bytes, held);
  EXPECT_EQ(Walk(view), entries);
  EXPECT_EQ(ReadsFor(IoPurpose::kCompaction), 0u);
  EXPECT_LE(fixture.cache.statistics().of(BlockKind::kWritten).charged_bytes, held / 3);
  // Who gave up and begins anew reads what is gone.
  EXPECT_EQ(Walk(view), entries);
  EXPECT_GT(ReadsFor(IoPurpose::kCompaction), 0u);
}

TEST_P(WrittenTableTest, OthersReadWhatLiesOnTheDevice) {
  const Entries entries = NumberedEntries(kRecords, 300);
  const TableView view = BuildMergedSoon(entries);
  EXPECT_EQ(Walk(view, IoPurpose::kCheck), entries);
  EXPECT_GT(ReadsFor(IoPurpose::kCheck), 0u);
  EXPECT_TRUE(fixture.Verify(view).empty());
  const uint64_t offset = TableFixture::DeviceOffsetOf(view, 100000);
  std::string damaged = fixture.device.Peek(offset, 1);
  damaged[0] = static_cast<char>(damaged[0] ^ 1);
  fixture.device.Poke(offset, damaged);
  EXPECT_FALSE(fixture.Verify(view).empty()) << "it looked at what is kept in memory";
}

TEST_P(WrittenTableTest, WhatIsNotKeptAnyMoreIsRead) {
  const Entries entries = NumberedEntries(kRecords, 300);
  const TableView view = BuildMergedSoon(entries);
  fixture.cache.DropWritten(view.id, 2 * kWrittenPieceBytes, 1);
  EXPECT_EQ(Walk(view), entries);
  EXPECT_GT(ReadsFor(IoPurpose::kCompaction), 0u);
}

TEST_P(WrittenTableTest, NothingIsKeptOfOtherTables) {
  const Entries entries = NumberedEntries(kRecords, 300);
  const TableView view = fixture.Build(entries);
  EXPECT_EQ(fixture.cache.statistics().of(BlockKind::kWritten).inserts, 0u);
  EXPECT_EQ(Walk(view), entries);
}

}  // namespace
}  // namespace varve
