#include "engine/device/block_device.h"

#include <fmt/core.h>

namespace varve {

std::string_view IoPurposeName(IoPurpose purpose) {
  switch (purpose) {
    case IoPurpose::kSuperblock:
      return "superblock";
    case IoPurpose::kManifest:
      return "manifest";
    case IoPurpose::kWal:
      return "wal";
    case IoPurpose::kFlush:
      return "flush";
    case IoPurpose::kCompaction:
      return "compaction";
    case IoPurpose::kUserRead:
      return "user-read";
    case IoPurpose::kRecovery:
      return "recovery";
    case IoPurpose::kCheck:
      return "check";
  }
  return "unknown";
}

Status BlockDevice::CheckRange(DeviceOffset offset, uint64_t bytes, const void* memory) const {
  const uint64_t misaligned =
      (offset.value | bytes | reinterpret_cast<uintptr_t>(memory)) & (sector_bytes_ - 1);
  if (misaligned == 0 && offset.value <= size_bytes_ && bytes <= size_bytes_ - offset.value) [[likely]] {
    return OkStatus();
  }
  return InvalidArgument(
      fmt::format("{}: {} bytes at offset {} {}", name_, bytes, offset.value,
                  misaligned != 0 ? "are not aligned to sectors" : "lie beyond the device"));
}

Task<Status> BlockDevice::Read(DeviceOffset offset, std::span<std::byte> into, IoPurpose purpose) {
  Status status = CheckRange(offset, into.size(), into.data());
  if (status.ok()) {
    status = co_await DoRead(offset, into);
  }
  if (status.ok()) {
    IoCounters::OfPurpose& counters = counters_.of(purpose);
    counters.reads.fetch_add(1, std::memory_order_relaxed);
    counters.read_bytes.fetch_add(into.size(), std::memory_order_relaxed);
  }
  co_return status;
}

Task<Status> BlockDevice::Write(DeviceOffset offset, std::span<const std::byte> from, IoPurpose purpose,
                                Persistence persistence) {
  Status status = CheckRange(offset, from.size(), from.data());
  if (status.ok()) {
    status = co_await DoWrite(offset, from, persistence);
    if (!status.ok() && persistence == Persistence::kDurable) {
      flush_failed_.store(true);
    }
  }
  if (status.ok()) {
    IoCounters::OfPurpose& counters = counters_.of(purpose);
    counters.writes.fetch_add(1, std::memory_order_relaxed);
    counters.written_bytes.fetch_add(from.size(), std::memory_order_relaxed);
  }
  co_return status;
}

Task<Status> BlockDevice::Flush(IoPurpose purpose) {
  Status status = co_await DoFlush();
  if (!status.ok()) {
    flush_failed_.store(true);
  } else if (flush_failed_.load()) {
    status = DeviceError(name_ + ": an earlier flush failed: what was cached then may be lost");
  }
  if (status.ok()) {
    counters_.of(purpose).flushes.fetch_add(1, std::memory_order_relaxed);
  }
  co_return status;
}

Task<Status> BlockDevice::Discard(DeviceOffset offset, uint64_t bytes) {
  Status status = CheckRange(offset, bytes, nullptr);
  if (status.ok()) {
    status = co_await DoDiscard(offset, bytes);
  }
  if (status.ok()) {
    counters_.discards.fetch_add(1, std::memory_order_relaxed);
    counters_.discarded_bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  co_return status;
}

}  // namespace varve
