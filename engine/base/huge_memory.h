// HugeMemory: memory from the system that can be in huge pages, once it proves worth them. With small pages,
// whoever goes through a megabyte at once (and the kernel, which copies there) looks up each of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace varve {

// Owns its memory. Any thread, concurrently.
class HugeMemory {
 public:
  static constexpr size_t kPageBytes = size_t{2} << 20;

  // At least 1 byte; begins at a huge page's place, and is zero. Takes no memory until it is touched. Running
  // out of address space ends the process.
  explicit HugeMemory(size_t bytes);
  HugeMemory(const HugeMemory&) = delete;
  HugeMemory& operator=(const HugeMemory&) = delete;
  ~HugeMemory();

  std::span<char> bytes() const { return bytes_; }
  // Puts huge pages where `part` lies, what is there included: up to a millisecond for each, the first time.
  // All of such a page then takes memory, also beside `part`. Where the kernel cannot (before Linux 6.1) or
  // has no huge page to spare, everything stays as it is. Precondition: `part` is of bytes().
  void MakeHuge(std::span<const char> part);

 private:
  // How often a page is tried: huge pages may be short for a moment.
  static constexpr uint8_t kTriesMax = 3;

  std::span<char> bytes_;
  // Of each whole huge page, how often it may still be tried: 0 when it is huge.
  std::vector<std::atomic<uint8_t>> tries_left_;
};

}  // namespace varve
