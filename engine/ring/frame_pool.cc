#include "engine/ring/frame_pool.h"

#include <array>
#include <cstdint>
#include <cstdlib>

#include "engine/base/check.h"

namespace varve::task_internal {

namespace {

constexpr size_t kGrain = 64;
// Frames above 1 KiB hold large locals, and are rare.
constexpr size_t kClasses = 16;
// Of one class and thread; what is freed beyond goes back to the heap. Bounds what a thread that only frees
// collects, to 2 MiB over all classes.
constexpr uint32_t kKeptMax = 256;

struct FreeFrameLink {
  FreeFrameLink* next;
};
struct FreeList {
  FreeFrameLink* first = nullptr;
  uint32_t count = 0;
};
struct FreeLists {
  std::array<FreeList, kClasses> classes;
  bool is_watched = false;
  bool is_closed = false;
};

// Which frames a thread has at hand is a property of the thread. Trivial, so that it can be reached without a
// check whether it was initialised, and until the thread's very end.
constinit thread_local FreeLists lists;

// Gives everything back at the thread's end.
struct Watcher {
  ~Watcher() {
    lists.is_closed = true;
    for (FreeList& list : lists.classes) {
      while (list.first != nullptr) {
        FreeFrameLink* next = list.first->next;
        std::free(list.first);
        list.first = next;
      }
      list.count = 0;
    }
  }
};

// True when `list` can take one more.
bool MakeRoom(const FreeList& list) {
  if (lists.is_closed || list.count == kKeptMax) {
    return false;
  }
  if (!lists.is_watched) {
    thread_local Watcher watcher;
    lists.is_watched = true;
  }
  return true;
}

size_t ClassOf(size_t bytes) {
  return (bytes - 1) / kGrain;
}

}  // namespace

void* AllocateFrame(size_t bytes) {
  const size_t index = ClassOf(bytes);
  if (index < kClasses) [[likely]] {
    FreeList& list = lists.classes[index];
    if (FreeFrameLink* frame = list.first) [[likely]] {
      list.first = frame->next;
      --list.count;
      return frame;
    }
    bytes = (index + 1) * kGrain;
  }
  void* frame = std::malloc(bytes);
  Check(frame != nullptr, "out of memory for a coroutine");
  return frame;
}

void FreeFrame(void* frame, size_t bytes) {
  const size_t index = ClassOf(bytes);
  if (index < kClasses) [[likely]] {
    FreeList& list = lists.classes[index];
    // Every list is empty until the first frame of this thread was freed, so a filled one is watched.
    const bool has_room = list.count > 0 && list.count < kKeptMax;
    if (has_room || MakeRoom(list)) [[likely]] {
      auto* link = static_cast<FreeFrameLink*>(frame);
      link->next = list.first;
      list.first = link;
      ++list.count;
      return;
    }
  }
  std::free(frame);
}

}  // namespace varve::task_internal
