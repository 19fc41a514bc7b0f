#include "engine/device/background_pace.h"

#include <algorithm>

namespace varve {

namespace {

// Between two looks at what was served.
constexpr uint64_t kLookNanos = 1'000'000;
// What a device is given to do beside a piece may make it so much slower: more means that it stands in line.
constexpr double kSlowerTimes = 2;
// Pieces after which one goes alone again, to learn what it takes by itself.
constexpr uint32_t kPiecesBetweenLone = 2048;

}  // namespace

bool BackgroundPace::Applies() {
  if (Executor::CurrentOrNull() != &background_) {
    return false;
  }
  const uint64_t now = background_.clock().MonotonicNanos();
  if (now - looked_nanos_ >= kLookNanos || looked_nanos_ == 0) {
    looked_nanos_ = now;
    const uint64_t served = served_();
    if (served != served_before_) {
      served_before_ = served;
      served_nanos_ = now;
      was_served_ = true;
    }
  }
  return was_served_ && now - served_nanos_ < kBusyNanos;
}

bool BackgroundPace::MayBegin() const {
  return pieces_ < (wants_lone_ ? 1 : pieces_max_);
}

void BackgroundPace::Begun() {
  is_lone_ = pieces_ == 0;
  ++pieces_;
}

bool BackgroundPace::TryBegin() {
  if (oldest_ != nullptr || !MayBegin()) {
    return false;
  }
  Begun();
  return true;
}

void BackgroundPace::Enqueue(Waiter& waiter) {
  (oldest_ == nullptr ? oldest_ : newest_->next) = &waiter;
  newest_ = &waiter;
}

void BackgroundPace::End(Direction direction, uint64_t bytes, uint64_t nanos) {
  uint64_t& lone_nanos = lone_nanos_[static_cast<size_t>(direction)];
  if (is_lone_) {
    wants_lone_ = false;
    since_lone_ = 0;
    // A smaller one says less of what others take.
    if (bytes == kPieceBytes || lone_nanos == 0) {
      lone_nanos = std::max<uint64_t>(nanos, 1);
    }
  } else if (lone_nanos > 0) {
    Adapt(static_cast<double>(nanos) / static_cast<double>(lone_nanos));
  }
  wants_lone_ = wants_lone_ || ++since_lone_ > kPiecesBetweenLone;
  --pieces_;
  while (oldest_ != nullptr && MayBegin()) {
    Waiter& begins = *oldest_;
    oldest_ = begins.next;
    Begun();
    background_.Post(begins.work);
  }
}

void BackgroundPace::Adapt(double slower) {
  slower_sum_ += slower;
  // Once for as many as are in flight at a time, so that what comes of a change is seen before the next.
  if (++adapted_by_ < pieces_max_) {
    return;
  }
  const double mean = slower_sum_ / adapted_by_;
  adapted_by_ = 0;
  slower_sum_ = 0;
  if (mean > kSlowerTimes) {
    pieces_max_ = std::max(pieces_max_ - 1, kPiecesMin);
  } else if (pieces_ >= pieces_max_) {
    pieces_max_ = std::min(pieces_max_ + 1, kPiecesMax);
  }
}

}  // namespace varve
