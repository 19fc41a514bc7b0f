// AlignedBuffer: memory that direct I/O can use.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "engine/base/units.h"

namespace varve {

// Owns its memory; moves, does not copy. Content is undefined until written, unless zeroed.
class AlignedBuffer {
 public:
  // Covers every sector size that devices have, and is a page: the kernel maps it without splitting one.
  static constexpr size_t kAlignment = 4096;

  AlignedBuffer() = default;
  // At least `bytes` long, rounded up to `grain` (a power of two: the sector size). Running out of memory
  // ends the process.
  explicit AlignedBuffer(size_t bytes, size_t grain = kAlignment)
      : data_(Allocate(RoundUp(bytes, grain))), size_(RoundUp(bytes, grain)) {}
  static AlignedBuffer Zeroed(size_t bytes, size_t grain = kAlignment) {
    AlignedBuffer buffer(bytes, grain);
    buffer.Zero(0, buffer.size());
    return buffer;
  }
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    if (this != &other) {
      Free(data_, size_);
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  ~AlignedBuffer() { Free(data_, size_); }

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  char* chars() { return reinterpret_cast<char*>(data_); }
  const char* chars() const { return reinterpret_cast<const char*>(data_); }

  std::span<std::byte> span() { return {data_, size_}; }
  std::span<const std::byte> span() const { return {data_, size_}; }
  std::string_view view() const { return {chars(), size_}; }

  // Preconditions: the range lies in the buffer.
  void Zero(size_t at, size_t bytes) {
    if (bytes > 0) {
      std::memset(data_ + at, 0, bytes);
    }
  }
  void CopyIn(size_t at, std::string_view bytes) {
    if (!bytes.empty()) {
      std::memcpy(data_ + at, bytes.data(), bytes.size());
    }
  }

 private:
  // Buffers for a few blocks are kept by each thread for its next reads. nullptr for 0 bytes.
  static std::byte* Allocate(size_t bytes);
  static void Free(std::byte* data, size_t bytes);

  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace varve
