// Groups that are held back while nobody asks for durability, and dropped once tables have what they hold.
#include "engine/wal/wal_writer.h"
#include "tests/engine/wal/wal_fixture.h"

namespace varve {
namespace {

constexpr size_t kHoldBytes = 2 * kMiB;
constexpr size_t kRecordBytes = 600 * kKiB;

class WalHoldTest : public WalTest {
 protected:
  static WalWriterOptions Holding() {
    WalWriterOptions options = FirstEpoch();
    options.hold_bytes = kHoldBytes;
    return options;
  }

  // Each record makes the open group complete.
  SequenceNumber AppendRecords(WalWriter& writer, int count) {
    SequenceNumber last;
    for (int i = 0; i < count; i++) {
      last = Append(writer, OneRecord("key", std::string(kRecordBytes, 'v')));
      executor.RunReady();
    }
    return last;
  }
  // Nobody has asked for durability for so long that as much may be held as ever.
  SequenceNumber AppendUntilItHolds(WalWriter& writer) {
    return AppendRecords(writer, static_cast<int>(2 * kHoldBytes / kRecordBytes) + 1);
  }
};
INSTANTIATE_TEST_SUITE_P(Sectors, WalHoldTest, testing::Values(512, 4096));

TEST_P(WalHoldTest, WhatTablesHaveBeforeAnyoneAsksForItIsNeverWritten) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WalWriter writer(device, source, Holding());
  Start(writer);
  writer.DropUpTo(AppendUntilItHolds(writer));
  const uint64_t written = writer.statistics().device_bytes;
  for (int i = 0; i < 20; i++) {
    const SequenceNumber last = AppendRecords(writer, 2);
    writer.DropUpTo(last);
    EXPECT_EQ(writer.durable_sequence(), last);
  }
  EXPECT_EQ(writer.statistics().device_bytes, written);
  EXPECT_GE(writer.statistics().dropped_bytes, 40 * kRecordBytes);
  // The log goes on without them.
  ASSERT_TRUE(executor.Run(writer.Sync()).ok());
  Append(writer, OneRecord("last"));
  ASSERT_TRUE(executor.Run(writer.Sync()).ok());
  const SequenceNumber last = writer.last_sequence();
  const SeenLog seen = Read(device, source.segments, {}, SequenceNumber(last.value - 1));
  ASSERT_TRUE(seen.status.ok()) << seen.status.ToString();
  EXPECT_EQ(seen.groups.back().header.first_sequence, last);
  EXPECT_EQ(seen.end.next_lsn, writer.next_lsn());
  executor.Run(writer.Close());
}

TEST_P(WalHoldTest, ASyncWritesAllThatIsHeld) {
  MemoryDevice device(DeviceOptions(GetParam(), true));
  TestSegmentSource source;
  WalWriter writer(device, source, Holding());
  Start(writer);
  const SequenceNumber last = AppendUntilItHolds(writer);
  const uint64_t groups = writer.statistics().groups;
  ASSERT_LT(groups, last.value) << "nothing was held";
  ASSERT_TRUE(executor.Run(writer.Sync()).ok());
  EXPECT_EQ(writer.statistics().groups, last.value);
  device.Crash();
  const SeenLog seen = Read(device, source.segments);
  ASSERT_TRUE(seen.status.ok());
  EXPECT_EQ(seen.last_sequence(), last.value);
  executor.Run(writer.Close());
}

TEST_P(WalHoldTest, HoldsNoMoreThanItMay) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WalWriter writer(device, source, Holding());
  Start(writer);
  for (int i = 0; i < 30; i++) {
    const uint64_t appended = AppendRecords(writer, 1).value * kRecordBytes;
    EXPECT_LE(appended, writer.statistics().payload_bytes + kHoldBytes + 2 * kRecordBytes);
  }
  executor.Run(writer.Close());
}

TEST_P(WalHoldTest, HoldsNothingBackSoonAfterSomeoneAskedForDurability) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WalWriter writer(device, source, Holding());
  Start(writer);
  AppendUntilItHolds(writer);
  for (int i = 0; i < 10; i++) {
    ASSERT_TRUE(executor.Run(writer.Sync()).ok());
    // The larger part is on its way when the next sync comes.
    const uint64_t groups = writer.statistics().groups;
    AppendRecords(writer, 2);
    EXPECT_GE(writer.statistics().groups, groups + 1);
  }
  executor.Run(writer.Close());
}

TEST_P(WalHoldTest, AGroupOfWhichTablesHaveAPartIsWrittenWhole) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WalWriter writer(device, source, Holding());
  Start(writer);
  writer.DropUpTo(AppendUntilItHolds(writer));
  Append(writer, OneRecord("in tables"));
  const SequenceNumber in_tables = writer.last_sequence();
  Append(writer, OneRecord("not yet"));
  writer.DropUpTo(in_tables);
  EXPECT_EQ(writer.durable_sequence(), in_tables);
  ASSERT_TRUE(executor.Run(writer.Sync()).ok());
  const SeenLog seen = Read(device, source.segments, {}, in_tables);
  ASSERT_TRUE(seen.status.ok()) << seen.status.ToString();
  EXPECT_EQ(seen.groups.back().header.first_sequence, in_tables);
  EXPECT_EQ(seen.last_sequence(), in_tables.value + 1);
  executor.Run(writer.Close());
}

TEST_P(WalHoldTest, WhoWaitsForDurabilityHasItOnceTablesDo) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WalWriter writer(device, source, Holding());
  Start(writer);
  device.FailWrite(0);
  const SequenceNumber last = Append(writer, OneRecord("key"));
  EXPECT_FALSE(executor.Run(writer.SyncTo(last)).ok());
  writer.DropUpTo(last);
  EXPECT_TRUE(executor.Run(writer.SyncTo(last)).ok()) << "the log is not needed for it";
  executor.Run(writer.Close());
}

TEST_P(WalHoldTest, ALogThatLacksWhatTablesDoNotHaveIsDamaged) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WalWriter writer(device, source, Holding());
  Start(writer);
  ASSERT_EQ(Append(writer, OneRecord("first")).value, 1u);
  ASSERT_TRUE(executor.Run(writer.Sync()).ok());
  AppendUntilItHolds(writer);
  const SequenceNumber dropped = AppendRecords(writer, 2);
  writer.DropUpTo(dropped);
  Append(writer, OneRecord("last"));
  ASSERT_TRUE(executor.Run(writer.Sync()).ok());
  EXPECT_TRUE(Read(device, source.segments, {}, dropped).status.ok());
  const SeenLog seen = Read(device, source.segments, {}, SequenceNumber(dropped.value - 1));
  EXPECT_TRUE(seen.status.Is(ErrorCode::kCorruption)) << "tables lack the last record that was dropped";
  executor.Run(writer.Close());
}

}  // namespace
}  // namespace varve
