// Mailbox: the lock-free way in to an executor's thread. Any thread pushes; one thread, the owner, takes. A
// push tells its caller when the owner sleeps, so that only then anybody pays for waking it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/ring/executor.h"

namespace varve {

// First in, first out; links through PostedWork::next. One thread.
class WorkQueue {
 public:
  bool empty() const { return first_ == nullptr; }
  void Append(PostedWork& work) {
    work.next = nullptr;
    *(first_ == nullptr ? &first_ : &last_->next) = &work;
    last_ = &work;
  }
  // Precondition of these: !empty().
  const PostedWork& last() const { return *last_; }
  PostedWork& TakeFirst() {
    PostedWork& work = *first_;
    first_ = work.next;
    return work;
  }
  // Costs a walk over all.
  size_t Count() const {
    size_t count = 0;
    for (const PostedWork* work = first_; work != nullptr; work = work->next) {
      ++count;
    }
    return count;
  }
  // The one behind `before` others. Precondition: before < Count(). Costs a walk there.
  PostedWork& TakeBehind(size_t before) {
    if (before == 0) {
      return TakeFirst();
    }
    PostedWork* previous = first_;
    for (size_t i = 1; i < before; ++i) {
      previous = previous->next;
    }
    PostedWork& work = *previous->next;
    previous->next = work.next;
    if (last_ == &work) {
      last_ = previous;
    }
    return work;
  }

 private:
  PostedWork* first_ = nullptr;
  PostedWork* last_ = nullptr;
};

class Mailbox {
 public:
  // Any thread. True when the owner has declared itself asleep: the caller must wake it. `work` belongs to
  // the owner from here on.
  bool Push(PostedWork& work) {
    PostedWork* seen = newest_.load(std::memory_order_relaxed);
    do {
      work.next = seen == &asleep_ ? nullptr : seen;
    } while (
        !newest_.compare_exchange_weak(seen, &work, std::memory_order_acq_rel, std::memory_order_relaxed));
    return seen == &asleep_;
  }

  // Any thread, as of a moment ago: whether the owner has nothing to do, and waits.
  bool owner_sleeps() const { return newest_.load(std::memory_order_relaxed) == &asleep_; }

  // The rest: the owner's thread.
  bool empty() const {
    const PostedWork* newest = newest_.load(std::memory_order_relaxed);
    return newest == nullptr || newest == &asleep_;
  }
  // Moves everything to the end of `queue` in the order in which it was pushed, and is awake afterwards.
  void TakeAll(WorkQueue& queue) {
    if (newest_.load(std::memory_order_relaxed) == nullptr) {
      return;
    }
    PostedWork* newest = newest_.exchange(nullptr, std::memory_order_acquire);
    if (newest == &asleep_) {
      slept_ = false;
      return;
    }
    if (slept_) {
      slept_ = false;
      ++wake_ups_owed_;
    }
    PostedWork* oldest_first = nullptr;
    while (newest != nullptr) {
      PostedWork* older = newest->next;
      newest->next = oldest_first;
      oldest_first = newest;
      newest = older;
    }
    while (oldest_first != nullptr) {
      PostedWork* next = oldest_first->next;
      queue.Append(*oldest_first);
      oldest_first = next;
    }
  }
  // False, and still awake, when something was pushed meanwhile.
  bool FallAsleep() {
    PostedWork* expected = nullptr;
    slept_ = newest_.compare_exchange_strong(expected, &asleep_, std::memory_order_acq_rel);
    return slept_;
  }
  // How often a push that was taken has told its caller to wake the owner. That caller may still be about to,
  // when something else woke the owner first: an owner that ends waits until as many wake-ups have come.
  uint64_t wake_ups_owed() const { return wake_ups_owed_; }

 private:
  // Marks the sleep by its address; never resumed.
  PostedWork asleep_;
  std::atomic<PostedWork*> newest_{nullptr};
  // The owner's.
  bool slept_ = false;
  uint64_t wake_ups_owed_ = 0;
};

}  // namespace varve
