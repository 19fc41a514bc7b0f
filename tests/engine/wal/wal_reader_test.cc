#include "engine/wal/wal_reader.h"

#include "tests/engine/wal/wal_fixture.h"

namespace varve {
namespace {

class WalReaderTest : public WalTest {
 protected:
  // The segments as if they were short, so that searching them to their end costs little: no group knows how
  // long its segment is.
  static std::vector<WalSegment> Shortened(std::vector<WalSegment> segments) {
    for (WalSegment& segment : segments) {
      segment.extent.units = 1;
    }
    return segments;
  }
  static uint64_t OffsetOf(const WalSegment& segment, uint64_t position) {
    return segment.extent.offset().value + position;
  }
  // `count` groups of one sector each; group n holds the record "kn". Synced: each knows the one before to be
  // durable.
  void WriteGroups(MemoryDevice& device, TestSegmentSource& source, WalWriterOptions options, uint64_t count,
                   bool sync) {
    WalWriter writer(device, source, std::move(options));
    Start(writer);
    for (uint64_t i = 0; i < count; i++) {
      const std::string key = "k" + std::to_string(writer.next_lsn().value);
      const SequenceNumber sequence = Append(writer, OneRecord(key));
      if (sync) {
        ASSERT_TRUE(executor.Run(writer.SyncTo(sequence)).ok());
      } else {
        WriteOut(writer);
      }
    }
    executor.Run(writer.Close());
  }
};
INSTANTIATE_TEST_SUITE_P(Sectors, WalReaderTest, testing::Values(512, 4096));

TEST_P(WalReaderTest, ALogWithoutSegmentsEndsWhereTheManifestSays) {
  MemoryDevice device(DeviceOptions(GetParam()));
  const SeenLog seen = Read(device, {}, Lsn(17), SequenceNumber(100));
  ASSERT_TRUE(seen.status.ok());
  EXPECT_EQ(seen.end.next_lsn, Lsn(17));
  EXPECT_EQ(seen.end.last_sequence, SequenceNumber(100));
}

TEST_P(WalReaderTest, ASegmentThatWasNeverWrittenIsAnEmptyLog) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WriteGroups(device, source, FirstEpoch(), 0, true);
  const SeenLog seen = Read(device, source.segments);
  ASSERT_TRUE(seen.status.ok());
  EXPECT_TRUE(seen.groups.empty());
  EXPECT_EQ(seen.end.next_lsn, Lsn(1));
}

TEST_P(WalReaderTest, AnyDamagedByteGivesCorruptionOrTheRightEndAndNeverWrongData) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  constexpr uint64_t kGroups = 5;
  WriteGroups(device, source, FirstEpoch(), kGroups, true);
  const std::vector<WalSegment> segments = Shortened(source.segments);
  const SeenLog whole = Read(device, segments);
  ASSERT_EQ(whole.groups.size(), kGroups);

  const uint64_t sector = GetParam();
  for (uint64_t n = 0; n <= kGroups; n++) {
    const uint64_t meaningful =
        n == 0 ? WalSegmentHeader::kBytes : WalGroupHeader::kBytes + whole.groups[n - 1].header.payload_bytes;
    // Each meaningful byte, and one of the padding.
    for (uint64_t at = 0; at <= meaningful; at++) {
      const uint64_t offset = OffsetOf(segments[0], n * sector + at);
      device.Corrupt(offset, 1);
      const SeenLog seen = Read(device, segments);
      const bool harmless = n == 0 || at == meaningful;
      if (harmless) {
        EXPECT_TRUE(seen.status.ok());
        EXPECT_EQ(seen.groups.size(), kGroups);
      } else if (n < kGroups) {
        EXPECT_TRUE(seen.status.Is(ErrorCode::kCorruption)) << n << " " << at;
        EXPECT_EQ(seen.groups.size(), n - 1);
      } else {
        // Nothing after the last group says that it was durable.
        EXPECT_TRUE(seen.status.ok());
        EXPECT_EQ(seen.groups.size(), kGroups - 1);
        EXPECT_EQ(seen.end.next_lsn, Lsn(kGroups));
      }
      for (size_t i = 0; i < seen.groups.size(); i++) {
        EXPECT_EQ(seen.groups[i].records, whole.groups[i].records);
      }
      device.Corrupt(offset, 1);  // and back
    }
  }
}

TEST_P(WalReaderTest, AGapAmongGroupsThatWereNotDurableEndsTheLog) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WriteGroups(device, source, FirstEpoch(), 5, false);
  device.Corrupt(OffsetOf(source.segments[0], 3 * GetParam()), 1);
  const SeenLog seen = Read(device, source.segments);
  ASSERT_TRUE(seen.status.ok()) << seen.status.ToString();
  EXPECT_EQ(seen.groups.size(), 2u);
  EXPECT_EQ(seen.end.next_lsn, Lsn(3));
  EXPECT_EQ(seen.end.last_sequence, SequenceNumber(2));
}

TEST_P(WalReaderTest, AGapIsDamageEvenWhenOnlyAGroupInTheNextSegmentProvesIt) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WalWriter writer(device, source, FirstEpoch());
  Start(writer);
  const std::string records = OneRecord("k", std::string(kMiB, 'v'));
  while (writer.statistics().segments < 2) {
    Append(writer, records);
    ASSERT_TRUE(executor.Run(writer.Sync()).ok());
  }
  executor.Run(writer.Close());
  const SeenLog whole = Read(device, source.segments);
  ASSERT_TRUE(whole.status.ok());
  // The last group of the first segment, and every byte behind it.
  const uint64_t groups_before = whole.groups.size() - 2;
  const uint64_t group_bytes = whole.groups[0].header.bytes_on_device(GetParam());
  const uint64_t position = GetParam() + groups_before * group_bytes;
  device.Corrupt(OffsetOf(source.segments[0], position), source.segments[0].extent.bytes() - position);
  const SeenLog seen = Read(device, source.segments);
  EXPECT_TRUE(seen.status.Is(ErrorCode::kCorruption));
  EXPECT_EQ(seen.groups.size(), groups_before);
}

TEST_P(WalReaderTest, DamageEndsTheLogWhereThatIsAskedFor) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WriteGroups(device, source, FirstEpoch(), 5, true);
  WalReaderOptions options;
  options.segments = source.segments;
  options.end_at_damage = true;
  EXPECT_TRUE(executor.Run(ReadLog(device, options)).end.damage.empty());
  const uint64_t third = OffsetOf(source.segments[0], 3 * GetParam());
  // What cannot be read takes nothing along that lies before it.
  device.MakeUnreadable(third, 1);
  const SeenLog unreadable = executor.Run(ReadLog(device, options));
  device.Heal();
  device.Corrupt(third, 1);
  const SeenLog damaged = executor.Run(ReadLog(device, options));
  for (const SeenLog& seen : {unreadable, damaged}) {
    ASSERT_TRUE(seen.status.ok()) << seen.status.ToString();
    EXPECT_EQ(seen.groups.size(), 2u);
    EXPECT_EQ(seen.end.next_lsn, Lsn(3));
    EXPECT_EQ(seen.end.last_sequence, SequenceNumber(2));
    EXPECT_FALSE(seen.end.damage.empty());
  }
}

TEST_P(WalReaderTest, OnlyGroupsThatNothingProvesDurableAreWrittenAgainAndChangeNothing) {
  MemoryDevice device(DeviceOptions(GetParam()));
  const MemoryDevice::Contents empty = device.Snapshot();
  const auto written_again = [&](const std::vector<WalSegment>& segments, bool end_at_damage) {
    const MemoryDevice::Contents before = device.Snapshot();
    WalReaderOptions options;
    options.store_uuid = kTestUuid;
    options.segments = segments;
    options.end_at_damage = end_at_damage;
    WalReader reader(device, std::move(options));
    EXPECT_TRUE(executor.Run(ReadLog(reader)).status.ok());
    const uint64_t bytes = device.counters().of(IoPurpose::kRecovery).written_bytes;
    EXPECT_TRUE(executor.Run(reader.WriteAgain()).ok());
    EXPECT_TRUE(device.Snapshot() == before);
    return (device.counters().of(IoPurpose::kRecovery).written_bytes - bytes) / GetParam();
  };
  for (const bool sync : {false, true}) {
    device.Restore(empty);
    TestSegmentSource source;
    WriteGroups(device, source, FirstEpoch(), 5, sync);
    // All five and the segment's header, or the last one.
    EXPECT_EQ(written_again(source.segments, false), sync ? 1u : 6u);
    // A newer epoch builds upon what is durable.
    const SeenLog seen = Read(device, source.segments);
    WriteGroups(device, source, EpochAfter(seen.end, 2), 0, true);
    EXPECT_EQ(written_again(source.segments, false), 0u);
    WriteGroups(device, source, EpochAfter(seen.end, 3), 1, true);
    EXPECT_EQ(written_again(source.segments, false), 2u);
  }
  // Of a log that was cut, what is before the cut.
  device.Restore(empty);
  TestSegmentSource source;
  WriteGroups(device, source, FirstEpoch(), 5, true);
  device.Corrupt(OffsetOf(source.segments[0], 3 * GetParam()), 1);
  EXPECT_EQ(written_again(source.segments, true), 1u);
}

TEST_P(WalReaderTest, WhatChangedSinceItWasReadIsNotWrittenAgain) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WriteGroups(device, source, FirstEpoch(), 3, false);
  WalReaderOptions options;
  options.store_uuid = kTestUuid;
  options.segments = source.segments;
  options.segments.resize(1);
  WalReader reader(device, std::move(options));
  ASSERT_EQ(executor.Run(ReadLog(reader)).groups.size(), 3u);
  // Reading on to the segment's end has moved the window away.
  device.Corrupt(OffsetOf(source.segments[0], 2 * GetParam() + WalGroupHeader::kBytes), 1);
  EXPECT_TRUE(executor.Run(reader.WriteAgain()).Is(ErrorCode::kCorruption));
  EXPECT_EQ(device.counters().of(IoPurpose::kRecovery).writes.load(), 0u);
}

TEST_P(WalReaderTest, RemnantsOfAnOlderEpochAreNeverReplayed) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WriteGroups(device, source, FirstEpoch(), 4, false);
  const uint64_t second = OffsetOf(source.segments[0], 2 * GetParam());
  device.Corrupt(second, 1);
  const SeenLog crashed = Read(device, source.segments);
  ASSERT_TRUE(crashed.status.ok());
  ASSERT_EQ(crashed.groups.size(), 1u);
  WriteGroups(device, source, EpochAfter(crashed.end, 2), 1, true);

  const auto expect_both_epochs = [](const SeenLog& seen) {
    ASSERT_TRUE(seen.status.ok()) << seen.status.ToString();
    ASSERT_EQ(seen.groups.size(), 2u);
    EXPECT_EQ(seen.groups[0].header.epoch, RecoveryEpoch(1));
    EXPECT_EQ(seen.groups[1].header.epoch, RecoveryEpoch(2));
    EXPECT_EQ(seen.groups[1].header.lsn, Lsn(2));
    EXPECT_EQ(seen.end.next_lsn, Lsn(3));
  };
  // Groups 3 and 4 of the first epoch are whole, and beyond a gap.
  expect_both_epochs(Read(device, source.segments));
  // Even when the gap heals: what the new epoch replaced stays replaced.
  device.Corrupt(second, 1);
  expect_both_epochs(Read(device, source.segments));
  // But what the new epoch builds upon must be there.
  device.Corrupt(OffsetOf(source.segments[0], GetParam()), 1);
  EXPECT_TRUE(Read(device, source.segments).status.Is(ErrorCode::kCorruption));
}

TEST_P(WalReaderTest, EpochsThatWroteNothingArePassedOver) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WriteGroups(device, source, FirstEpoch(), 2, true);
  for (uint64_t epoch = 2; epoch < 4; epoch++) {
    WriteGroups(device, source, EpochAfter(Read(device, source.segments).end, epoch), 0, true);
  }
  WriteGroups(device, source, EpochAfter(Read(device, source.segments).end, 4), 2, true);
  const SeenLog seen = Read(device, source.segments);
  ASSERT_TRUE(seen.status.ok()) << seen.status.ToString();
  EXPECT_EQ(seen.groups.size(), 4u);
  EXPECT_EQ(seen.end.next_lsn, Lsn(5));
  // They can be released with what is before them.
  EXPECT_EQ(seen.end.segments[1].last_sequence, SequenceNumber(2));
  EXPECT_EQ(seen.end.segments[2].last_lsn, Lsn(2));
}

TEST_P(WalReaderTest, AnIoErrorAnywhereIsAnErrorAndNeverTheEnd) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WalWriter writer(device, source, FirstEpoch());
  Start(writer);
  const std::string records = OneRecord("k", std::string(kMiB, 'v'));
  for (int i = 0; i < 10; i++) {
    Append(writer, records);
    ASSERT_TRUE(executor.Run(writer.Sync()).ok());
  }
  executor.Run(writer.Close());
  const uint64_t before = device.counters().of(IoPurpose::kRecovery).reads.load();
  ASSERT_TRUE(Read(device, source.segments).status.ok());
  const uint64_t reads = device.counters().of(IoPurpose::kRecovery).reads.load() - before;
  EXPECT_GT(reads, 3u);
  for (uint64_t i = 0; i < reads; i++) {
    device.FailRead(i);
    EXPECT_TRUE(Read(device, source.segments).status.Is(ErrorCode::kDeviceError)) << i;
  }
}

TEST_P(WalReaderTest, GroupsOfAnotherStoreAnotherSegmentOrAnotherPlaceAreNone) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WriteGroups(device, source, FirstEpoch(), 3, true);
  const std::vector<WalSegment> segments = Shortened(source.segments);

  std::vector<WalSegment> renumbered = segments;
  renumbered[0].number++;
  EXPECT_TRUE(Read(device, renumbered).groups.empty());

  const std::string second = device.Peek(OffsetOf(segments[0], 2 * GetParam()), GetParam());
  device.Poke(OffsetOf(segments[0], 1 * GetParam()), second);
  const SeenLog misdirected = Read(device, segments);
  EXPECT_TRUE(misdirected.groups.empty());
  EXPECT_TRUE(misdirected.status.Is(ErrorCode::kCorruption))
      << "the third group knew the first to be durable";
}

TEST_P(WalReaderTest, ALogThatBeginsTooLateForTheTablesIsDamage) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WalWriterOptions options = FirstEpoch();
  options.first_sequence = SequenceNumber(101);
  WriteGroups(device, source, std::move(options), 2, true);
  EXPECT_TRUE(Read(device, source.segments, {}, SequenceNumber(99)).status.Is(ErrorCode::kCorruption));
  EXPECT_TRUE(Read(device, source.segments, {}, SequenceNumber(100)).status.ok());
  // Tables may hold what the log holds too, or more.
  const SeenLog seen = Read(device, source.segments, {}, SequenceNumber(500));
  ASSERT_TRUE(seen.status.ok());
  EXPECT_EQ(seen.end.last_sequence, SequenceNumber(500));
}

}  // namespace
}  // namespace varve
