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
#include <vector>

#include "engine/base/units.h"
#include "engine/cache/read_page.h"
#include "engine/cache/read_run.h"

namespace varve {

class ReadPages {
 public:
  // Caches smaller than this get copies: blocks that hold on to a whole page would be too large a share.
  static constexpr uint64_t kCacheBytesMin = 64 * kMiB;

  explicit ReadPages(uint64_t cache_bytes);
  ReadPages(const ReadPages&) = delete;
  ReadPages& operator=(const ReadPages&) = delete;
  ~ReadPages();

  // Where pages are shared, blocks point into them; else they are copied out. Precondition: `bytes` is a
  // multiple of the device's sector.
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
