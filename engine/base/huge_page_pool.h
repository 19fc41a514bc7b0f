// HugePagePool: the huge pages of what has gone, for what comes (memtables, long reads). A fresh page is
// cleared by the kernel when it is first touched, in the middle of somebody's write: a millisecond for 2 MiB
// where the machine is virtual. One that was used before costs nothing.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace varve {

// Any thread.
class HugePagePool {
 public:
  static constexpr size_t kPageBytes = size_t{2} << 20;

  // Keeps at most `bytes_max`; what is given beyond goes back to the system.
  explicit HugePagePool(size_t bytes_max) : pages_max_(bytes_max / kPageBytes) { pages_.reserve(pages_max_); }
  HugePagePool(const HugePagePool&) = delete;
  HugePagePool& operator=(const HugePagePool&) = delete;
  ~HugePagePool();

  // kPageBytes of memory with any content, aligned to its size. Running out of memory ends the process.
  void* Take();
  void Give(void* page);

  // Without a pool: from the system, and back to it.
  static void* Allocate();
  static void Free(void* page);

  size_t kept_bytes() const;

 private:
  const size_t pages_max_;
  mutable std::mutex mutex_;  // guards pages_
  std::vector<void*> pages_;
};

}  // namespace varve
