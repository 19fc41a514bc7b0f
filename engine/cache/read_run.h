// ReadRun: the memory of one read of the device, which blocks are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "engine/cache/block_ref.h"
#include "engine/cache/read_memory.h"
#include "engine/device/aligned_buffer.h"

namespace varve {

// Owns the memory, together with the blocks that point into it; moves. Content is undefined until it is read.
// One thread at a time; its blocks go where they like.
class ReadRun {
 public:
  // Of no bytes.
  ReadRun() = default;
  // For blocks that stay: they are copied out, and the rest of what was read goes with this.
  static ReadRun ForBlocksThatStay(size_t bytes, size_t grain) {
    return ReadRun(AlignedBuffer(bytes, grain));
  }
  // For blocks that are used and dropped: they point into the memory, and hold all of it.
  static ReadRun ForBlocksThatPass(size_t bytes, size_t grain);
  // Of `memory`, of which this takes over one reference: blocks point there.
  ReadRun(ReadMemory* memory, std::span<std::byte> bytes) : memory_(memory), bytes_(bytes) {}
  // Of a buffer, out of which blocks are copied.
  explicit ReadRun(AlignedBuffer buffer) : buffer_(std::move(buffer)), bytes_(buffer_.span()) {}
  ReadRun(ReadRun&& other) noexcept
      : buffer_(std::move(other.buffer_)),
        memory_(std::exchange(other.memory_, nullptr)),
        bytes_(std::exchange(other.bytes_, {})) {}
  ReadRun& operator=(ReadRun&& other) noexcept {
    std::swap(buffer_, other.buffer_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~ReadRun();

  // Aligned as an AlignedBuffer is.
  std::span<std::byte> span() { return bytes_; }
  std::string_view view() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
  // What was read there, as a block.
  BlockRef Block(size_t offset, uint32_t bytes) const;

 private:
  AlignedBuffer buffer_;
  ReadMemory* memory_ = nullptr;
  std::span<std::byte> bytes_;
};

}  // namespace varve
