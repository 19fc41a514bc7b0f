#include "engine/table/merging_iterator.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/base/internal_key.h"
#include "engine/ring/when_all.h"

namespace varve {
namespace {

// A binary heap of the children that stand on a key, the next one on top. A move touches the top child, which
// then usually stays on top or sinks one level: runs of one child cost one comparison a key, with the second.
class MergingIterator final : public InternalIterator {
 public:
  MergingIterator(std::vector<std::unique_ptr<InternalIterator>> iterators, std::string_view upper)
      : upper_(upper) {
    children_.reserve(iterators.size());
    for (std::unique_ptr<InternalIterator>& iterator : iterators) {
      children_.push_back(Child{std::move(iterator), {}, false});
    }
    heap_.reserve(children_.size());
  }

  Step Seek(std::string_view internal_key) override {
    target_ = internal_key;
    return MoveAll(Direction::kForward, [this](Child& child) { return child.iterator->Seek(target_); });
  }
  Step SeekForPrev(std::string_view internal_key) override {
    target_ = internal_key;
    return MoveAll(Direction::kBackward,
                   [this](Child& child) { return child.iterator->SeekForPrev(target_); });
  }
  Step SeekToFirst() override {
    return MoveAll(Direction::kForward, [](Child& child) { return child.iterator->SeekToFirst(); });
  }
  Step SeekToLast() override {
    return MoveAll(Direction::kBackward, [](Child& child) { return child.iterator->SeekToLast(); });
  }

  Step Next() override { return MoveTop(Direction::kForward); }
  Step Prev() override { return MoveTop(Direction::kBackward); }

  Task<void> Load() override {
    std::vector<Task<Status>> loads;
    for (Child& child : children_) {
      if (child.needs_io) {
        loads.push_back(LoadChild(child));
      }
    }
    if (loads.size() == 1) {
      // The usual case of a walk: one child has reached the end of a block.
      Task<Status> load = std::move(loads.front());
      status_ = co_await std::move(load);
    } else {
      status_ = co_await WhenAllOk(std::move(loads));
    }
    Settle();
  }

  InternalIterator& Foremost(std::optional<std::string_view>& until) override {
    if (heap_.size() > 1) {
      const std::string_view next = heap_[Second()]->key;
      if (next.size() < kTrailerBytes) {
        return *this;  // whoever comes to it says that it is no key
      }
      until = until ? std::min(*until, UserKeyOf(next)) : UserKeyOf(next);
    }
    return heap_.front()->iterator->Foremost(until);
  }
  void TakeBack() override {
    heap_.front()->iterator->TakeBack();
    SettleTop();
  }

  bool Valid() const override { return !heap_.empty(); }
  std::string_view key() const override { return heap_.front()->key; }
  std::string_view value() const override { return heap_.front()->iterator->value(); }
  Status status() const override { return status_; }
  CacheStanding standing() const override { return heap_.front()->iterator->standing(); }

 private:
  enum class Direction : uint8_t { kForward, kBackward };
  struct Child {
    std::unique_ptr<InternalIterator> iterator;
    // What the iterator stands on: kept here, so that a comparison calls no virtual function.
    std::string_view key;
    bool needs_io = false;
  };

  // Always succeeds: what went wrong, the child's own status says.
  static Task<Status> LoadChild(Child& child) {
    co_await child.iterator->Load();
    child.needs_io = false;
    co_return OkStatus();
  }

  // Whether `a` comes after `b` in the direction of the walk: the order in which std's heap puts b on top.
  bool ComesAfter(const Child* a, const Child* b) const {
    const int order = CompareInternalKeys(a->key, b->key);
    return direction_ == Direction::kForward ? order > 0 : order < 0;
  }

  template <typename Move>
  Step MoveAll(Direction direction, const Move& move) {
    direction_ = direction;
    status_ = OkStatus();
    heap_.clear();
    rebuild_ = true;
    bool waits = false;
    for (Child& child : children_) {
      child.needs_io = move(child) == Step::kNeedsIo;
      waits = waits || child.needs_io;
    }
    if (waits) {
      return Step::kNeedsIo;
    }
    Settle();
    return Step::kDone;
  }

  Step MoveTop(Direction direction) {
    Child* top = heap_.front();
    if (direction_ != direction) {
      return TurnAround(direction, top);
    }
    const Step step = direction == Direction::kForward ? top->iterator->Next() : top->iterator->Prev();
    if (step == Step::kNeedsIo) {
      top->needs_io = true;
      return Step::kNeedsIo;
    }
    SettleTop();
    return Step::kDone;
  }

  // Every other child stands beyond the current key in the old direction: all of them move over it. Keys are
  // unique, so that none of them can stand on it.
  Step TurnAround(Direction direction, Child* top) {
    target_ = top->key;
    return MoveAll(direction, [this, direction, top](Child& child) {
      if (direction == Direction::kForward) {
        return &child == top ? child.iterator->Next() : child.iterator->Seek(target_);
      }
      return &child == top ? child.iterator->Prev() : child.iterator->SeekForPrev(target_);
    });
  }

  // After I/O: everything moved, or only the top did.
  void Settle() {
    if (!rebuild_) {
      SettleTop();
      return;
    }
    rebuild_ = false;
    second_ = 0;
    heap_.clear();
    for (Child& child : children_) {
      if (child.iterator->Valid()) {
        child.key = child.iterator->key();
        if (IsWanted(child)) {
          heap_.push_back(&child);
        }
        continue;
      }
      if (HasFailed(child)) {
        return;
      }
    }
    std::make_heap(heap_.begin(), heap_.end(),
                   [this](const Child* a, const Child* b) { return ComesAfter(a, b); });
  }

  // Of one that is not Valid(): whether it has failed, and with it the walk.
  bool HasFailed(const Child& child) {
    status_ = child.iterator->status();
    if (!status_.ok()) {
      heap_.clear();
    }
    return !status_.ok();
  }

  // One that comes behind the end later stays: what it stands on ends the walk.
  bool IsWanted(const Child& child) const {
    return upper_.empty() || child.key.size() < kTrailerBytes || UserKeyOf(child.key) < upper_;
  }

  // The top child has moved: it sinks to its place, or leaves the heap.
  void SettleTop() {
    Child* top = heap_.front();
    if (top->iterator->Valid()) {
      top->key = top->iterator->key();
    } else {
      if (HasFailed(*top)) {
        return;
      }
      heap_.front() = heap_.back();
      heap_.pop_back();
      second_ = 0;
    }
    if (heap_.size() > 1) {
      Sink();
    }
  }

  // Of the two below place `at`, which has one, the one that comes first.
  size_t FirstBelow(size_t at) const {
    const size_t below = 2 * at + 1;
    return below + 1 < heap_.size() && ComesAfter(heap_[below], heap_[below + 1]) ? below + 1 : below;
  }

  // The place of the one that comes after the top. Precondition: there are two at least.
  size_t Second() {
    if (second_ == 0) {
      second_ = FirstBelow(0);
    }
    return second_;
  }

  // Precondition: there are two at least.
  void Sink() {
    Child* const moving = heap_.front();
    size_t at = 0;
    for (size_t below = Second(); below != 0 && ComesAfter(moving, heap_[below]);) {
      heap_[at] = heap_[below];
      at = below;
      below = 2 * at + 1 < heap_.size() ? FirstBelow(at) : 0;
    }
    if (at != 0) {
      heap_[at] = moving;
      second_ = 0;
    }
  }

  std::vector<Child> children_;
  std::vector<Child*> heap_;
  // The place in the heap of the child that comes after the top; 0: there is none, or it is not known.
  size_t second_ = 0;
  Direction direction_ = Direction::kForward;
  // The move that is under way moved all children.
  bool rebuild_ = false;
  std::string target_;
  const std::string upper_;
  Status status_;
};

}  // namespace

std::unique_ptr<InternalIterator> NewMergingIterator(std::vector<std::unique_ptr<InternalIterator>> children,
                                                     std::string_view upper) {
  if (children.size() == 1) {
    return std::move(children.front());
  }
  return std::make_unique<MergingIterator>(std::move(children), upper);
}

}  // namespace varve
