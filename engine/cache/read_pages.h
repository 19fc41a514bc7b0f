// ReadPages: memory for reads of many blocks at once. What was read stays where it is, and the blocks point
// into it: no copy, and huge pages, which the kernel clears in a fraction of the time that small ones take.
//
// Where the machine is virtual even that takes a millisecond or more for 2 MiB, in the middle of somebody's
// read: the next page is prepared while the last one is given out.
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
#include <vector>

#include "engine/base/units.h"
#include "engine/cache/read_page.h"
#include "engine/cache/read_run.h"

namespace varve {

class ReadPages {
 public:
  // Caches smaller than this get copies: blocks that hold on to a whole page would be too large a share.
  static constexpr uint64_t kCacheBytesMin = 64 * kMiB;

  explicit ReadPages(uint64_t cache_bytes) : shares_(cache_bytes >= kCacheBytesMin) {}
  ReadPages(const ReadPages&) = delete;
  ReadPages& operator=(const ReadPages&) = delete;
  ~ReadPages();

  // Where pages are shared, blocks point into them; else they are copied out. Precondition: `bytes` is a
  // multiple of the device's sector.
  ReadRun Take(size_t bytes);
  // False: the next page is ready or about to be, or there is to be none. True: the caller calls Prepare.
  [[nodiscard]] bool BeginPreparing();
  // Makes the next page ready; takes up to milliseconds.
  void Prepare();

 private:
  const bool shares_;
  std::mutex mutex_;  // guards the rest
  // The next one, where it is ready.
  ReadPage* next_ = nullptr;
  bool is_preparing_ = false;
  // Of the page that is being given out: one reference is ours.
  ReadPage* page_ = nullptr;
  size_t used_bytes_ = 0;
};

}  // namespace varve
