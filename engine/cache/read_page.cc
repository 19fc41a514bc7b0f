#include "engine/cache/read_page.h"

#include <sys/mman.h>

#include <cstdint>

#include "engine/base/check.h"

namespace varve {

ReadPage* ReadPage::Make() {
  // From the system and back to it: malloc would keep what was given back, in places of any size. A huge page
  // needs a place that is aligned to its size, and mmap knows small pages only.
  constexpr size_t kMapped = 2 * kBytes;
  void* const mapped = mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Check(mapped != MAP_FAILED, "out of memory for blocks");
  auto* const begin = static_cast<std::byte*>(mapped);
  const size_t before = (kBytes - reinterpret_cast<uintptr_t>(begin) % kBytes) % kBytes;
  if (before != 0) {
    munmap(begin, before);
  }
  std::byte* const data = begin + before;
  munmap(data + kBytes, kMapped - kBytes - before);
  madvise(data, kBytes, MADV_HUGEPAGE);  // advice: nothing depends on it
  return new ReadPage(data);
}

void ReadPage::Prepare() {
  constexpr size_t kSmallPageBytes = 4096;
  for (size_t offset = 0; offset < kBytes; offset += kSmallPageBytes) {
    data_[offset] = std::byte{0};
  }
}

ReadPage::~ReadPage() {
  munmap(data_, kBytes);
}

}  // namespace varve
