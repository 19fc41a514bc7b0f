// Which of a few cache lines a thread uses, for counters that threads must not fight over.
#pragma once

#include <cstddef>
#include <cstdint>

namespace varve {

inline constexpr size_t kThreadShards = 16;

// The same for a thread as long as it lives; below kThreadShards. The thread's control block tells it:
// distinct for live threads, and a register away, where std::hash of its id costs as much as the counting.
// Fibonacci hashing spreads addresses that lie a fixed stride apart.
inline size_t ThreadShard() {
  static_assert(kThreadShards == 16, "the shift below leaves four bits");
  const auto self = reinterpret_cast<uintptr_t>(__builtin_thread_pointer());
  return static_cast<size_t>((static_cast<uint64_t>(self >> 6) * 0x9e3779b97f4a7c15U) >> 60);
}

}  // namespace varve
