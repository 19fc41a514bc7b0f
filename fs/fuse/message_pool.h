// Memory for requests from the kernel, one pool a channel. A request's bytes (names, data to write) stay
// where they were read for as long as somebody holds a lease: a handler that has to wait takes one. A
// transport may have memory of its own, which it takes back with the answer.
//
// One thread: the channel's reactor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/huge_memory.h"
#include "engine/base/units.h"

namespace varve {

// The largest payload of one request, WRITE's and READ's: 256 pages, what the kernel allows unless
// fs.fuse.max_pages_limit was raised.
inline constexpr size_t kPayloadBytesMax = 1 * kMiB;
// Room before the payload for headers, as libfuse reckons it.
inline constexpr size_t kMessageHeaderBytesMax = 4096;
inline constexpr size_t kMessageBytesMax = kMessageHeaderBytesMax + kPayloadBytesMax;

// Messages and answers of this size and more are worth huge pages.
inline constexpr size_t kHugeMessageBytes = 256 * kKiB;

class MessagePool;

struct MessageBuffer {
  // nullptr: its owner's, who knows by the answer that it is free.
  MessagePool* pool = nullptr;
  // Of a pool's: kMessageBytesMax, aligned to a page.
  std::span<char> bytes;
  // Where an answer that is made here, header apart, is sent without a copy; empty where that spares none, or
  // where the request lies. Aligned to a page.
  std::span<char> answer;
  // Of which `bytes` are; nullptr: of malloc's.
  HugeMemory* memory = nullptr;
  uint32_t leases = 0;
  // What has been used of `bytes` so far, headers apart, and so is memory.
  size_t used_bytes = 0;
};

class MessageLease {
 public:
  MessageLease() = default;
  explicit MessageLease(MessageBuffer& buffer);
  MessageLease(const MessageLease& other);
  MessageLease(MessageLease&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  MessageLease& operator=(MessageLease other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~MessageLease();

  std::span<char> bytes() const { return buffer_->bytes; }
  std::span<char> answer() const { return buffer_->answer; }
  // `bytes` of them are used at once: where that is worth it, they are in huge pages from then on.
  void ExpectBytes(size_t bytes) const {
    buffer_->used_bytes = std::max(buffer_->used_bytes, bytes);
    if (bytes >= kHugeMessageBytes && buffer_->memory != nullptr) {
      buffer_->memory->MakeHuge(buffer_->bytes);
    }
  }

 private:
  MessageBuffer* buffer_ = nullptr;
};

class MessagePool {
 public:
  MessagePool() = default;
  MessagePool(const MessagePool&) = delete;
  MessagePool& operator=(const MessagePool&) = delete;
  // Precondition: no lease is held.
  ~MessagePool();

  MessageLease Take();
  // Buffers that somebody holds.
  size_t leased() const { return leased_; }
  // Those that nobody holds.
  size_t unused() const { return idle_.size() + spare_.size(); }

 private:
  friend class MessageLease;
  std::unique_ptr<MessageBuffer> Make();
  void Return(MessageBuffer* buffer);

  // What a burst leaves behind: the first ones lie in `memory_`, and of what is needed beyond, which is
  // malloc's, so many stay, and more of those that have held small messages only. Many requests at once, for
  // long, so allocate nothing: malloc takes such a buffer from the system and gives it back, with a fault for
  // each page of it and all of the process's CPUs interrupted. At most 25 MiB of memory a pool: a MiB for
  // each of sixteen, and 8 for the small ones and their headers.
  static constexpr size_t kKeptBuffers = 8;
  static constexpr size_t kSpareBuffers = 8;
  static constexpr size_t kSmallSpareBuffers = 128;
  static constexpr size_t kSmallBytesMax = 64 * kKiB;

  std::optional<HugeMemory> memory_;
  // Of `memory_`, how many have been given out.
  size_t kept_buffers_ = 0;
  std::vector<std::unique_ptr<MessageBuffer>> idle_;
  std::vector<std::unique_ptr<MessageBuffer>> spare_;
  size_t leased_ = 0;
};

}  // namespace varve
