#include "tests/support/memory_device.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/ring/executor.h"

namespace varve {

MemoryDevice::MemoryDevice(MemoryDeviceOptions options)
    : BlockDevice(options.name, options.size_bytes, options.sector_bytes),
      options_(std::move(options)),
      current_(CeilDiv(options_.size_bytes, kPieceBytes)),
      durable_(current_) {
}

MemoryDevice::Contents MemoryDevice::Snapshot() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return current_;
}

void MemoryDevice::Restore(const Contents& contents) {
  const std::lock_guard<std::mutex> lock(mutex_);
  current_ = contents;
  durable_ = contents;
}

std::unique_ptr<MemoryDevice> MemoryDevice::Clone() const {
  auto clone = std::make_unique<MemoryDevice>(options_);
  clone->Restore(Snapshot());
  return clone;
}

void MemoryDevice::Crash() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (options_.volatile_cache) {
    current_ = durable_;
  }
}

std::string MemoryDevice::Peek(uint64_t offset, size_t bytes) const {
  std::string out(bytes, '\0');
  const std::lock_guard<std::mutex> lock(mutex_);
  CopyOut(offset, std::as_writable_bytes(std::span(out)));
  return out;
}

void MemoryDevice::Poke(uint64_t offset, std::string_view bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  CopyIn(current_, offset, std::as_bytes(std::span(bytes)));
  CopyIn(durable_, offset, std::as_bytes(std::span(bytes)));
}

void MemoryDevice::Corrupt(uint64_t offset, size_t bytes) {
  std::string content = Peek(offset, bytes);
  for (char& c : content) {
    c = static_cast<char>(~c);
  }
  Poke(offset, content);
}

void MemoryDevice::FailRead(uint64_t later) {
  const std::lock_guard<std::mutex> lock(mutex_);
  read_fault_ = {.left = later};
}

void MemoryDevice::FailWrite(uint64_t later) {
  const std::lock_guard<std::mutex> lock(mutex_);
  write_fault_ = {.left = later};
}

void MemoryDevice::FailFlush(uint64_t later) {
  const std::lock_guard<std::mutex> lock(mutex_);
  flush_fault_ = {.left = later};
}

void MemoryDevice::DieAtWrite(uint64_t later) {
  const std::lock_guard<std::mutex> lock(mutex_);
  write_fault_ = {.left = later, .stays = true};
}

void MemoryDevice::Heal() {
  const std::lock_guard<std::mutex> lock(mutex_);
  read_fault_ = {};
  write_fault_ = {};
  flush_fault_ = {};
}

bool MemoryDevice::Fires(Fault& fault) {
  if (fault.fired && fault.stays) {
    return true;
  }
  if (!fault.left) {
    return false;
  }
  if (*fault.left > 0) {
    --*fault.left;
    return false;
  }
  fault.left.reset();
  fault.fired = true;
  return true;
}

Status MemoryDevice::Failed(std::string_view operation, uint64_t offset) const {
  return DeviceError(fmt::format("{}: {} at offset {}: injected fault", name(), operation, offset));
}

void MemoryDevice::CopyIn(Contents& contents, uint64_t offset, std::span<const std::byte> from) {
  while (!from.empty()) {
    std::shared_ptr<Piece>& piece = contents[offset / kPieceBytes];
    if (piece == nullptr) {
      piece = std::make_shared<Piece>();
    } else if (piece.use_count() > 1) {
      piece = std::make_shared<Piece>(*piece);
    }
    const size_t at = offset % kPieceBytes;
    const size_t count = std::min(from.size(), kPieceBytes - at);
    std::memcpy(piece->bytes.data() + at, from.data(), count);
    from = from.subspan(count);
    offset += count;
  }
}

void MemoryDevice::CopyOut(uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const std::shared_ptr<Piece>& piece = current_[offset / kPieceBytes];
    const size_t at = offset % kPieceBytes;
    const size_t count = std::min(into.size(), kPieceBytes - at);
    if (piece == nullptr) {
      std::memset(into.data(), 0, count);
    } else {
      std::memcpy(into.data(), piece->bytes.data() + at, count);
    }
    into = into.subspan(count);
    offset += count;
  }
}

Task<Status> MemoryDevice::DoRead(DeviceOffset offset, std::span<std::byte> into) {
  if (options_.yields) {
    co_await Executor::Current().Yield();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (Fires(read_fault_)) {
    co_return Failed("read", offset.value);
  }
  CopyOut(offset.value, into);
  co_return OkStatus();
}

Task<Status> MemoryDevice::DoWrite(DeviceOffset offset, std::span<const std::byte> from,
                                   Persistence persistence) {
  if (options_.yields) {
    co_await Executor::Current().Yield();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (Fires(write_fault_)) {
    co_return Failed("write", offset.value);
  }
  CopyIn(current_, offset.value, from);
  if (options_.volatile_cache && persistence == Persistence::kDurable) {
    CopyIn(durable_, offset.value, from);
  }
  co_return OkStatus();
}

Task<Status> MemoryDevice::DoFlush() {
  if (options_.yields) {
    co_await Executor::Current().Yield();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool dead = write_fault_.stays && write_fault_.fired;
  if (dead || Fires(flush_fault_)) {
    co_return Failed("flush", 0);
  }
  if (options_.volatile_cache) {
    durable_ = current_;
  }
  co_return OkStatus();
}

Task<Status> MemoryDevice::DoDiscard(DeviceOffset offset, uint64_t bytes) {
  if (options_.yields) {
    co_await Executor::Current().Yield();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (Fires(write_fault_)) {
    co_return Failed("discard", offset.value);
  }
  // Undefined content is made visible: nobody may count on what was there.
  const std::string filler(static_cast<size_t>(std::min<uint64_t>(bytes, kPieceBytes)), '\xdc');
  for (uint64_t done = 0; done < bytes; done += filler.size()) {
    const auto count = static_cast<size_t>(std::min<uint64_t>(filler.size(), bytes - done));
    CopyIn(current_, offset.value + done, std::as_bytes(std::span(filler.data(), count)));
    CopyIn(durable_, offset.value + done, std::as_bytes(std::span(filler.data(), count)));
  }
  co_return OkStatus();
}

}  // namespace varve
