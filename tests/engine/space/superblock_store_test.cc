#include "engine/space/superblock_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "engine/base/coding.h"
#include "engine/ring/local_executor.h"
#include "engine/space/foreign_content.h"
#include "tests/support/image_file.h"
#include "tests/support/memory_device.h"

namespace varve {
namespace {

constexpr uint64_t kBytes = 64 * kMiB;

class SuperblockStoreTest : public testing::TestWithParam<uint32_t> {
 protected:
  SuperblockStoreTest()
      : device_({.size_bytes = kBytes, .sector_bytes = GetParam(), .volatile_cache = true}) {}

  Superblock Fresh() const {
    Superblock superblock;
    superblock.uuid = MakeUuid(1, 2);
    superblock.label = "test";
    superblock.device_bytes = kBytes;
    superblock.sector_bytes = GetParam();
    return superblock;
  }
  Status Format(MemoryDevice& device) {
    SuperblockStore store(device);
    return executor_.Run(store.Format(Fresh()));
  }
  Result<Superblock> Load(SuperblockStore& store) { return executor_.Run(store.Load()); }
  static std::array<DeviceOffset, kSuperblockCopies> Places() {
    return Layout::ForDevice(kBytes)->superblock_offsets();
  }

  SystemClock clock_;
  LocalExecutor executor_{clock_};
  MemoryDevice device_;
};

INSTANTIATE_TEST_SUITE_P(Sectors, SuperblockStoreTest, testing::Values(512, 4096));

TEST_P(SuperblockStoreTest, FormattedStoreIsFoundAfterACrash) {
  ASSERT_TRUE(Format(device_).ok());
  device_.Crash();
  SuperblockStore store(device_);
  const Result<Superblock> loaded = Load(store);
  ASSERT_TRUE(loaded.ok()) << loaded.ToString();
  EXPECT_EQ(loaded->label, "test");
  EXPECT_EQ(loaded->generation, 1u);
  EXPECT_TRUE(store.problems().empty());
}

TEST_P(SuperblockStoreTest, OneDamagedCopyIsReportedAndRepairedByTheNextUpdate) {
  for (const size_t damaged : {0, 1}) {
    ASSERT_TRUE(Format(device_).ok());
    device_.Corrupt(Places()[damaged].value + 100, 1);
    SuperblockStore store(device_);
    Result<Superblock> loaded = Load(store);
    ASSERT_TRUE(loaded.ok()) << loaded.ToString();
    ASSERT_EQ(store.problems().size(), 1u);
    EXPECT_NE(store.problems()[0].find("checksum"), std::string::npos);
    loaded->manifest.number = 9;
    ASSERT_TRUE(executor_.Run(store.Update(*loaded)).ok());
    SuperblockStore again(device_);
    loaded = Load(again);
    ASSERT_TRUE(loaded.ok());
    EXPECT_EQ(loaded->manifest.number, 9u);
    EXPECT_TRUE(again.problems().empty());
  }
}

// The state that every crash leaves: some number of the update's writes and flushes happened.
TEST_P(SuperblockStoreTest, ACrashAnywhereInAnUpdateLeavesTheOldOrTheNewOne) {
  ASSERT_TRUE(Format(device_).ok());
  for (const bool damage_first : {false, true}) {
    for (uint64_t writes = 0; writes < 3; ++writes) {
      const std::unique_ptr<MemoryDevice> device = device_.Clone();
      if (damage_first) {
        device->Corrupt(Places()[0].value, 4096);
      }
      SuperblockStore store(*device);
      Result<Superblock> loaded = Load(store);
      ASSERT_TRUE(loaded.ok());
      loaded->manifest.number = 9;
      device->DieAtWrite(writes);
      EXPECT_EQ(executor_.Run(store.Update(*loaded)).ok(), writes == 2);
      device->Crash();
      device->Heal();
      SuperblockStore after(*device);
      loaded = Load(after);
      ASSERT_TRUE(loaded.ok()) << writes << ": " << loaded.ToString();
      EXPECT_TRUE(loaded->manifest.number == 0 || loaded->manifest.number == 9);
      if (writes == 2) {
        EXPECT_EQ(loaded->manifest.number, 9u);
      }
    }
  }
}

TEST_P(SuperblockStoreTest, TheNewerCopyIsNeverWrittenFirst) {
  ASSERT_TRUE(Format(device_).ok());
  SuperblockStore store(device_);
  Result<Superblock> loaded = Load(store);
  ASSERT_TRUE(loaded.ok());
  device_.FailWrite(1);
  ASSERT_FALSE(executor_.Run(store.Update(*loaded)).ok());
  // Copy 1 is one generation ahead now; the next update has to begin with copy 0.
  SuperblockStore again(device_);
  loaded = Load(again);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->generation, 2u);
  EXPECT_TRUE(again.problems().empty());
  device_.FailWrite(1);
  ASSERT_FALSE(executor_.Run(again.Update(*loaded)).ok());
  const auto generation_of = [this](uint32_t copy) {
    return DecodeSuperblock(device_.Peek(Places()[copy].value, 4096), copy)->generation;
  };
  EXPECT_EQ(generation_of(0), 3u);
  EXPECT_EQ(generation_of(1), 2u);
}

TEST_P(SuperblockStoreTest, ACopyThatAFailedFlushLeftInTheCacheCanBeMadeDurable) {
  ASSERT_TRUE(Format(device_).ok());
  for (const bool made_durable : {false, true}) {
    SuperblockStore store(device_);
    Result<Superblock> loaded = Load(store);
    ASSERT_TRUE(loaded.ok());
    device_.FailFlush();
    ASSERT_FALSE(executor_.Run(store.Update(*loaded)).ok());
    device_.Heal();
    SuperblockStore again(device_);
    ASSERT_EQ(Load(again)->generation, 2u);
    if (made_durable) {
      ASSERT_TRUE(executor_.Run(again.MakeDurable()).ok());
    }
    device_.Crash();
    SuperblockStore after(device_);
    EXPECT_EQ(Load(after)->generation, made_durable ? 2u : 1u);
  }
}

TEST_P(SuperblockStoreTest, MakingDurableWritesNothingWhereBothCopiesAreEqual) {
  ASSERT_TRUE(Format(device_).ok());
  SuperblockStore store(device_);
  ASSERT_TRUE(Load(store).ok());
  device_.DieAtWrite();
  EXPECT_TRUE(executor_.Run(store.MakeDurable()).ok());
}

TEST_P(SuperblockStoreTest, AnEmptyDeviceIsNotFoundWithTheNextStep) {
  SuperblockStore store(device_);
  const Result<Superblock> loaded = Load(store);
  EXPECT_TRUE(loaded.Is(ErrorCode::kNotFound));
  EXPECT_NE(loaded.ToString().find("mkfs.varve"), std::string::npos);
}

TEST_P(SuperblockStoreTest, TwoDamagedCopiesAreCorruption) {
  ASSERT_TRUE(Format(device_).ok());
  device_.Corrupt(Places()[0].value + 64, 1);
  device_.Corrupt(Places()[1].value + 64, 1);
  SuperblockStore store(device_);
  EXPECT_TRUE(Load(store).Is(ErrorCode::kCorruption));
}

TEST_P(SuperblockStoreTest, AShrunkDeviceIsSaidToBeOne) {
  ASSERT_TRUE(Format(device_).ok());
  Superblock larger = Fresh();
  larger.device_bytes = 2 * kBytes;
  device_.Poke(Places()[0].value, EncodeSuperblock(larger, 0));
  SuperblockStore store(device_);
  const Result<Superblock> loaded = Load(store);
  EXPECT_TRUE(loaded.Is(ErrorCode::kCorruption));
  EXPECT_NE(loaded.ToString().find("shrunk"), std::string::npos) << loaded.ToString();
}

TEST_P(SuperblockStoreTest, AGrownDeviceFindsItsSecondCopyWhereItWas) {
  MemoryDevice grown({.size_bytes = 3 * kBytes, .sector_bytes = GetParam()});
  ASSERT_TRUE(Format(grown).ok());
  SuperblockStore store(grown);
  ASSERT_TRUE(Load(store).ok());
  EXPECT_TRUE(store.problems().empty());
}

TEST_P(SuperblockStoreTest, ANewerVersionsStoreIsRefusedEvenIfAnOlderCopyIsLeft) {
  ASSERT_TRUE(Format(device_).ok());
  Superblock newer = Fresh();
  newer.generation = 5;
  newer.format_version = superblock_format::kFormatVersion + 1;
  device_.Poke(Places()[1].value, EncodeSuperblock(newer, 1));
  SuperblockStore store(device_);
  EXPECT_TRUE(Load(store).Is(ErrorCode::kUnsupported));
}

TEST_P(SuperblockStoreTest, TheStoresSectorsCountOnADeviceWithSmallerOnes) {
  ASSERT_TRUE(Format(device_).ok());
  MemoryDevice smaller(kBytes, 512);
  smaller.Restore(device_.Snapshot());
  SuperblockStore store(smaller);
  ASSERT_TRUE(Load(store).ok());
  EXPECT_EQ(smaller.sector_bytes(), GetParam());
  MemoryDevice larger(kBytes, 4096);
  larger.Restore(device_.Snapshot());
  SuperblockStore other(larger);
  const Result<Superblock> loaded = Load(other);
  EXPECT_EQ(loaded.ok(), GetParam() == 4096);
  EXPECT_TRUE(loaded.ok() || loaded.Is(ErrorCode::kUnsupported));
}

TEST_P(SuperblockStoreTest, AReadErrorOfOneCopyDoesNotKeepTheStoreShut) {
  ASSERT_TRUE(Format(device_).ok());
  device_.FailRead();
  SuperblockStore store(device_);
  ASSERT_TRUE(Load(store).ok());
  ASSERT_EQ(store.problems().size(), 1u);
}

TEST_P(SuperblockStoreTest, LabelsThatDoNotFitAreRefused) {
  SuperblockStore store(device_);
  Superblock superblock = Fresh();
  superblock.label = std::string(65, 'x');
  EXPECT_TRUE(executor_.Run(store.Format(superblock)).Is(ErrorCode::kInvalidArgument));
}

TEST_P(SuperblockStoreTest, WipingZeroesBothEndsAndNothingElse) {
  device_.Poke(1080, "signature");
  device_.Poke(kBytes - 600, "signature");
  device_.Poke(kMiB, "content");
  ASSERT_TRUE(executor_.Run(WipeForeignContent(device_)).ok());
  EXPECT_EQ(device_.Peek(1080, 9), std::string(9, '\0'));
  EXPECT_EQ(device_.Peek(kBytes - 600, 9), std::string(9, '\0'));
  EXPECT_EQ(device_.Peek(kMiB, 7), "content");
}

TEST(ForeignContentTest, NamesTheFilesystemThatIsThere) {
  const ImageFile image(64 * kMiB);
  Result<std::optional<ForeignContent>> found = ProbeForeignContent(image.path());
  ASSERT_TRUE(found.ok()) << found.ToString();
  EXPECT_FALSE(found->has_value());
  if (std::system(("mkfs.ext4 -q -F -L backup " + image.path() + " >/dev/null 2>&1").c_str()) != 0) {
    GTEST_SKIP() << "no mkfs.ext4 here";
  }
  found = ProbeForeignContent(image.path());
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->Describe(), "an ext4 filesystem labelled \"backup\"");
}

TEST(ForeignContentTest, NamesAPartitionTable) {
  const ImageFile image(64 * kMiB);
  // An MBR with one Linux partition of 1,000 sectors from sector 2,048 on.
  std::string sector(512, '\0');
  sector[446 + 4] = '\x83';
  StoreFixed(sector.data() + 446 + 8, uint32_t{2048});
  StoreFixed(sector.data() + 446 + 12, uint32_t{1000});
  sector[510] = '\x55';
  sector[511] = '\xaa';
  std::fstream(image.path(), std::ios::binary | std::ios::in | std::ios::out) << sector;
  const Result<std::optional<ForeignContent>> found = ProbeForeignContent(image.path());
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->Describe(), "a dos partition table");
}

}  // namespace
}  // namespace varve
