// BlockDevice: the contract that everything above the device relies on. Nothing above assumes a local disk.
//
// Offsets and lengths are multiples of the sector size, and memory is aligned to it (AlignedBuffer); the
// public calls check that, and that the range lies on the device, before they reach an implementation: a fake
// cannot skip it. All calls may run concurrently, on any executor that the implementation supports;
// overlapping concurrent writes have no defined order. A completed write is readable at once; it is durable
// after a Flush that began later completes, or when it was written with Persistence::kDurable. A sector is
// written whole or not at all; longer writes may tear at sector grain in a crash. Errors: kDeviceError (the
// device's), kInvalidArgument (alignment or range).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "engine/base/result.h"
#include "engine/base/units.h"
#include "engine/ring/task.h"

namespace varve {

// Why bytes move: counted apart, so that amplification can be told by cause.
enum class IoPurpose : uint8_t {
  kSuperblock,
  kManifest,
  kWal,
  kFlush,       // memtable to L0
  kCompaction,  // reads and writes of merges
  kUserRead,    // blocks that a Get or a scan missed in the cache
  kRecovery,
  kCheck,  // fsck, scrub, dump
};
inline constexpr size_t kIoPurposes = 8;
std::string_view IoPurposeName(IoPurpose purpose);

enum class Persistence : uint8_t {
  kCached,   // durable after the next Flush
  kDurable,  // durable when the write completes (RWF_DSYNC; FUA where the device has it)
};

// Counters of completed operations. Any thread reads; values of one moment are not mutually exact.
struct IoCounters {
  struct OfPurpose {
    std::atomic<uint64_t> reads{0}, read_bytes{0}, writes{0}, written_bytes{0}, flushes{0};
  };
  std::array<OfPurpose, kIoPurposes> by_purpose;
  std::atomic<uint64_t> discards{0}, discarded_bytes{0};

  OfPurpose& of(IoPurpose purpose) { return by_purpose[static_cast<size_t>(purpose)]; }
  const OfPurpose& of(IoPurpose purpose) const { return by_purpose[static_cast<size_t>(purpose)]; }
};

class BlockDevice {
 public:
  virtual ~BlockDevice() = default;
  BlockDevice(const BlockDevice&) = delete;
  BlockDevice& operator=(const BlockDevice&) = delete;

  uint64_t size_bytes() const { return size_bytes_; }
  uint32_t sector_bytes() const { return sector_bytes_; }
  // How a person would name it in a message: the path.
  const std::string& name() const { return name_; }

  // `into` and `from` must stay valid until the Task ends.
  Task<Status> Read(DeviceOffset offset, std::span<std::byte> into, IoPurpose purpose);
  Task<Status> Write(DeviceOffset offset, std::span<const std::byte> from, IoPurpose purpose,
                     Persistence persistence = Persistence::kCached);
  // Makes every write that completed before this call durable. Once a flush or a durable write has failed,
  // every flush that ends later fails too: what was in the device's cache may be gone, whoever wrote it, and
  // a flush that succeeds afterwards would not bring it back.
  Task<Status> Flush(IoPurpose purpose);
  // The range's content becomes undefined; completes before the space may be written again. A device that
  // cannot discard answers success.
  Task<Status> Discard(DeviceOffset offset, uint64_t bytes);

  // Makes sectors larger than the hardware needs: for a store that was made for such. A power of two, at
  // least sector_bytes(). Before the first operation.
  void UseLargerSectors(uint32_t bytes) {
    Check(bytes >= sector_bytes_ && (bytes & (bytes - 1)) == 0, "sectors can only grow");
    sector_bytes_ = bytes;
    size_bytes_ = RoundDown(size_bytes_, bytes);
  }

  const IoCounters& counters() const { return counters_; }

 protected:
  // `sector_bytes` is a power of two; `size_bytes` is rounded down to it.
  BlockDevice(std::string name, uint64_t size_bytes, uint32_t sector_bytes)
      : name_(std::move(name)),
        size_bytes_(RoundDown(size_bytes, sector_bytes)),
        sector_bytes_(sector_bytes) {}

  // Called with checked arguments; must transfer everything or fail.
  virtual Task<Status> DoRead(DeviceOffset offset, std::span<std::byte> into) = 0;
  virtual Task<Status> DoWrite(DeviceOffset offset, std::span<const std::byte> from,
                               Persistence persistence) = 0;
  virtual Task<Status> DoFlush() = 0;
  virtual Task<Status> DoDiscard(DeviceOffset offset, uint64_t bytes) = 0;
  // For fakes that stand for the device of a later process: as if it was opened anew.
  void ForgetFailedFlush() { flush_failed_.store(false); }

 private:
  Status CheckRange(DeviceOffset offset, uint64_t bytes, const void* memory) const;

  std::string name_;
  uint64_t size_bytes_;
  uint32_t sector_bytes_;
  IoCounters counters_;
  std::atomic<bool> flush_failed_{false};
};

}  // namespace varve
