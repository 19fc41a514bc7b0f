#include "engine/device/uring_device.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "engine/base/prng.h"
#include "engine/device/aligned_buffer.h"
#include "engine/device/loop_backing.h"
#include "engine/ring/reactor.h"
#include "engine/ring/when_all.h"
#include "tests/support/image_file.h"

namespace varve {
namespace {

constexpr uint64_t kDeviceBytes = 64 * kMiB;

AlignedBuffer RandomBytes(size_t bytes, uint64_t seed) {
  AlignedBuffer buffer(bytes);
  Prng prng(seed);
  for (size_t at = 0; at + 8 <= buffer.size(); at += 8) {
    const uint64_t n = prng.Next();
    std::memcpy(buffer.data() + at, &n, sizeof(n));
  }
  return buffer;
}

// 0: an image file; else a loop device with sectors of so many bytes.
class UringDeviceTest : public testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Reactor>> reactor = Reactor::Create({}, clock_);
    ASSERT_TRUE(reactor.ok()) << reactor.ToString();
    reactor_ = std::move(*reactor);
    if (GetParam() == 0) {
      image_ = std::make_unique<ImageFile>(kDeviceBytes);
      path_ = image_->path();
      return;
    }
    std::string why_not;
    loop_ = ImageLoopDevice::Create(kDeviceBytes, GetParam(), why_not);
    if (loop_ == nullptr) {
      GTEST_SKIP() << why_not;
    }
    path_ = loop_->path();
  }

  std::unique_ptr<ClaimedDevice> Open(const UringDeviceOptions& options = {}) {
    Result<std::unique_ptr<ClaimedDevice>> device = OpenUringDevice(path_, options);
    EXPECT_TRUE(device.ok()) << device.ToString();
    return device.ok() ? std::move(*device) : nullptr;
  }
  Status OpenStatus(const UringDeviceOptions& options = {}) {
    return OpenUringDevice(path_, options).status();
  }
  Status Write(BlockDevice& device, uint64_t offset, const AlignedBuffer& buffer,
               Persistence persistence = Persistence::kCached) {
    return RunBlocking(*reactor_,
                       device.Write(DeviceOffset(offset), buffer.span(), IoPurpose::kWal, persistence));
  }
  Status Read(BlockDevice& device, uint64_t offset, AlignedBuffer& buffer) {
    return RunBlocking(*reactor_, device.Read(DeviceOffset(offset), buffer.span(), IoPurpose::kCheck));
  }

  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<ImageFile> image_;
  std::unique_ptr<ImageLoopDevice> loop_;
  std::string path_;
};

INSTANTIATE_TEST_SUITE_P(FileAndLoop, UringDeviceTest, testing::Values(0, 512, 4096));

TEST_P(UringDeviceTest, KnowsItsSizeAndSector) {
  const std::unique_ptr<ClaimedDevice> device = Open();
  EXPECT_EQ(device->size_bytes(), kDeviceBytes);
  if (GetParam() != 0) {
    EXPECT_EQ(device->sector_bytes(), GetParam());
  }
  EXPECT_EQ(device->is_block_device(), GetParam() != 0);
}

TEST_P(UringDeviceTest, TransfersOfEverySizeReadBack) {
  const std::unique_ptr<ClaimedDevice> device = Open();
  uint64_t seed = 1;
  for (const uint64_t bytes : {uint64_t{4096}, 64 * kKiB, kMiB, kMiB + 4096, 20 * kMiB + 8192}) {
    const AlignedBuffer written = RandomBytes(bytes, seed++);
    const Persistence persistence = seed % 2 == 0 ? Persistence::kDurable : Persistence::kCached;
    const Status status = Write(*device, 3 * 4096, written, persistence);
    ASSERT_TRUE(status.ok()) << status.ToString();
    AlignedBuffer read(bytes);
    ASSERT_TRUE(Read(*device, 3 * 4096, read).ok());
    EXPECT_EQ(written.view(), read.view()) << bytes;
  }
  EXPECT_TRUE(RunBlocking(*reactor_, device->Flush(IoPurpose::kWal)).ok());
}

Task<Status> ManyReads(BlockDevice& device, AlignedBuffer& into, size_t count) {
  std::vector<Task<Status>> reads;
  const size_t bytes = into.size() / count;
  for (size_t i = 0; i < count; ++i) {
    reads.push_back(
        device.Read(DeviceOffset(i * bytes), into.span().subspan(i * bytes, bytes), IoPurpose::kCheck));
  }
  Status status = co_await WhenAllOk(std::move(reads));
  co_return status;
}

TEST_P(UringDeviceTest, ReadsInFlightTogetherEachGetTheirOwnBytes) {
  const std::unique_ptr<ClaimedDevice> device = Open();
  const AlignedBuffer written = RandomBytes(4 * kMiB, 7);
  ASSERT_TRUE(Write(*device, 0, written).ok());
  AlignedBuffer read(written.size());
  const Status status = RunBlocking(*reactor_, ManyReads(*device, read, 512));
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(written.view(), read.view());
}

TEST_P(UringDeviceTest, DiscardSucceedsAndLeavesTheRestAlone) {
  const std::unique_ptr<ClaimedDevice> device = Open();
  const AlignedBuffer written = RandomBytes(kMiB, 9);
  ASSERT_TRUE(Write(*device, 0, written).ok());
  const Status status = RunBlocking(*reactor_, device->Discard(DeviceOffset(128 * kKiB), 64 * kKiB));
  ASSERT_TRUE(status.ok()) << status.ToString();
  AlignedBuffer read(kMiB);
  ASSERT_TRUE(Read(*device, 0, read).ok());
  EXPECT_EQ(written.view().substr(0, 128 * kKiB), read.view().substr(0, 128 * kKiB));
  EXPECT_EQ(written.view().substr(192 * kKiB), read.view().substr(192 * kKiB));
  // Loop devices and files give the space back, and then it reads as zeros.
  EXPECT_EQ(read.view().substr(128 * kKiB, 64 * kKiB), std::string(64 * kKiB, '\0'));
}

TEST_P(UringDeviceTest, ASecondExclusiveOpenIsBusyUntilTheFirstCloses) {
  std::unique_ptr<ClaimedDevice> device = Open();
  EXPECT_TRUE(OpenStatus().Is(ErrorCode::kBusy)) << OpenStatus().ToString();
  EXPECT_TRUE(OpenStatus({.read_only = true}).Is(ErrorCode::kBusy));
  EXPECT_TRUE(OpenStatus({.read_only = true, .claim = DeviceClaim::kNone}).ok());
  device.reset();
  EXPECT_TRUE(OpenStatus().ok());
}

TEST_P(UringDeviceTest, BusyNamesTheProcessThatHoldsIt) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    const Result<std::unique_ptr<ClaimedDevice>> device = OpenUringDevice(path_, {});
    const char result = device.ok() ? 'y' : 'n';
    if (write(ready[1], &result, 1) == 1) {
      pause();
    }
    _exit(0);
  }
  char opened = 'n';
  ASSERT_EQ(read(ready[0], &opened, 1), 1);
  EXPECT_EQ(opened, 'y');
  const Status status = OpenStatus();
  EXPECT_TRUE(status.Is(ErrorCode::kBusy));
  EXPECT_NE(status.ToString().find(std::to_string(holder)), std::string::npos) << status.ToString();
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

TEST_P(UringDeviceTest, AReleasedClaimLetsTheKernelClaimABlockDevice) {
  const std::unique_ptr<ClaimedDevice> device = Open({.claim = DeviceClaim::kExclusiveUntilMount});
  EXPECT_TRUE(OpenStatus().Is(ErrorCode::kBusy));
  ASSERT_TRUE(device->ReleaseClaim().ok());
  if (device->is_block_device()) {
    const int claimed = open(path_.c_str(), O_RDWR | O_EXCL | O_CLOEXEC);
    EXPECT_GE(claimed, 0) << strerror(errno);
    close(claimed);
  } else {
    EXPECT_TRUE(OpenStatus().Is(ErrorCode::kBusy));
  }
  const AlignedBuffer written = RandomBytes(4096, 3);
  EXPECT_TRUE(Write(*device, 0, written).ok());
}

// As after a forced unmount, when the kernel has dropped its claim while the daemon still closes its store.
// The image under the loop device has no name here, so that its lock does not help.
TEST_P(UringDeviceTest, ABlockDeviceStaysLockedWhenNothingClaimsIt) {
  if (GetParam() == 0) {
    GTEST_SKIP() << "files have no other claim than their lock";
  }
  ASSERT_EQ(unlink(loop_->image_path().c_str()), 0);
  std::unique_ptr<ClaimedDevice> device = Open({.claim = DeviceClaim::kExclusiveUntilMount});
  ASSERT_TRUE(device->ReleaseClaim().ok());
  EXPECT_TRUE(OpenStatus().Is(ErrorCode::kBusy));
  EXPECT_TRUE(OpenStatus({.read_only = true}).Is(ErrorCode::kBusy));
  EXPECT_TRUE(OpenStatus({.read_only = true, .claim = DeviceClaim::kNone}).ok());
  device.reset();
  EXPECT_TRUE(OpenStatus().ok());
}

TEST_P(UringDeviceTest, ABlockDeviceIsLockedUnderEveryNodeOfIt) {
  if (GetParam() == 0) {
    GTEST_SKIP() << "a file has one inode";
  }
  ASSERT_EQ(unlink(loop_->image_path().c_str()), 0);
  struct stat found {};
  ASSERT_EQ(stat(path_.c_str(), &found), 0);
  const std::string copy = loop_->image_path() + ".node";
  if (mknod(copy.c_str(), S_IFBLK | 0600, found.st_rdev) != 0) {
    GTEST_SKIP() << "no node of a device can be made";
  }
  const std::unique_ptr<ClaimedDevice> device = Open({.claim = DeviceClaim::kExclusiveUntilMount});
  ASSERT_TRUE(device->ReleaseClaim().ok());
  EXPECT_TRUE(OpenUringDevice(copy, {}).Is(ErrorCode::kBusy));
  unlink(copy.c_str());
}

TEST_P(UringDeviceTest, ReadersOfABlockDeviceKeepWritersOff) {
  if (GetParam() == 0) {
    GTEST_SKIP() << "the lock of a file is exclusive";
  }
  ASSERT_EQ(unlink(loop_->image_path().c_str()), 0);
  const UringDeviceOptions reading = {.read_only = true, .claim = DeviceClaim::kExclusiveUntilMount};
  const std::unique_ptr<ClaimedDevice> device = Open(reading);
  ASSERT_TRUE(device->ReleaseClaim().ok());
  EXPECT_TRUE(OpenStatus(reading).ok());
  EXPECT_TRUE(OpenStatus().Is(ErrorCode::kBusy));
}

// udev and partition tools agree by flock(2), and would wait as long as a mount lasts.
TEST_P(UringDeviceTest, TheLockOfABlockDeviceLeavesFlockToOthers) {
  if (GetParam() == 0) {
    GTEST_SKIP() << "the lock of a file is flock";
  }
  const std::unique_ptr<ClaimedDevice> device = Open();
  const int other = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(other, 0) << strerror(errno);
  EXPECT_EQ(flock(other, LOCK_EX | LOCK_NB), 0) << strerror(errno);
  close(other);
}

TEST_P(UringDeviceTest, AnImageIsBusyUnderItsOtherNameToo) {
  if (GetParam() == 0) {
    const std::unique_ptr<ClaimedDevice> device = Open();
    const int status = std::system(("losetup --find " + path_ + " 2>/dev/null").c_str());
    if (status != 0) {
      GTEST_SKIP() << "no loop device can be made";
    }
    struct stat found {};
    ASSERT_EQ(stat(path_.c_str(), &found), 0);
    const std::string loop = LoopDeviceOver(found);
    EXPECT_TRUE(OpenUringDevice(loop, {}).Is(ErrorCode::kBusy));
    EXPECT_EQ(std::system(("losetup --detach " + loop).c_str()), 0);
    return;
  }
  const Status status = OpenUringDevice(loop_->image_path(), {}).status();
  EXPECT_TRUE(status.Is(ErrorCode::kBusy));
  EXPECT_NE(status.ToString().find(path_), std::string::npos) << status.ToString();
}

TEST_P(UringDeviceTest, WritesToAReadOnlyDeviceFailWithAMessage) {
  const std::unique_ptr<ClaimedDevice> device = Open({.read_only = true});
  const Status status = Write(*device, 8192, RandomBytes(4096, 3));
  EXPECT_TRUE(status.Is(ErrorCode::kDeviceError));
  EXPECT_NE(status.ToString().find(path_), std::string::npos);
  EXPECT_NE(status.ToString().find("8192"), std::string::npos);
}

TEST_P(UringDeviceTest, ReadingBeyondAShrunkFileIsAnErrorNotAHang) {
  if (GetParam() != 0) {
    GTEST_SKIP() << "only files shrink";
  }
  const std::unique_ptr<ClaimedDevice> device = Open();
  ASSERT_EQ(truncate(path_.c_str(), kMiB), 0);
  AlignedBuffer read(2 * kMiB);
  EXPECT_TRUE(Read(*device, 0, read).Is(ErrorCode::kDeviceError));
}

TEST(UringDeviceOpenTest, WhatIsNoDeviceIsRefusedByName) {
  EXPECT_TRUE(OpenUringDevice("/nonexistent/device", {}).Is(ErrorCode::kNotFound));
  EXPECT_TRUE(OpenUringDevice("/tmp", {}).Is(ErrorCode::kInvalidArgument));
  EXPECT_TRUE(OpenUringDevice("/dev/null", {}).Is(ErrorCode::kInvalidArgument));
}

TEST(UringDeviceOpenTest, AFileThatRefusesDirectIoIsUnsupported) {
  // Files of sysfs and proc refuse O_DIRECT on every kernel.
  const Result<std::unique_ptr<ClaimedDevice>> device =
      OpenUringDevice("/proc/version", {.read_only = true, .claim = DeviceClaim::kNone});
  ASSERT_FALSE(device.ok());
  EXPECT_TRUE(device.Is(ErrorCode::kUnsupported)) << device.ToString();
}

}  // namespace
}  // namespace varve
