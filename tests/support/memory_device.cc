#include "tests/support/memory_device.h"

#include <fmt/core.h>

#include <utility>

#include "engine/ring/executor.h"

namespace varve {

MemoryDevice::MemoryDevice(MemoryDeviceOptions options)
    : BlockDevice(options.name, options.size_bytes, options.sector_bytes),
      options_(std::move(options)),
      current_(options_.size_bytes),
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
  cached_.clear();
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
    cached_.clear();
  }
}

std::string MemoryDevice::Peek(uint64_t offset, size_t bytes) const {
  std::string out(bytes, '\0');
  const std::lock_guard<std::mutex> lock(mutex_);
  current_.Read(offset, std::as_writable_bytes(std::span(out)));
  return out;
}

void MemoryDevice::Poke(uint64_t offset, std::string_view bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  current_.Write(offset, std::as_bytes(std::span(bytes)));
  durable_.Write(offset, std::as_bytes(std::span(bytes)));
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

void MemoryDevice::MakeUnreadable(uint64_t offset, uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  unreadable_offset_ = offset;
  unreadable_bytes_ = bytes;
}

void MemoryDevice::DieAtWrite(uint64_t later) {
  const std::lock_guard<std::mutex> lock(mutex_);
  write_fault_ = {.left = later, .stays = true};
}

void MemoryDevice::Heal() {
  const std::lock_guard<std::mutex> lock(mutex_);
  read_fault_ = {};
  unreadable_bytes_ = 0;
  write_fault_ = {};
  flush_fault_ = {};
  ForgetFailedFlush();
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

Task<Status> MemoryDevice::DoRead(DeviceOffset offset, std::span<std::byte> into) {
  if (options_.yields) {
    co_await Executor::Current().Yield();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool unreadable = unreadable_bytes_ > 0 && offset.value < unreadable_offset_ + unreadable_bytes_ &&
                          unreadable_offset_ < offset.value + into.size();
  if (unreadable || Fires(read_fault_)) {
    co_return Failed("read", offset.value);
  }
  current_.Read(offset.value, into);
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
  current_.Write(offset.value, from);
  if (options_.volatile_cache && persistence == Persistence::kDurable) {
    durable_.Write(offset.value, from);
  } else if (options_.volatile_cache) {
    cached_.push_back({offset.value, from.size()});
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
    cached_.clear();
    co_return Failed("flush", 0);
  }
  std::vector<std::byte> bytes;
  for (const Cached& cached : cached_) {
    bytes.resize(cached.bytes);
    current_.Read(cached.offset, bytes);
    durable_.Write(cached.offset, bytes);
  }
  cached_.clear();
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
  current_.Fill(offset.value, bytes, std::byte{0xdc});
  durable_.Fill(offset.value, bytes, std::byte{0xdc});
  co_return OkStatus();
}

}  // namespace varve
