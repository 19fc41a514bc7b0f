// ThreadLists: memory that was freed, kept by each thread in lists by size for its next allocations. The
// memory itself comes from malloc or its like, and goes back by free().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace varve {

// False in builds with a sanitizer, so that it sees memory that is used after its end.
extern const bool kKeepsFreedMemory;

// Lists belong to `Owner`, any type: how memory was allocated is its matter.
// Sizes up to `kClasses` times `kGrain` bytes, in classes of `kGrain`; of each class a thread keeps at most
// `kKeptMax`, which bounds what a thread that only frees collects. What a thread keeps it gives back at its
// end.
//
// Threads: any; memory may be freed on another thread than it was allocated on.
template <typename Owner, size_t kGrain, size_t kClasses, uint32_t kKeptMax>
class ThreadLists {
 public:
  // What must be allocated for `bytes` (at least 1), so that Keep takes it. No byte more where nothing is
  // kept: a sanitizer sees what is read behind the end.
  static size_t AllocationBytes(size_t bytes) {
    const size_t index = ClassOf(bytes);
    return index < kClasses && kKeepsFreedMemory ? (index + 1) * kGrain : bytes;
  }

  // nullptr: none is kept, allocate AllocationBytes().
  static void* Take(size_t bytes) {
    const size_t index = ClassOf(bytes);
    if (index >= kClasses) [[unlikely]] {
      return nullptr;
    }
    List& list = lists_.classes[index];
    Link* const first = list.first;
    if (first != nullptr) [[likely]] {
      list.first = first->next;
      --list.count;
    }
    return first;
  }

  // False: free() it. `bytes` as when it was allocated.
  static bool Keep(void* memory, size_t bytes) {
    const size_t index = ClassOf(bytes);
    if (index >= kClasses) [[unlikely]] {
      return false;
    }
    List& list = lists_.classes[index];
    // Every list is empty until the first Keep of this thread, so a filled one is watched.
    const bool has_room = list.count > 0 && list.count < kKeptMax;
    if (!has_room && !MakeRoom(list)) [[unlikely]] {
      return false;
    }
    auto* link = static_cast<Link*>(memory);
    link->next = list.first;
    list.first = link;
    ++list.count;
    return true;
  }

 private:
  struct Link {
    Link* next;
  };
  struct List {
    Link* first = nullptr;
    uint32_t count = 0;
  };
  struct Lists {
    std::array<List, kClasses> classes;
    bool is_watched = false;
    bool is_closed = false;
  };
  // Gives everything back at the thread's end.
  struct Watcher {
    ~Watcher() {
      lists_.is_closed = true;
      for (List& list : lists_.classes) {
        while (list.first != nullptr) {
          Link* next = list.first->next;
          std::free(list.first);
          list.first = next;
        }
        list.count = 0;
      }
    }
  };

  static size_t ClassOf(size_t bytes) { return (bytes - 1) / kGrain; }

  // True when `list` can take one more.
  static bool MakeRoom(const List& list) {
    if (!kKeepsFreedMemory || lists_.is_closed || list.count == kKeptMax) {
      return false;
    }
    if (!lists_.is_watched) {
      thread_local Watcher watcher;
      lists_.is_watched = true;
    }
    return true;
  }

  // What a thread has at hand is a property of the thread. Trivial, so that it can be reached without a check
  // whether it was initialised, and until the thread's very end.
  static constinit thread_local Lists lists_;
};

template <typename Owner, size_t kGrain, size_t kClasses, uint32_t kKeptMax>
constinit thread_local typename ThreadLists<Owner, kGrain, kClasses, kKeptMax>::Lists
    ThreadLists<Owner, kGrain, kClasses, kKeptMax>::lists_;

}  // namespace varve
