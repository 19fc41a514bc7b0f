// PassingPages: memory for long reads whose blocks are used and dropped, in huge pages that are used again
// and again: what was read last lies where the one before did, and nobody waits for the kernel to clear
// memory.
//
// Threads: any; one ReadRun belongs to one thread at a time. What was taken may outlive the PassingPages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "engine/base/units.h"
#include "engine/cache/read_run.h"

namespace varve {

class PassingPages {
 public:
  // Shorter reads take a buffer: their blocks would hold too large a page.
  static constexpr size_t kReadBytesMin = 512 * kKiB;
  // All pages together take at most this share of what the cache may hold, and so many bytes.
  static constexpr uint64_t kCacheShare = 16;
  static constexpr uint64_t kBytesMax = 32 * kMiB;

  // `cache_bytes`: what the cache may hold.
  explicit PassingPages(uint64_t cache_bytes);

  // For a read of `bytes`, a multiple of `grain`: a page where one is left, else a buffer. Blocks point
  // there.
  ReadRun Take(size_t bytes, size_t grain);
  // The same of a page only; nullopt: none is left, or `bytes` are more than one has.
  std::optional<ReadRun> TakePage(size_t bytes);

  // What reads and the stock have together.
  size_t page_bytes() const;

 private:
  class Page;
  class Stock;
  // Shared with the pages that reads have.
  std::shared_ptr<Stock> stock_;
};

}  // namespace varve
