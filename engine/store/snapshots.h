// HeldSnapshots: which snapshots are held, so that merges keep what each of them can see.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/base/units.h"
#include "engine/store/store.h"

namespace varve {

// Threads: any. The mutex is held for a map operation and never across a wait.
class HeldSnapshots {
 public:
  HeldSnapshots() = default;
  HeldSnapshots(const HeldSnapshots&) = delete;
  HeldSnapshots& operator=(const HeldSnapshots&) = delete;

  // A snapshot of what `visible` says at this moment. It is read under the mutex: a merge that asked for the
  // list before cannot have decided without this snapshot and still drop what it sees, because everything up
  // to the `visible` of its own moment counts as seen by a snapshot (see Held).
  std::shared_ptr<const Snapshot> Take(const std::atomic<uint64_t>& visible) {
    const std::lock_guard lock(mutex_);
    const SequenceNumber sequence(visible.load(std::memory_order_acquire));
    held_[sequence]++;
    return std::make_shared<Held>(*this, sequence);
  }

  // The sequence numbers of all held snapshots and, as the last, of the newest visible state: what a merge
  // that begins now must keep readable. Ascending, without duplicates.
  std::vector<SequenceNumber> SequencesToKeep(const std::atomic<uint64_t>& visible) const {
    const std::lock_guard lock(mutex_);
    std::vector<SequenceNumber> sequences;
    sequences.reserve(held_.size() + 1);
    for (const auto& [sequence, count] : held_) {
      sequences.push_back(sequence);
    }
    const SequenceNumber newest(visible.load(std::memory_order_acquire));
    if (sequences.empty() || sequences.back() < newest) {
      sequences.push_back(newest);
    }
    return sequences;
  }

  size_t count() const {
    const std::lock_guard lock(mutex_);
    size_t count = 0;
    for (const auto& [sequence, holders] : held_) {
      count += holders;
    }
    return count;
  }

 private:
  class Held final : public Snapshot {
   public:
    Held(HeldSnapshots& list, SequenceNumber sequence) : list_(list), sequence_(sequence) {}
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() override { list_.Release(sequence_); }
    SequenceNumber sequence() const override { return sequence_; }

   private:
    HeldSnapshots& list_;
    SequenceNumber sequence_;
  };

  void Release(SequenceNumber sequence) {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(sequence);
    if (--found->second == 0) {
      held_.erase(found);
    }
  }

  mutable std::mutex mutex_;
  std::map<SequenceNumber, size_t> held_;
};

}  // namespace varve
