// ReadPages: memory for reads of many blocks at once. What was read stays where it is, and the blocks point
// into it: no copy, and huge pages, which the kernel clears in a fraction of the time that small ones take.
//
// Where the machine is virtual even that takes a millisecond or more for 2 MiB, in the middle of somebody's
// listing: some pages are prepared before they are needed.
//
// A page goes when the last of its blocks does. The cache gives up blocks that were read together and not
// used again about together, and copies those that prove themselves (block_cache.h).
//
// Threads: all of it from any thread; one ReadRun belongs to one thread at a time. What was taken may outlive
// the ReadPages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "engine/cache/block_ref.h"
#include "engine/device/aligned_buffer.h"

namespace varve {

// The memory of one read. Content is undefined until it is read.
class ReadRun {
 public:
  ReadRun(ReadRun&& other) noexcept
      : buffer_(std::move(other.buffer_)),
        page_(std::exchange(other.page_, nullptr)),
        bytes_(std::exchange(other.bytes_, {})) {}
  ReadRun& operator=(ReadRun&&) = delete;
  ~ReadRun();

  // Aligned as an AlignedBuffer is.
  std::span<std::byte> span() { return bytes_; }
  // What was read there, as a block: in place or copied.
  BlockRef Block(size_t offset, uint32_t bytes) const;

 private:
  friend class ReadPages;
  // Blocks are copied out of a buffer, and share a page.
  explicit ReadRun(AlignedBuffer buffer) : buffer_(std::move(buffer)), bytes_(buffer_.span()) {}
  // Takes over one reference.
  ReadRun(ReadPage* page, std::span<std::byte> bytes) : page_(page), bytes_(bytes) {}

  AlignedBuffer buffer_;
  ReadPage* page_ = nullptr;
  std::span<std::byte> bytes_;
};

class ReadPages {
 public:
  // Caches smaller than this get copies: blocks that hold on to a whole page would be too large a share.
  static constexpr uint64_t kCacheBytesMin = 64 * kMiB;

  explicit ReadPages(uint64_t cache_bytes);
  ReadPages(const ReadPages&) = delete;
  ReadPages& operator=(const ReadPages&) = delete;
  ~ReadPages();

  // Precondition: `bytes` is a multiple of the device's sector.
  ReadRun Take(size_t bytes);
  // Prepares one page more for what is taken later; takes up to milliseconds. False: there are enough.
  bool PrepareOne();

 private:
  // What is prepared beforehand: so much of what the cache may hold, and at most a directory of some twenty
  // thousand small files.
  static constexpr uint64_t kPreparedShare = 8;
  static constexpr uint64_t kPreparedBytesMax = 32 * kMiB;

  ReadPage* NextPage();

  const bool shares_;
  const size_t prepared_pages_max_;
  std::mutex mutex_;  // guards the rest
  std::vector<ReadPage*> prepared_;
  // Pages that were ever asked for or prepared.
  size_t pages_ = 0;
  // Of the page that is being given out: one reference is ours.
  ReadPage* page_ = nullptr;
  size_t used_bytes_ = 0;
};

}  // namespace varve
