// Published<T>: the newest of a series of immutable values, which any thread can pin without touching a cache
// line that other threads write. This is how readers reach the current Version: pinning is on the path of
// every read.
//
// How it works. Each value sits in a slot whose pin counters are spread over cache lines; a thread counts on
// the line that its id selects. Pinning counts on the current slot, then looks whether that slot is still
// current: either this second look sees that it was replaced (and tries again), or whoever replaced it sees
// the count. All four accesses are sequentially consistent, which is what makes the "either … or" true. Slots
// are reused but not freed before the Published is, so a late count on a replaced slot touches memory that
// still is a slot. A replaced value is let go by whoever finds its counters at a sum of zero. The sum is read
// one line at a time while pins are dropped on any line; it can be zero only if every pin is gone, because a
// replaced slot gains no pins: hence a Pin moves and cannot be copied.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/pinned_value.h"
#include "engine/base/thread_shard.h"

namespace varve {

// Threads: Publish and Current may be called by any thread, and serialise on a mutex; Acquire by any thread
// at any time after the first Publish; a Pin may be dropped on another thread than the one that took it.
// Every Pin must be gone before the Published is destroyed. Values are let go (and their destructors run) on
// the thread of Publish or of the last Pin's destruction, with no lock held.
template <typename T>
class Published {
 private:
  static constexpr size_t kCounters = kThreadShards;
  struct alignas(64) Counter {
    std::atomic<int64_t> pins{0};
  };
  struct Slot {
    std::array<Counter, kCounters> counters;
    // Written before the slot becomes current, and after its last pin is gone.
    std::shared_ptr<const T> value;
  };

 public:
  class Pin {
   public:
    Pin() = default;
    Pin(Pin&& other) noexcept
        : from_(std::exchange(other.from_, nullptr)), slot_(std::exchange(other.slot_, nullptr)) {}
    Pin& operator=(Pin&& other) noexcept {
      if (this != &other) {
        Drop();
        from_ = std::exchange(other.from_, nullptr);
        slot_ = std::exchange(other.slot_, nullptr);
      }
      return *this;
    }
    ~Pin() { Drop(); }

    explicit operator bool() const { return slot_ != nullptr; }
    const T& operator*() const { return *slot_->value; }
    const T* operator->() const { return slot_->value.get(); }
    // For owners that outlive a read (a long scan): costs an atomic increment on a line that others write.
    const std::shared_ptr<const T>& shared() const { return slot_->value; }
    // Hands the pin over to bytes that lie within the value.
    PinnedValue PinBytes(std::string_view bytes) && {
      return PinnedValue(
          bytes, std::exchange(from_, nullptr), std::exchange(slot_, nullptr),
          [](void* from, void* slot) { static_cast<Published*>(from)->Release(static_cast<Slot*>(slot)); });
    }

   private:
    friend class Published;
    Pin(Published* from, Slot* slot) : from_(from), slot_(slot) {}

    void Drop() {
      if (slot_ != nullptr) {
        from_->Release(std::exchange(slot_, nullptr));
      }
    }

    Published* from_ = nullptr;
    Slot* slot_ = nullptr;
  };

  Published() = default;
  explicit Published(std::shared_ptr<const T> first) { Publish(std::move(first)); }
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;
  ~Published() {
    current_.store(nullptr);
    for (const std::unique_ptr<Slot>& slot : slots_) {
      Check(PinsOf(*slot) == 0, "a published value was still pinned when its publication ended");
    }
  }

  // Precondition: something was published.
  Pin Acquire() {
    while (true) {
      Slot* const slot = current_.load(std::memory_order_acquire);
      Check(slot != nullptr, "nothing was published yet");
      std::atomic<int64_t>& pins = MyCounter(*slot);
      pins.fetch_add(1, std::memory_order_seq_cst);
      if (current_.load(std::memory_order_seq_cst) == slot) {
        return Pin(this, slot);
      }
      // On the same counter: a replaced slot's sum never falls below its true pins.
      pins.fetch_sub(1, std::memory_order_seq_cst);
      LetGoUnpinned();
    }
  }

  // `value` is what Acquire answers from now on; not null.
  void Publish(std::shared_ptr<const T> value) {
    Check(value != nullptr, "nothing cannot be published");
    std::vector<std::shared_ptr<const T>> unpinned;
    {
      const std::lock_guard lock(mutex_);
      Slot* const slot = FreeSlot();
      slot->value = std::move(value);
      Slot* const replaced = current_.exchange(slot, std::memory_order_seq_cst);
      if (replaced != nullptr) {
        replaced_.push_back(replaced);
      }
      unpinned = TakeUnpinned();
    }
  }

  // How many replaced values are still pinned. Any thread.
  size_t replaced_count() {
    const std::lock_guard lock(mutex_);
    return replaced_.size();
  }

 private:
  static std::atomic<int64_t>& MyCounter(Slot& slot) { return slot.counters[ThreadShard()].pins; }

  static int64_t PinsOf(const Slot& slot) {
    int64_t sum = 0;
    for (const Counter& counter : slot.counters) {
      sum += counter.pins.load(std::memory_order_seq_cst);
    }
    return sum;
  }

  void Release(Slot* slot) {
    MyCounter(*slot).fetch_sub(1, std::memory_order_seq_cst);
    if (current_.load(std::memory_order_seq_cst) != slot) {
      LetGoUnpinned();
    }
  }

  void LetGoUnpinned() {
    std::vector<std::shared_ptr<const T>> unpinned;
    {
      const std::lock_guard lock(mutex_);
      unpinned = TakeUnpinned();
    }
  }

  // The next two: mutex_ is held.
  Slot* FreeSlot() {
    if (free_.empty()) {
      slots_.push_back(std::make_unique<Slot>());
      return slots_.back().get();
    }
    Slot* const slot = free_.back();
    free_.pop_back();
    return slot;
  }

  std::vector<std::shared_ptr<const T>> TakeUnpinned() {
    std::vector<std::shared_ptr<const T>> unpinned;
    std::erase_if(replaced_, [&](Slot* slot) {
      if (PinsOf(*slot) != 0) {
        return false;
      }
      unpinned.push_back(std::move(slot->value));
      free_.push_back(slot);
      return true;
    });
    return unpinned;
  }

  std::atomic<Slot*> current_{nullptr};
  std::mutex mutex_;
  // All under mutex_.
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> replaced_;
  std::vector<Slot*> free_;
};

}  // namespace varve
