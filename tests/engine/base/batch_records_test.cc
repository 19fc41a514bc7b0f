#include "engine/base/batch_records.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/base/prng.h"
#include "engine/base/size_limits.h"

namespace varve {
namespace {

TEST(BatchRecordsTest, WhatWasAppendedIsReadInOrder) {
  std::string records;
  AppendPutRecord(records, "apple", "red");
  AppendDeleteRecord(records, "pear");
  AppendPutRecord(records, "", std::string(300, 'v'));
  BatchRecordReader reader(records);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.record().kind, RecordKind::kValue);
  EXPECT_EQ(reader.record().key, "apple");
  EXPECT_EQ(reader.record().value, "red");
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.record().kind, RecordKind::kTombstone);
  EXPECT_EQ(reader.record().key, "pear");
  EXPECT_EQ(reader.record().value, "");
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.record().value.size(), 300u);
  EXPECT_FALSE(reader.Next());
  EXPECT_TRUE(reader.status().ok());
}

TEST(BatchRecordsTest, TotalsCountRecordsTombstonesAndUserBytes) {
  std::string records;
  AppendPutRecord(records, "abc", "12345");
  AppendDeleteRecord(records, "de");
  const Result<BatchRecordTotals> totals = CheckBatchRecords(records);
  ASSERT_TRUE(totals.ok());
  EXPECT_EQ(totals.value().records, 2u);
  EXPECT_EQ(totals.value().tombstones, 1u);
  EXPECT_EQ(totals.value().user_bytes, 10u);
}

TEST(BatchRecordsTest, BytesCutOffAnywhereInsideARecordAreCorruption) {
  std::string records;
  AppendPutRecord(records, "key", std::string(200, 'v'));
  for (size_t kept = 1; kept < records.size(); kept++) {
    // A copy of its own, so that AddressSanitizer sees a read beyond it.
    const std::vector<char> cut(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(kept));
    BatchRecordReader reader(std::string_view(cut.data(), cut.size()));
    EXPECT_FALSE(reader.Next());
    EXPECT_TRUE(reader.status().Is(ErrorCode::kCorruption)) << kept;
  }
}

TEST(BatchRecordsTest, ReservedKindsAreUnsupportedAndUnknownOnesCorruption) {
  const char pointer = 3;
  BatchRecordReader of_pointer(std::string_view(&pointer, 1));
  EXPECT_FALSE(of_pointer.Next());
  EXPECT_TRUE(of_pointer.status().Is(ErrorCode::kUnsupported));
  const char unknown = 4;
  BatchRecordReader reader(std::string_view(&unknown, 1));
  EXPECT_FALSE(reader.Next());
  EXPECT_TRUE(reader.status().Is(ErrorCode::kCorruption));
}

TEST(BatchRecordsTest, ARangeIsReadWithItsEndAndOneThatHoldsNothingIsCorruption) {
  std::string records;
  AppendDeleteRangeRecord(records, "b", "d");
  const Result<BatchRecordTotals> totals = CheckBatchRecords(records);
  ASSERT_TRUE(totals.ok());
  EXPECT_EQ(totals->range_tombstones, 1u);
  EXPECT_EQ(totals->tombstones, 0u);
  BatchRecordReader reader(records);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.record().kind, RecordKind::kRangeTombstone);
  EXPECT_EQ(reader.record().key, "b");
  EXPECT_EQ(reader.record().value, "d");
  for (const std::string end : {"a", "b"}) {
    std::string empty;
    AppendDeleteRangeRecord(empty, "b", end);
    EXPECT_TRUE(CheckBatchRecords(empty).Is(ErrorCode::kCorruption)) << end;
  }
  std::string long_end;
  AppendDeleteRangeRecord(long_end, "b", std::string(kKeyBytesMax + 1, 'c'));
  EXPECT_TRUE(CheckBatchRecords(long_end).Is(ErrorCode::kCorruption));
}

TEST(BatchRecordsTest, KeysAndValuesBeyondTheLimitsAreCorruption) {
  std::string largest;
  AppendPutRecord(largest, std::string(kKeyBytesMax, 'k'), std::string(kValueBytesMax, 'v'));
  EXPECT_TRUE(CheckBatchRecords(largest).ok());
  std::string long_key;
  AppendDeleteRecord(long_key, std::string(kKeyBytesMax + 1, 'k'));
  EXPECT_FALSE(CheckBatchRecords(long_key).ok());
  std::string long_value;
  AppendPutRecord(long_value, "k", std::string(kValueBytesMax + 1, 'v'));
  EXPECT_FALSE(CheckBatchRecords(long_value).ok());
}

TEST(BatchRecordsTest, RandomBytesNeverReadBeyondTheirEnd) {
  Prng prng(7);
  for (int round = 0; round < 20000; round++) {
    std::vector<char> bytes(prng.Below(40));
    for (char& byte : bytes) {
      byte = static_cast<char>(prng.OneIn(2) ? prng.Below(4) : prng.Next());
    }
    BatchRecordReader reader(std::string_view(bytes.data(), bytes.size()));
    size_t seen = 0;
    while (reader.Next()) {
      seen += 2 + reader.record().key.size() + reader.record().value.size();
    }
    EXPECT_LE(seen, bytes.size());
  }
}

}  // namespace
}  // namespace varve
