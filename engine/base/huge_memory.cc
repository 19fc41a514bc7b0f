#include "engine/base/huge_memory.h"

#include <sys/mman.h>

#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/units.h"

namespace varve {

namespace {

// MADV_COLLAPSE of Linux 6.1, which older headers lack.
constexpr int kCollapse = 25;

char* MapAligned(size_t bytes) {
  const size_t mapped_bytes = bytes + HugeMemory::kPageBytes;
  void* const mapped =
      mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  Check(mapped != MAP_FAILED, "out of memory");
  auto* const begin = static_cast<char*>(mapped);
  const size_t before = RoundUp(reinterpret_cast<uintptr_t>(begin), HugeMemory::kPageBytes) -
                        reinterpret_cast<uintptr_t>(begin);
  if (before > 0) {
    munmap(begin, before);
  }
  munmap(begin + before + bytes, mapped_bytes - before - bytes);
  return begin + before;
}

constexpr size_t kSmallPageBytes = 4096;

}  // namespace

HugeMemory::HugeMemory(size_t bytes)
    : bytes_(MapAligned(RoundUp(bytes, kSmallPageBytes)), bytes), tries_left_(bytes / kPageBytes) {
  for (std::atomic<uint8_t>& left : tries_left_) {
    left.store(kTriesMax, std::memory_order_relaxed);
  }
}

HugeMemory::~HugeMemory() {
  munmap(bytes_.data(), RoundUp(bytes_.size(), kSmallPageBytes));
}

void HugeMemory::MakeHuge(std::span<const char> part) {
  const auto begin = static_cast<size_t>(part.data() - bytes_.data());
  const size_t end = std::min(CeilDiv(begin + part.size(), kPageBytes), tries_left_.size());
  for (size_t page = begin / kPageBytes; page < end; ++page) {
    // Two who try the same page at once do no harm.
    const uint8_t left = tries_left_[page].load(std::memory_order_relaxed);
    if (left > 0) {
      const bool done = madvise(bytes_.data() + page * kPageBytes, kPageBytes, kCollapse) == 0;
      tries_left_[page].store(done ? 0 : static_cast<uint8_t>(left - 1), std::memory_order_relaxed);
    }
  }
}

}  // namespace varve
