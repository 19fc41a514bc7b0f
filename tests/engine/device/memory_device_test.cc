#include "tests/support/memory_device.h"

#include <gtest/gtest.h>

#include <cstring>

#include "engine/device/aligned_buffer.h"
#include "engine/ring/local_executor.h"

namespace varve {
namespace {

AlignedBuffer Filled(size_t bytes, char with, uint32_t sector) {
  AlignedBuffer buffer(bytes, sector);
  std::memset(buffer.data(), with, buffer.size());
  return buffer;
}

class MemoryDeviceTest : public testing::TestWithParam<uint32_t> {
 protected:
  uint32_t sector() const { return GetParam(); }
  Status Write(BlockDevice& device, uint64_t offset, char with,
               Persistence persistence = Persistence::kCached) {
    const AlignedBuffer buffer = Filled(sector(), with, sector());
    return executor_.Run(device.Write(DeviceOffset(offset), buffer.span(), IoPurpose::kWal, persistence));
  }
  char Read(BlockDevice& device, uint64_t offset) {
    AlignedBuffer buffer(sector(), sector());
    const Status status = executor_.Run(device.Read(DeviceOffset(offset), buffer.span(), IoPurpose::kCheck));
    EXPECT_TRUE(status.ok()) << status.ToString();
    return buffer.chars()[0];
  }
  Status Flush(BlockDevice& device) { return executor_.Run(device.Flush(IoPurpose::kWal)); }

  SystemClock clock_;
  LocalExecutor executor_{clock_};
};

INSTANTIATE_TEST_SUITE_P(Sectors, MemoryDeviceTest, testing::Values(512, 4096));

TEST_P(MemoryDeviceTest, ReadsWhatWasWrittenAndZerosElsewhere) {
  MemoryDevice device(kMiB, sector());
  ASSERT_TRUE(Write(device, sector(), 'a').ok());
  EXPECT_EQ(Read(device, sector()), 'a');
  EXPECT_EQ(Read(device, 0), '\0');
}

TEST_P(MemoryDeviceTest, MisalignedAndOutlyingCallsAreRefusedBeforeTheDevice) {
  MemoryDevice device(kMiB, sector());
  AlignedBuffer buffer(2 * sector(), sector());
  const auto read = [this, &device](uint64_t offset, std::span<std::byte> into) {
    return executor_.Run(device.Read(DeviceOffset(offset), into, IoPurpose::kCheck));
  };
  EXPECT_TRUE(read(1, buffer.span()).Is(ErrorCode::kInvalidArgument));
  EXPECT_TRUE(read(0, buffer.span().subspan(0, 100)).Is(ErrorCode::kInvalidArgument));
  EXPECT_TRUE(read(0, buffer.span().subspan(8, sector())).Is(ErrorCode::kInvalidArgument));
  EXPECT_TRUE(read(kMiB - sector(), buffer.span()).Is(ErrorCode::kInvalidArgument));
  EXPECT_TRUE(read(~uint64_t{0} - sector() + 1, buffer.span()).Is(ErrorCode::kInvalidArgument));
  EXPECT_EQ(device.counters().of(IoPurpose::kCheck).reads, 0u);
}

TEST_P(MemoryDeviceTest, CountsCompletedOperationsByPurpose) {
  MemoryDevice device(kMiB, sector());
  ASSERT_TRUE(Write(device, 0, 'a').ok());
  ASSERT_TRUE(Flush(device).ok());
  device.FailWrite();
  ASSERT_FALSE(Write(device, 0, 'b').ok());
  EXPECT_EQ(device.counters().of(IoPurpose::kWal).writes, 1u);
  EXPECT_EQ(device.counters().of(IoPurpose::kWal).written_bytes, sector());
  EXPECT_EQ(device.counters().of(IoPurpose::kWal).flushes, 1u);
  EXPECT_EQ(device.counters().of(IoPurpose::kFlush).writes, 0u);
}

TEST_P(MemoryDeviceTest, CrashKeepsOnlyFlushedAndDurableWrites) {
  MemoryDevice device(
      MemoryDeviceOptions{.size_bytes = kMiB, .sector_bytes = sector(), .volatile_cache = true});
  ASSERT_TRUE(Write(device, 0, 'a').ok());
  ASSERT_TRUE(Flush(device).ok());
  ASSERT_TRUE(Write(device, 0, 'b').ok());
  ASSERT_TRUE(Write(device, sector(), 'c', Persistence::kDurable).ok());
  EXPECT_EQ(Read(device, 0), 'b');
  device.Crash();
  EXPECT_EQ(Read(device, 0), 'a');
  EXPECT_EQ(Read(device, sector()), 'c');
}

TEST_P(MemoryDeviceTest, FaultsHitTheChosenOperationOnce) {
  MemoryDevice device(kMiB, sector());
  device.FailWrite(1);
  EXPECT_TRUE(Write(device, 0, 'a').ok());
  EXPECT_TRUE(Write(device, 0, 'b').Is(ErrorCode::kDeviceError));
  EXPECT_EQ(Read(device, 0), 'a');
  EXPECT_TRUE(Write(device, 0, 'c').ok());
  device.DieAtWrite();
  EXPECT_FALSE(Write(device, 0, 'd').ok());
  EXPECT_FALSE(Flush(device).ok());
  device.Heal();
  EXPECT_TRUE(Write(device, 0, 'd').ok());
}

TEST_P(MemoryDeviceTest, AfterAFailedFlushOrDurableWriteNoFlushSucceeds) {
  MemoryDevice device(kMiB, sector());
  device.FailFlush();
  EXPECT_TRUE(Flush(device).Is(ErrorCode::kDeviceError));
  EXPECT_TRUE(Flush(device).Is(ErrorCode::kDeviceError));
  EXPECT_TRUE(Write(device, 0, 'a').ok());
  device.Heal();
  EXPECT_TRUE(Flush(device).ok());
  device.FailWrite();
  EXPECT_FALSE(Write(device, 0, 'b', Persistence::kDurable).ok());
  EXPECT_TRUE(Flush(device).Is(ErrorCode::kDeviceError));
}

TEST_P(MemoryDeviceTest, SnapshotAndCloneAreIndependentOfLaterWrites) {
  MemoryDevice device(kMiB, sector());
  ASSERT_TRUE(Write(device, 0, 'a').ok());
  const MemoryDevice::Contents before = device.Snapshot();
  const std::unique_ptr<MemoryDevice> clone = device.Clone();
  ASSERT_TRUE(Write(device, 0, 'b').ok());
  EXPECT_EQ(Read(*clone, 0), 'a');
  device.Restore(before);
  EXPECT_EQ(Read(device, 0), 'a');
  device.Corrupt(0, 1);
  EXPECT_EQ(Read(device, 0), static_cast<char>(~'a'));
  EXPECT_EQ(Read(*clone, 0), 'a');
}

}  // namespace
}  // namespace varve
