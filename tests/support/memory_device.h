// MemoryDevice: a BlockDevice whose bytes lie in memory, with faults that a test injects. Runs on any
// executor, on several at once.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/block_device.h"
#include "tests/support/sparse_bytes.h"

namespace varve {

struct MemoryDeviceOptions {
  uint64_t size_bytes = 64 * kMiB;
  uint32_t sector_bytes = 512;
  // Operations complete after an Executor::Yield() instead of at once: other coroutines run in between.
  bool yields = false;
  // Writes that no later Flush() has made durable, and that were not kDurable, are lost in Crash(). A flush
  // that fails forgets them: they can be read until then, but no later flush makes them durable.
  bool volatile_cache = false;
  std::string name = "memory";
};

class MemoryDevice final : public BlockDevice {
 public:
  // What lies on the device at one moment.
  using Contents = SparseBytes;

  explicit MemoryDevice(MemoryDeviceOptions options = {});
  MemoryDevice(uint64_t size_bytes, uint32_t sector_bytes)
      : MemoryDevice(MemoryDeviceOptions{.size_bytes = size_bytes, .sector_bytes = sector_bytes}) {}

  // Everything below: any thread.

  Contents Snapshot() const;
  // As if it had always held `contents`, all durable.
  void Restore(const Contents& contents);
  // An independent device with the same content, all durable, and no faults.
  std::unique_ptr<MemoryDevice> Clone() const;
  // Power failure: what was not durable is gone (with volatile_cache; else nothing is).
  void Crash();

  // Reads and writes around the device's checks and counters.
  std::string Peek(uint64_t offset, size_t bytes) const;
  void Poke(uint64_t offset, std::string_view bytes);
  // Inverts every bit of the bytes, durably.
  void Corrupt(uint64_t offset, size_t bytes);

  // The operation that comes after `later` more of its kind fails with kDeviceError, once; a read or write
  // changes nothing.
  void FailRead(uint64_t later = 0);
  void FailWrite(uint64_t later = 0);
  void FailFlush(uint64_t later = 0);
  // Reads that touch these bytes fail with kDeviceError, each time.
  void MakeUnreadable(uint64_t offset, uint64_t bytes);
  // From that write on, every write, flush and discard fails: a device that died.
  void DieAtWrite(uint64_t later = 0);
  // No fault is pending any more, a dead device lives again, and the next flush succeeds: as for a later
  // process.
  void Heal();

 private:
  struct Fault {
    std::optional<uint64_t> left;
    bool stays = false;
    bool fired = false;
  };

  Task<Status> DoRead(DeviceOffset offset, std::span<std::byte> into) override;
  Task<Status> DoWrite(DeviceOffset offset, std::span<const std::byte> from,
                       Persistence persistence) override;
  Task<Status> DoFlush() override;
  Task<Status> DoDiscard(DeviceOffset offset, uint64_t bytes) override;

  struct Cached {
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };

  // The caller holds mutex_.
  static bool Fires(Fault& fault);
  Status Failed(std::string_view operation, uint64_t offset) const;

  const MemoryDeviceOptions options_;
  mutable std::mutex mutex_;  // everything below; held for memory copies only
  Contents current_;
  Contents durable_;
  // What the next flush makes durable; only with volatile_cache.
  std::vector<Cached> cached_;
  Fault read_fault_;
  uint64_t unreadable_offset_ = 0;
  uint64_t unreadable_bytes_ = 0;
  Fault write_fault_;
  Fault flush_fault_;
};

}  // namespace varve
