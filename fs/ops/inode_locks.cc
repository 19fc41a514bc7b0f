#include "fs/ops/inode_locks.h"

#include <algorithm>
#include <utility>

namespace varve {

InodeLocks::Guard::Guard(Guard&& other) noexcept
    : held_(std::move(other.held_)), versions_(std::exchange(other.versions_, {})) {
}

InodeLocks::Guard& InodeLocks::Guard::operator=(Guard&& other) noexcept {
  if (this != &other) {
    Unlock();
    held_ = std::move(other.held_);
    versions_ = std::exchange(other.versions_, {});
  }
  return *this;
}

void InodeLocks::Guard::Unlock() {
  for (size_t i = 0; i < kInodesMax; ++i) {
    if (std::atomic<uint64_t>* version = std::exchange(versions_[i], nullptr)) {
      version->fetch_add(1, std::memory_order_release);
      held_[i].Unlock();
    }
  }
}

InodeLocks::InodeLocks() : stripes_(std::make_unique<Stripe[]>(kStripes)) {
}

// Fibonacci hashing: consecutive numbers fall on distant stripes, and a parent rarely on its child's.
size_t InodeLocks::IndexOf(InodeNumber inode) {
  static_assert(kStripes == 4096);
  return inode.value * 0x9e3779b97f4a7c15 >> 52;
}

InodeLocks::StripeSet InodeLocks::StripesOf(InodeNumber a, InodeNumber b, InodeNumber c, InodeNumber d) {
  StripeSet stripes;
  stripes.fill(kStripes);  // sorts last
  size_t count = 0;
  for (const InodeNumber inode : {a, b, c, d}) {
    if (inode.value != 0) {
      stripes[count++] = IndexOf(inode);
    }
  }
  std::sort(stripes.begin(), stripes.end());
  const auto end = std::unique(stripes.begin(), stripes.end());
  std::fill(end, stripes.end(), kStripes);
  return stripes;
}

void InodeLocks::Hold(Guard& guard, size_t place, AsyncMutex::Guard held, Stripe& stripe) {
  guard.held_[place] = std::move(held);
  guard.versions_[place] = &stripe.version;
  // Odd before anything is written, for readers that order their loads by acquire.
  stripe.version.fetch_add(1, std::memory_order_acq_rel);
}

Task<InodeLocks::Guard> InodeLocks::Lock(InodeNumber a, InodeNumber b, InodeNumber c, InodeNumber d) {
  const StripeSet stripes = StripesOf(a, b, c, d);
  Guard guard;
  for (size_t i = 0; i < kInodesMax && stripes[i] < kStripes; ++i) {
    Stripe& stripe = stripes_[stripes[i]];
    AsyncMutex::Guard held = co_await stripe.mutex.Lock();
    Hold(guard, i, std::move(held), stripe);
  }
  co_return guard;
}

std::optional<InodeLocks::Guard> InodeLocks::TryLock(InodeNumber a, InodeNumber b, InodeNumber c,
                                                     InodeNumber d) {
  const StripeSet stripes = StripesOf(a, b, c, d);
  Guard guard;
  for (size_t i = 0; i < kInodesMax && stripes[i] < kStripes; ++i) {
    Stripe& stripe = stripes_[stripes[i]];
    AsyncMutex::Guard held = stripe.mutex.TryLock();
    if (!held.holds()) {
      return std::nullopt;
    }
    Hold(guard, i, std::move(held), stripe);
  }
  return guard;
}

}  // namespace varve
