#include "engine/wal/wal_writer.h"

#include <atomic>
#include <thread>

#include "engine/base/prng.h"
#include "tests/engine/wal/wal_fixture.h"

namespace varve {
namespace {

class WalWriterTest : public WalTest {};
INSTANTIATE_TEST_SUITE_P(Sectors, WalWriterTest, testing::Values(512, 4096));

TEST_P(WalWriterTest, GroupsOfEverySizeAreReadAsTheyWereWritten) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WalWriter writer(device, source, FirstEpoch());
  Start(writer);
  Prng prng(1);
  std::string all;
  uint64_t sequence = 1;
  std::vector<size_t> sizes = {0, 1, 440, 441, 448, 449, 4020, 4032, 4033, 100000, kValueBytesMax};
  for (int i = 0; i < 150; i++) {
    sizes.push_back(prng.OneIn(8) ? prng.Below(kValueBytesMax) : prng.Below(3000));
  }
  for (const size_t size : sizes) {
    const std::string records =
        OneRecord("key" + std::to_string(size), std::string(size, static_cast<char>(sequence)));
    EXPECT_EQ(Append(writer, records).value, sequence);
    all += records;
    sequence++;
    ASSERT_TRUE(executor.Run(writer.Sync()).ok());
    EXPECT_EQ(writer.durable_sequence().value, sequence - 1);
  }
  EXPECT_GT(writer.statistics().segments, 1u);
  const SeenLog seen = Read(device, source.segments);
  ASSERT_TRUE(seen.status.ok()) << seen.status.ToString();
  EXPECT_EQ(seen.groups.size(), sizes.size());
  EXPECT_EQ(seen.records(), all);
  EXPECT_EQ(seen.end.last_sequence.value, sequence - 1);
  EXPECT_EQ(seen.end.next_lsn, writer.next_lsn());
  executor.Run(writer.Close());
}

TEST_P(WalWriterTest, TheLargestBatchFitsAGroupOfItsOwn) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WalWriter writer(device, source, FirstEpoch());
  Start(writer);
  std::string records;
  AppendPutRecord(records, "a", std::string(kValueBytesMax, 'a'));
  AppendPutRecord(records, "b", std::string(kBatchBytesMax - records.size() - 6, 'b'));
  ASSERT_EQ(records.size(), kBatchBytesMax);
  Append(writer, OneRecord("small"));
  Append(writer, records, 2);
  Append(writer, OneRecord("small"));
  ASSERT_TRUE(executor.Run(writer.Sync()).ok());
  const SeenLog seen = Read(device, source.segments);
  ASSERT_TRUE(seen.status.ok());
  ASSERT_EQ(seen.groups.size(), 3u);
  EXPECT_EQ(seen.groups[1].records, records);
  EXPECT_EQ(seen.groups[1].header.record_count, 2u);
  executor.Run(writer.Close());
}

TEST_P(WalWriterTest, BatchesThatArriveDuringAWriteShareTheNextGroup) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WalWriter writer(device, source, FirstEpoch());
  Start(writer);
  size_t synced = 0;
  const auto write = [](WalWriter& log, std::string records, size_t& done) -> Task<void> {
    const WalAppend append = log.TryAppend(records, 1);
    Status status = co_await log.SyncTo(append.first_sequence);
    EXPECT_TRUE(status.ok());
    EXPECT_GE(log.durable_sequence(), append.first_sequence);
    done++;
  };
  const auto write_many = [&write](WalWriter& log, size_t& done) -> Task<void> {
    for (int i = 0; i < 20; i++) {
      Spawn(write(log, OneRecord("k" + std::to_string(i)), done));
    }
    Status status = co_await log.Sync();
    EXPECT_TRUE(status.ok());
  };
  executor.Run(write_many(writer, synced));
  executor.RunReady();
  EXPECT_EQ(synced, 20u);
  // The first in a group alone, the others together: each one durable write.
  EXPECT_EQ(writer.statistics().groups, 2u);
  EXPECT_EQ(device.counters().of(IoPurpose::kWal).writes.load(), 2u);
  EXPECT_EQ(device.counters().of(IoPurpose::kWal).flushes.load(), 1u) << "only the one of Start()";
  executor.Run(writer.Close());
}

TEST_P(WalWriterTest, AnAcknowledgedSyncSurvivesTheLossOfTheDevicesCache) {
  MemoryDevice device(DeviceOptions(GetParam(), true));
  TestSegmentSource source;
  WalWriter writer(device, source, FirstEpoch());
  Start(writer);
  std::string all;
  // Bulk groups go out without durability; the sync behind them has to make them durable too.
  for (int i = 0; i < 40; i++) {
    const std::string records = OneRecord(std::to_string(i), std::string(100 * kKiB, 'v'));
    Append(writer, records);
    all += records;
    executor.RunReady();
  }
  EXPECT_GT(writer.statistics().groups, 0u);
  ASSERT_TRUE(executor.Run(writer.Sync()).ok());
  Append(writer, OneRecord("lost"));
  WriteOut(writer);
  device.Crash();
  const SeenLog seen = Read(device, source.segments);
  ASSERT_TRUE(seen.status.ok()) << seen.status.ToString();
  EXPECT_EQ(seen.records(), all);
  executor.Run(writer.Close());
}

TEST_P(WalWriterTest, WriteOutReachesTheDeviceWithoutASync) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WalWriter writer(device, source, FirstEpoch());
  Start(writer);
  Append(writer, OneRecord("k"));
  EXPECT_EQ(Read(device, source.segments).groups.size(), 0u);
  WriteOut(writer);
  EXPECT_EQ(Read(device, source.segments).groups.size(), 1u);
  EXPECT_EQ(writer.durable_sequence().value, 0u);
  executor.Run(writer.Close());
}

TEST_P(WalWriterTest, AFullLogSaysSoAndTakesMoreWhenAWriteHasEnded) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WalWriter writer(device, source, FirstEpoch());
  Start(writer);
  const std::string records = OneRecord("k", std::string(kMiB, 'v'));
  // Nothing runs the writes meanwhile.
  const auto fill = [](WalWriter& log, const std::string& batch) -> Task<int> {
    int batches = 0;
    while (batches < 100 && log.TryAppend(batch, 1).outcome == WalAppend::Outcome::kAppended) {
      batches++;
    }
    co_return batches;
  };
  const int appended = executor.Run(fill(writer, records));
  EXPECT_LT(appended, 100);
  EXPECT_GE(appended, 4);
  executor.Run(writer.WaitForRoom(records.size()));
  EXPECT_EQ(TryAppend(writer, records).outcome, WalAppend::Outcome::kAppended);
  ASSERT_TRUE(executor.Run(writer.Sync()).ok());
  EXPECT_EQ(Read(device, source.segments).last_sequence(), static_cast<uint64_t>(appended) + 1);
  executor.Run(writer.Close());
}

TEST_P(WalWriterTest, SegmentsBelowASequenceNumberAreGivenBackOnce) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  source.yields = true;
  WalWriter writer(device, source, FirstEpoch());
  Start(writer);
  const std::string records = OneRecord("k", std::string(kMiB, 'v'));
  std::vector<uint64_t> lasts;
  while (source.segments.size() < 5) {
    lasts.push_back(Append(writer, records).value);
    ASSERT_TRUE(executor.Run(writer.Sync()).ok());
  }
  EXPECT_TRUE(writer.ReleaseUpTo(SequenceNumber(1)).segments.empty());
  EXPECT_FALSE(writer.ReleaseUpTo(SequenceNumber(1)).log_start);
  const uint64_t half = lasts[lasts.size() / 2];
  const WalWriter::Releasable released = writer.ReleaseUpTo(SequenceNumber(half));
  ASSERT_FALSE(released.segments.empty());
  EXPECT_EQ(released.segments.front(), source.segments.front());
  // What stays holds everything above, and begins where the writer says.
  std::vector<WalSegment> rest(
      source.segments.begin() + static_cast<std::ptrdiff_t>(released.segments.size()), source.segments.end());
  const SeenLog seen = Read(device, rest, *released.log_start, SequenceNumber(half));
  ASSERT_TRUE(seen.status.ok()) << seen.status.ToString();
  EXPECT_EQ(seen.groups.front().header.lsn, *released.log_start);
  EXPECT_LE(seen.groups.front().header.first_sequence.value, half + 1);
  EXPECT_EQ(seen.last_sequence(), lasts.back());
  EXPECT_TRUE(writer.ReleaseUpTo(SequenceNumber(half)).segments.empty());
  executor.Run(writer.Close());
}

// What lies in the segment that is written is in tables, and more than half of it is used: so there is the
// next.
TEST_P(WalWriterTest, ASegmentOfWhichAllIsInTablesIsLeftForTheNext) {
  for (const bool is_scarce : {false, true}) {
    MemoryDevice device(DeviceOptions(GetParam()));
    TestSegmentSource source;
    source.yields = true;
    source.is_scarce = is_scarce;
    WalWriter writer(device, source, FirstEpoch());
    Start(writer);
    const std::string records = OneRecord("k", std::string(kMiB, 'v'));
    uint64_t last = 0;
    for (int i = 0; i < 6; ++i) {
      last = Append(writer, records).value;
      ASSERT_TRUE(executor.Run(writer.Sync()).ok());
    }
    ASSERT_EQ(source.segments.size(), 2U);
    EXPECT_TRUE(writer.ReleaseUpTo(SequenceNumber(last - 1)).segments.empty());
    const WalWriter::Releasable released = writer.ReleaseUpTo(SequenceNumber(last));
    ASSERT_EQ(released.segments.size(), is_scarce ? 0U : 1U);
    const uint64_t behind = Append(writer, OneRecord("k", "behind")).value;
    ASSERT_TRUE(executor.Run(writer.Sync()).ok());
    EXPECT_TRUE(writer.ReleaseUpTo(SequenceNumber(last)).segments.empty());
    EXPECT_EQ(source.segments.size(), 2U);
    if (!is_scarce) {
      EXPECT_EQ(released.segments.front(), source.segments.front());
      const SeenLog seen = Read(device, {source.segments.back()}, *released.log_start, SequenceNumber(last));
      ASSERT_TRUE(seen.status.ok()) << seen.status.ToString();
      ASSERT_EQ(seen.groups.size(), 1U);
      EXPECT_EQ(seen.groups.front().header.lsn, *released.log_start);
      EXPECT_EQ(seen.last_sequence(), behind);
    }
    executor.Run(writer.Close());
  }
}

TEST_P(WalWriterTest, AFailedWriteFailsEveryWaiterAndEverythingAfterIt) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  WalWriter writer(device, source, FirstEpoch());
  Start(writer);
  Append(writer, OneRecord("good"));
  ASSERT_TRUE(executor.Run(writer.Sync()).ok());
  device.FailWrite();
  const SequenceNumber bad = Append(writer, OneRecord("bad"));
  EXPECT_TRUE(executor.Run(writer.SyncTo(bad)).Is(ErrorCode::kDeviceError));
  EXPECT_EQ(TryAppend(writer, OneRecord("later")).outcome, WalAppend::Outcome::kFailed);
  EXPECT_TRUE(executor.Run(writer.SyncTo(bad)).Is(ErrorCode::kDeviceError));
  EXPECT_TRUE(writer.failure().Is(ErrorCode::kDeviceError));
  EXPECT_TRUE(executor.Run(writer.SyncTo(SequenceNumber(1))).ok()) << "what was durable stays so";
  executor.Run(writer.WaitForRoom(1));
  executor.Run(writer.Close());
  EXPECT_EQ(Read(device, source.segments).last_sequence(), 1u);
}

TEST_P(WalWriterTest, AFailedFlushIsNeverTriedAgain) {
  MemoryDevice device(DeviceOptions(GetParam(), true));
  TestSegmentSource source;
  WalWriter writer(device, source, FirstEpoch());
  Start(writer);
  Append(writer, OneRecord("cached"));
  WriteOut(writer);
  device.FailFlush();
  EXPECT_TRUE(executor.Run(writer.Sync()).Is(ErrorCode::kDeviceError));
  const uint64_t flushes = device.counters().of(IoPurpose::kWal).flushes.load();
  EXPECT_TRUE(executor.Run(writer.Sync()).Is(ErrorCode::kDeviceError));
  EXPECT_EQ(device.counters().of(IoPurpose::kWal).flushes.load(), flushes);
  EXPECT_EQ(writer.durable_sequence().value, 0u);
  executor.Run(writer.Close());
}

TEST_P(WalWriterTest, WithoutANewSegmentTheLogFails) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  source.segments_left = 1;
  WalWriter writer(device, source, FirstEpoch());
  Start(writer);
  const std::string records = OneRecord("k", std::string(kMiB, 'v'));
  Status status;
  for (int i = 0; i < 20 && status.ok(); i++) {
    if (TryAppend(writer, records).outcome == WalAppend::Outcome::kFailed) {
      status = writer.failure();
    } else {
      status = executor.Run(writer.Sync());
    }
  }
  EXPECT_TRUE(status.Is(ErrorCode::kNoSpace)) << status.ToString();
  executor.Run(writer.Close());
}

TEST_P(WalWriterTest, ANextSegmentThatCannotBeHadYetIsAskedForAgain) {
  MemoryDevice device(DeviceOptions(GetParam()));
  TestSegmentSource source;
  source.segments_left = 1;
  source.is_scarce = true;
  WalWriter writer(device, source, FirstEpoch());
  Start(writer);
  Append(writer, OneRecord("k", std::string(kMiB, 'v')));
  ASSERT_TRUE(executor.Run(writer.Sync()).ok()) << "the segment that is there has room";
  source.segments_left = 1;
  for (int i = 0; i < 12; i++) {
    Append(writer, OneRecord("k", std::string(kMiB, 'v')));
    ASSERT_TRUE(executor.Run(writer.Sync()).ok()) << i;
  }
  EXPECT_EQ(source.segments.size(), 2u);
  executor.Run(writer.Close());
}

TEST_P(WalWriterTest, ThreadsAppendAndSyncAtOnceAndNothingIsLostOrReordered) {
  MemoryDevice device(DeviceOptions(GetParam(), true));
  TestSegmentSource source;
  WalWriter writer(device, source, FirstEpoch());
  Start(writer);
  constexpr uint64_t kThreads = 3;
  constexpr uint64_t kBatches = 300;
  std::vector<std::thread> threads;
  std::vector<std::vector<uint64_t>> sequences(kThreads);
  for (uint64_t t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      LocalExecutor own(clock);
      const auto work = [](WalWriter& log, uint64_t thread, std::vector<uint64_t>& got) -> Task<void> {
        Prng prng(thread);
        for (uint64_t i = 0; i < kBatches; i++) {
          std::string records;
          const auto count = static_cast<uint32_t>(prng.Between(1, 3));
          for (uint32_t r = 0; r < count; r++) {
            AppendPutRecord(records, std::to_string(thread),
                            std::to_string(i) + std::string(prng.Below(60000), 'v'));
          }
          WalAppend append = log.TryAppend(records, count);
          while (append.outcome == WalAppend::Outcome::kFull) {
            co_await log.WaitForRoom(records.size());
            append = log.TryAppend(records, count);
          }
          EXPECT_EQ(append.outcome, WalAppend::Outcome::kAppended);
          got.push_back(append.first_sequence.value);
          if (append.write_due) {
            log.StartWrites();
          }
          if (prng.OneIn(3)) {
            Status status = co_await log.SyncTo(append.first_sequence);
            EXPECT_TRUE(status.ok());
            EXPECT_GE(log.durable_sequence(), append.first_sequence);
          }
        }
        Status status = co_await log.Sync();
        EXPECT_TRUE(status.ok());
      };
      own.Run(work(writer, t, sequences[t]));
      // Writes that this thread started for the others end here too.
      own.Run(writer.Close());
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  device.Crash();
  const SeenLog seen = Read(device, source.segments);
  ASSERT_TRUE(seen.status.ok()) << seen.status.ToString();
  EXPECT_EQ(seen.last_sequence(), writer.last_sequence().value);
  // Each thread's batches are in the log under the numbers that it was told.
  std::vector<std::string> value_of(writer.last_sequence().value + 1);
  std::vector<std::string> key_of(value_of.size());
  uint64_t sequence = 1;
  const std::string all = seen.records();
  BatchRecordReader reader(all);
  for (; reader.Next(); sequence++) {
    key_of[sequence] = reader.record().key;
    value_of[sequence] = reader.record().value.substr(0, reader.record().value.find('v'));
  }
  ASSERT_EQ(sequence - 1, writer.last_sequence().value);
  for (uint64_t t = 0; t < kThreads; t++) {
    ASSERT_EQ(sequences[t].size(), kBatches);
    for (uint64_t i = 0; i < kBatches; i++) {
      ASSERT_EQ(key_of[sequences[t][i]], std::to_string(t));
      ASSERT_EQ(value_of[sequences[t][i]], std::to_string(i));
    }
  }
}

}  // namespace
}  // namespace varve
