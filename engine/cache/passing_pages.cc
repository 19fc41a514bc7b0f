#include "engine/cache/passing_pages.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/base/huge_page_pool.h"

namespace varve {

// Pages that exist are never more than may be kept: a page that comes back always finds its place.
class PassingPages::Stock {
 public:
  explicit Stock(size_t pages_max) : pages_max_(pages_max), pool_(pages_max * HugePagePool::kPageBytes) {}

  // nullptr: all are in use.
  void* Take() {
    {
      const std::lock_guard lock(mutex_);
      if (used_ == pages_max_) {
        return nullptr;
      }
      ++used_;
    }
    return pool_.Take();
  }
  void Give(void* page) {
    pool_.Give(page);
    const std::lock_guard lock(mutex_);
    --used_;
  }
  size_t page_bytes() const {
    const std::lock_guard lock(mutex_);
    return used_ * HugePagePool::kPageBytes + pool_.kept_bytes();
  }

 private:
  const size_t pages_max_;
  HugePagePool pool_;
  mutable std::mutex mutex_;  // guards used_
  size_t used_ = 0;
};

class PassingPages::Page final : public ReadMemory {
 public:
  Page(std::shared_ptr<Stock> stock, void* memory) : stock_(std::move(stock)), memory_(memory) {}

 private:
  ~Page() override { stock_->Give(memory_); }

  const std::shared_ptr<Stock> stock_;
  void* const memory_;
};

PassingPages::PassingPages(uint64_t cache_bytes)
    : stock_(std::make_shared<Stock>(std::min(cache_bytes / kCacheShare, kBytesMax) /
                                     HugePagePool::kPageBytes)) {
}

ReadRun PassingPages::Take(size_t bytes, size_t grain) {
  std::optional<ReadRun> page = bytes >= kReadBytesMin ? TakePage(bytes) : std::nullopt;
  return page ? std::move(*page) : ReadRun::ForBlocksThatPass(bytes, grain);
}

std::optional<ReadRun> PassingPages::TakePage(size_t bytes) {
  void* const memory = bytes <= HugePagePool::kPageBytes ? stock_->Take() : nullptr;
  if (memory == nullptr) {
    return std::nullopt;
  }
  return ReadRun(new Page(stock_, memory), std::span(static_cast<std::byte*>(memory), bytes));
}

size_t PassingPages::page_bytes() const {
  return stock_->page_bytes();
}

}  // namespace varve
