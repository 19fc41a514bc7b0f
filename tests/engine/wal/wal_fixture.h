// What the log's tests share: a source of segments on a device of memory, and logs written and read whole.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/base/batch_records.h"
#include "engine/ring/local_executor.h"
#include "engine/wal/wal_reader.h"
#include "engine/wal/wal_writer.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_device.h"

namespace varve {

inline constexpr Uuid kTestUuid = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

// Gives one segment behind the other, from unit 1 of the device on.
class TestSegmentSource final : public WalSegmentSource {
 public:
  explicit TestSegmentSource(uint64_t segment_bytes = kWalSegmentBytesMin) : segment_bytes_(segment_bytes) {}

  Task<Result<WalSegment>> NextSegment(RecoveryEpoch epoch, Lsn epoch_first_lsn) override {
    if (segments_left == 0) {
      co_return NoSpace("no more segments");
    }
    segments_left--;
    if (yields) {
      co_await Executor::Current().Yield();
    }
    const auto units = static_cast<uint32_t>(segment_bytes_ / kExtentUnitBytes);
    const auto number = segments.empty() ? 1 : segments.back().number + 1;
    const auto first_unit = static_cast<uint32_t>(1 + (number - 1) * units);
    segments.push_back({number, {first_unit, units}, epoch, epoch_first_lsn});
    co_return segments.back();
  }
  bool IsScarce() const override { return is_scarce; }

  std::vector<WalSegment> segments;
  bool is_scarce = false;
  size_t segments_left = SIZE_MAX;
  bool yields = false;

 private:
  const uint64_t segment_bytes_;
};

// The records of one put.
inline std::string OneRecord(std::string_view key, std::string_view value = {}) {
  std::string records;
  AppendPutRecord(records, key, value);
  return records;
}

inline WalWriterOptions FirstEpoch() {
  return {.store_uuid = kTestUuid,
          .epoch = RecoveryEpoch(1),
          .first_lsn = Lsn(1),
          .first_sequence = SequenceNumber(1),
          .old_segments = {},
          .hold_bytes = 0};
}

inline WalWriterOptions EpochAfter(const WalEnd& end, uint64_t epoch) {
  return {.store_uuid = kTestUuid,
          .epoch = RecoveryEpoch(epoch),
          .first_lsn = end.next_lsn,
          .first_sequence = end.last_sequence.Next(),
          .old_segments = end.segments,
          .hold_bytes = 0};
}

// A group as a test remembers it.
struct SeenGroup {
  WalGroupHeader header;
  std::string records;
};
struct SeenLog {
  std::vector<SeenGroup> groups;
  Status status;
  WalEnd end;  // only when the status is ok

  uint64_t last_sequence() const { return groups.empty() ? 0 : groups.back().header.last_sequence().value; }
  std::string records() const {
    std::string all;
    for (const SeenGroup& group : groups) {
      all += group.records;
    }
    return all;
  }
};

inline Task<SeenLog> ReadLog(WalReader& reader) {
  SeenLog seen;
  for (;;) {
    Result<std::optional<WalGroup>> group = co_await reader.Next();
    if (!group.ok()) {
      seen.status = group.status();
      co_return seen;
    }
    if (!group.value()) {
      seen.end = reader.end();
      co_return seen;
    }
    seen.groups.push_back({group.value()->header, std::string(group.value()->records)});
  }
}

inline Task<SeenLog> ReadLog(BlockDevice& device, WalReaderOptions options) {
  options.store_uuid = kTestUuid;
  WalReader reader(device, std::move(options));
  co_return co_await ReadLog(reader);
}

class WalTest : public testing::TestWithParam<uint32_t> {
 protected:
  static MemoryDeviceOptions DeviceOptions(uint32_t sector_bytes, bool volatile_cache = false) {
    return {.size_bytes = 256 * kMiB,
            .sector_bytes = sector_bytes,
            .yields = true,
            .volatile_cache = volatile_cache,
            .name = "memory"};
  }

  SeenLog Read(BlockDevice& device, std::vector<WalSegment> segments, Lsn log_start = {},
               SequenceNumber tables = {}) {
    WalReaderOptions options;
    options.segments = std::move(segments);
    options.log_start = log_start;
    options.tables_sequence = tables;
    return executor.Run(ReadLog(device, std::move(options)));
  }

  void Start(WalWriter& writer) { ASSERT_TRUE(executor.Run(writer.Start()).ok()); }

  static Task<WalAppend> TryAppendTask(WalWriter& writer, std::string_view records, uint32_t count) {
    const WalAppend append = writer.TryAppend(records, count);
    if (append.write_due) {
      writer.StartWrites();
    }
    co_return append;
  }
  WalAppend TryAppend(WalWriter& writer, std::string_view records, uint32_t count = 1) {
    return executor.Run(TryAppendTask(writer, records, count));
  }
  // Waits for room.
  SequenceNumber Append(WalWriter& writer, std::string_view records, uint32_t count = 1) {
    for (;;) {
      const WalAppend append = TryAppend(writer, records, count);
      if (append.outcome != WalAppend::Outcome::kFull) {
        EXPECT_EQ(append.outcome, WalAppend::Outcome::kAppended);
        return append.first_sequence;
      }
      executor.Run(writer.WaitForRoom(records.size()));
    }
  }
  // What is in memory becomes a group, which reaches the device without being durable.
  void WriteOut(WalWriter& writer) {
    const auto write_out = [](WalWriter& log) -> Task<void> {
      log.WriteOut();
      co_return;
    };
    executor.Run(write_out(writer));
    executor.RunReady();
  }

  ManualClock clock;
  LocalExecutor executor{clock};
};

}  // namespace varve
