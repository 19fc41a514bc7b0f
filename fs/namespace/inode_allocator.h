// Inode numbers, each given out once in the life of a store.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/base/result.h"
#include "engine/ring/async_mutex.h"
#include "engine/ring/task.h"
#include "engine/store/store.h"
#include "fs/namespace/inode.h"

namespace varve {

// Any thread. Numbers are reserved in blocks by a record that is written before the first of them is used:
// what survives a crash is a prefix of the writes, so no number below the surviving record is ever handed out
// again.
class InodeAllocator {
 public:
  // One write for so many new files; as many numbers (of 2^63) are lost by a crash.
  static constexpr uint64_t kBlock = 4096;

  // `next` is the stored counter: nothing from it on has been used.
  InodeAllocator(Store& store, InodeNumber next) : store_(store), next_(next.value), limit_(next.value) {}

  Task<Result<InodeNumber>> Allocate();
  // A number when one is reserved already, else nothing: call Allocate().
  std::optional<InodeNumber> TryAllocate();

 private:
  Store& store_;
  AsyncMutex reserving_;
  std::atomic<uint64_t> next_;
  std::atomic<uint64_t> limit_;  // grows under `reserving_`, when its record has been written
};

}  // namespace varve
