// Crashes of a device with a volatile cache: every write that was under way or not flushed may be there, in
// whole or in part, or not, in any combination.
#include <map>
#include <memory>
#include <set>

#include "engine/base/prng.h"
#include "tests/engine/wal/wal_fixture.h"

namespace varve {
namespace {

// Remembers every write and what made it durable, to make devices as a crash would leave them.
class CrashDevice final : public BlockDevice {
 public:
  CrashDevice(std::unique_ptr<MemoryDevice> before, Prng& prng)
      : BlockDevice("crash", before->size_bytes(), before->sector_bytes()),
        before_(std::move(before)),
        now_(before_->Clone()),
        prng_(prng) {}

  // Each sector that may be lost is lost when `keep` says so of its write.
  template <typename Keep>
  std::unique_ptr<MemoryDevice> Crash(Keep keep) const {
    std::unique_ptr<MemoryDevice> left = before_->Clone();
    for (size_t i = 0; i < writes_.size(); i++) {
      const Write& write = writes_[i];
      for (size_t at = 0; at < write.bytes.size(); at += sector_bytes()) {
        if (write.durable || keep(i)) {
          left->Poke(write.offset + at, std::string_view(write.bytes).substr(at, sector_bytes()));
        }
      }
    }
    return left;
  }
  size_t writes() const { return writes_.size(); }
  std::vector<size_t> LosableWrites() const {
    std::vector<size_t> losable;
    for (size_t i = 0; i < writes_.size(); i++) {
      if (!writes_[i].durable) {
        losable.push_back(i);
      }
    }
    return losable;
  }

 private:
  struct Write {
    uint64_t offset;
    std::string bytes;
    bool complete = false;
    bool durable = false;
  };

  // Operations take a random number of turns, so that they overtake each other.
  Task<void> Delay() {
    for (uint64_t turns = prng_.Below(6); turns > 0; turns--) {
      co_await Executor::Current().Yield();
    }
  }

  Task<Status> DoRead(DeviceOffset offset, std::span<std::byte> into) override {
    return now_->Read(offset, into, IoPurpose::kWal);
  }
  Task<Status> DoWrite(DeviceOffset offset, std::span<const std::byte> from,
                       Persistence persistence) override {
    const size_t i = writes_.size();
    writes_.push_back({offset.value, std::string(reinterpret_cast<const char*>(from.data()), from.size())});
    co_await Delay();
    now_->Poke(offset.value, writes_[i].bytes);
    writes_[i].complete = true;
    writes_[i].durable = persistence == Persistence::kDurable;
    co_return OkStatus();
  }
  Task<Status> DoFlush() override {
    std::vector<size_t> covered;
    for (size_t i = 0; i < writes_.size(); i++) {
      if (writes_[i].complete) {
        covered.push_back(i);
      }
    }
    co_await Delay();
    for (const size_t i : covered) {
      writes_[i].durable = true;
    }
    co_return OkStatus();
  }
  Task<Status> DoDiscard(DeviceOffset, uint64_t) override { co_return OkStatus(); }

  std::unique_ptr<MemoryDevice> before_;
  std::unique_ptr<MemoryDevice> now_;
  Prng& prng_;
  std::vector<Write> writes_;
};

// What was asked of a log: the record of each sequence number, and how far it was acknowledged.
struct Asked {
  std::vector<std::string> keys{""};  // by sequence number
  uint64_t acknowledged = 0;
  // What tables hold; the log may lack it.
  uint64_t in_tables = 0;
};

class WalCrashTest : public WalTest {
 protected:
  static void ExpectPrefixWithAllThatWasAcknowledged(const SeenLog& seen, const Asked& asked) {
    ASSERT_TRUE(seen.status.ok()) << seen.status.ToString();
    const uint64_t last = std::max(seen.last_sequence(), asked.in_tables);
    ASSERT_GE(last, asked.acknowledged);
    ASSERT_LT(last, asked.keys.size());
    ASSERT_EQ(seen.end.last_sequence.value, last);
    uint64_t sequence = 0;
    for (const SeenGroup& group : seen.groups) {
      const uint64_t first = group.header.first_sequence.value;
      ASSERT_TRUE(first == sequence + 1 || (first > sequence && first <= asked.in_tables + 1)) << first;
      sequence = first - 1;
      BatchRecordReader reader(group.records);
      while (reader.Next()) {
        sequence++;
        ASSERT_EQ(reader.record().key, asked.keys[sequence]);
      }
    }
  }

  static Task<void> SyncAndRemember(WalWriter& writer, Asked& asked) {
    const SequenceNumber last = writer.last_sequence();
    Status status = co_await writer.SyncTo(last);
    EXPECT_TRUE(status.ok());
    asked.acknowledged = std::max(asked.acknowledged, last.value);
  }

  // Random appends, syncs that are not waited for, and turns for the device. Ends at any moment.
  static Task<void> Work(WalWriter& writer, Asked& asked, Prng& prng, uint64_t steps) {
    for (uint64_t step = 0; step < steps; step++) {
      const uint64_t dice = prng.Below(10);
      if (dice < 5) {
        const size_t value_bytes = prng.OneIn(4) ? prng.Below(300000) : prng.Below(2000);
        const std::string key = "key" + std::to_string(prng.Next());
        const std::string records = OneRecord(key, std::string(value_bytes, 'v'));
        const WalAppend append = writer.TryAppend(records, 1);
        if (append.outcome == WalAppend::Outcome::kAppended) {
          asked.keys.push_back(key);
          if (append.write_due) {
            writer.StartWrites();
          }
        } else {
          co_await writer.WaitForRoom(records.size());
        }
      } else if (dice == 5) {
        Spawn(SyncAndRemember(writer, asked));
      } else if (dice == 6) {
        writer.WriteOut();
      } else if (dice == 7 && prng.OneIn(2)) {
        // A flush has put a part of it into tables, durably.
        asked.in_tables = prng.Between(asked.in_tables, writer.last_sequence().value);
        writer.DropUpTo(SequenceNumber(asked.in_tables));
        EXPECT_GE(writer.durable_sequence().value, asked.in_tables);
      } else {
        co_await Executor::Current().Yield();
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Sectors, WalCrashTest, testing::Values(512, 4096));

TEST_P(WalCrashTest, EverySubsetOfUnflushedGroupsLeavesAPrefixWithAllThatWasAcknowledged) {
  Prng prng(GetParam());
  CrashDevice device(std::make_unique<MemoryDevice>(DeviceOptions(GetParam())), prng);
  TestSegmentSource source;
  WalWriter writer(device, source, FirstEpoch());
  Start(writer);
  Asked asked;
  const auto append = [&](int i) {
    asked.keys.push_back("key" + std::to_string(i));
    Append(writer, OneRecord(asked.keys.back(), std::string(2000, 'v')));
  };
  append(0);
  append(1);
  executor.Run(SyncAndRemember(writer, asked));
  for (int i = 2; i < 9; i++) {
    append(i);
    WriteOut(writer);
  }
  const std::vector<size_t> losable = device.LosableWrites();
  ASSERT_EQ(losable.size(), 7u);
  std::set<uint64_t> ends;
  for (uint64_t subset = 0; subset < 1U << losable.size(); subset++) {
    const auto keep = [&](size_t write) { return (subset >> (write - losable.front()) & 1) != 0; };
    const std::unique_ptr<MemoryDevice> left = device.Crash(keep);
    const SeenLog seen = Read(*left, source.segments);
    ExpectPrefixWithAllThatWasAcknowledged(seen, asked);
    ends.insert(seen.last_sequence());
    // Exactly as far as the kept groups reach without a gap.
    EXPECT_EQ(seen.last_sequence(), 2 + static_cast<uint64_t>(std::countr_one(subset)));
  }
  EXPECT_EQ(ends.size(), 8u);
  executor.Run(writer.Close());
}

TEST_P(WalCrashTest, CrashAfterCrashLeavesAPrefixWithAllThatWasAcknowledged) {
  for (uint64_t seed = 1; seed <= 12; seed++) {
    SCOPED_TRACE(seed);
    Prng prng(seed * 2 + GetParam());
    auto disk = std::make_unique<MemoryDevice>(DeviceOptions(GetParam()));
    TestSegmentSource source;
    source.yields = true;
    Asked asked;
    for (uint64_t epoch = 1; epoch <= 4; epoch++) {
      const SeenLog seen = Read(*disk, source.segments, {}, SequenceNumber(asked.in_tables));
      ExpectPrefixWithAllThatWasAcknowledged(seen, asked);
      if (HasFatalFailure()) {
        return;
      }
      asked.keys.resize(seen.end.last_sequence.value + 1);
      asked.acknowledged = seen.end.last_sequence.value;

      CrashDevice device(std::move(disk), prng);
      WalWriterOptions options = EpochAfter(seen.end, epoch);
      options.hold_bytes = prng.OneIn(3) ? 0 : prng.Below(2 * kMiB);
      WalWriter writer(device, source, std::move(options));
      Start(writer);
      const uint64_t steps = prng.Between(1, 120);
      executor.Run(Work(writer, asked, prng, steps));
      // What the crash keeps: everything, nothing, or each sector by chance.
      const uint64_t odds = prng.Below(4);
      disk = device.Crash([&](size_t) { return odds == 0 || (odds < 3 && prng.Below(odds + 1) != 0); });
      const Asked at_crash = asked;
      executor.Run(writer.Close());
      executor.RunReady();
      asked = at_crash;
    }
    ExpectPrefixWithAllThatWasAcknowledged(Read(*disk, source.segments, {}, SequenceNumber(asked.in_tables)),
                                           asked);
  }
}

TEST_P(WalCrashTest, AKilledDaemonsUnflushedGroupsAreDurableBeforeTheNextEpochWrites) {
  MemoryDevice device(DeviceOptions(GetParam(), true));
  TestSegmentSource source;
  {
    WalWriter writer(device, source, FirstEpoch());
    Start(writer);
    Append(writer, OneRecord("first"));
    WriteOut(writer);
    executor.Run(writer.Close());
  }
  const SeenLog seen = Read(device, source.segments);
  ASSERT_EQ(seen.groups.size(), 1u);
  WalWriter writer(device, source, EpochAfter(seen.end, 2));
  Start(writer);
  Append(writer, OneRecord("second"));
  ASSERT_TRUE(executor.Run(writer.Sync()).ok());
  device.Crash();
  EXPECT_EQ(Read(device, source.segments).last_sequence(), 2u);
  executor.Run(writer.Close());
}

TEST_P(WalCrashTest, GroupsThatAFailedFlushLeftInTheCacheAreDurableBeforeTheNextEpochWrites) {
  MemoryDevice device(DeviceOptions(GetParam(), true));
  TestSegmentSource source;
  constexpr uint64_t kGroups = 20;
  {
    WalWriter writer(device, source, FirstEpoch());
    Start(writer);
    Append(writer, OneRecord("durable"));
    ASSERT_TRUE(executor.Run(writer.Sync()).ok());
    // More than one window, and more than one segment.
    while (writer.last_sequence().value < kGroups) {
      Append(writer, OneRecord("cached", std::string(kMiB, 'v')));
      WriteOut(writer);
    }
    device.FailFlush();
    ASSERT_FALSE(executor.Run(writer.Sync()).ok());
    executor.Run(writer.Close());
  }
  ASSERT_GT(source.segments.size(), 2u);
  device.Heal();
  WalReaderOptions options;
  options.store_uuid = kTestUuid;
  options.segments = source.segments;
  WalReader reader(device, options);
  const SeenLog seen = executor.Run(ReadLog(reader));
  ASSERT_EQ(seen.groups.size(), kGroups);
  ASSERT_TRUE(executor.Run(reader.WriteAgain()).ok());
  WalWriter writer(device, source, EpochAfter(seen.end, 2));
  Start(writer);
  Append(writer, OneRecord("after"));
  ASSERT_TRUE(executor.Run(writer.Sync()).ok());
  device.Crash();
  const SeenLog after = Read(device, source.segments);
  ASSERT_TRUE(after.status.ok()) << after.status.ToString();
  EXPECT_EQ(after.records(), seen.records() + OneRecord("after"));
  for (size_t i = 0; i < source.segments.size() && source.segments[i].epoch == RecoveryEpoch(1); i++) {
    const WalSegment& segment = source.segments[i];
    const std::string sector = device.Peek(segment.extent.offset().value, GetParam());
    const bool used = i == 0 || seen.end.segments[i].last_lsn > seen.end.segments[i - 1].last_lsn;
    EXPECT_EQ(WalSegmentHeader::Decode(sector, kTestUuid, segment.number).has_value(), used) << i;
  }
  executor.Run(writer.Close());
}

}  // namespace
}  // namespace varve
