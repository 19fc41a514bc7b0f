#include "engine/base/huge_page_pool.h"

#include <sys/mman.h>

#include <cstdlib>

#include "engine/base/check.h"

namespace varve {

HugePagePool::~HugePagePool() {
  for (void* const page : pages_) {
    Free(page);
  }
}

void* HugePagePool::Take() {
  {
    const std::lock_guard lock(mutex_);
    if (!pages_.empty()) {
      void* const page = pages_.back();
      pages_.pop_back();
      return page;
    }
  }
  return Allocate();
}

void HugePagePool::Give(void* page) {
  {
    const std::lock_guard lock(mutex_);
    if (pages_.size() < pages_max_) {
      pages_.push_back(page);
      return;
    }
  }
  Free(page);
}

void* HugePagePool::Allocate() {
  void* const page = std::aligned_alloc(kPageBytes, kPageBytes);
  Check(page != nullptr, "out of memory for a huge page");
  madvise(page, kPageBytes, MADV_HUGEPAGE);  // advice: nothing depends on it
  return page;
}

void HugePagePool::Free(void* page) {
  std::free(page);
}

size_t HugePagePool::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return pages_.size() * kPageBytes;
}

}  // namespace varve
