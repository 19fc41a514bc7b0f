// ExtentAllocator: which units of the device are free. Nothing of it is stored: at open, everything that a
// live table, WAL segment or manifest covers is marked used, and the rest is free.
//
// The life of a unit: free -> (Take) used -> (Release) released -> (BeginReclaim) being discarded ->
// (FinishReclaim) free. Space is promised before it is taken: a job that holds a reservation cannot run out
// half-way. A share of the device is kept for internal reservations, so that deletes and compaction work when
// users get kNoSpace.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/space/extent.h"
#include "engine/space/extent_set.h"
#include "engine/space/layout.h"

namespace varve {

enum class SpaceClass : uint8_t {
  kUser,      // may not touch the internal share
  kFreeing,   // what users do to free space: may touch all of it but what merges need
  kInternal,  // merges, manifest, log
};

// How much of the device is kept for kInternal: what the largest plan, a manifest roll and a WAL segment need
// at once
// (`needed_bytes`), or 2% where that is more, since the more there is to merge the more merges run side by
// side; but never more than a quarter of the device.
uint64_t InternalShareBytes(const Layout& layout, uint64_t needed_bytes);

class ExtentAllocator;

// A promise of space, given back when it is destroyed as far as it was not taken. Moves. Any thread.
class SpaceReservation {
 public:
  SpaceReservation() = default;
  SpaceReservation(SpaceReservation&& other) noexcept;
  SpaceReservation& operator=(SpaceReservation&& other) noexcept;
  ~SpaceReservation();

  uint64_t bytes_left() const { return units_left_ * kExtentUnitBytes; }
  // Early.
  void GiveBack();

 private:
  friend class ExtentAllocator;
  SpaceReservation(ExtentAllocator& from, uint64_t units) : from_(&from), units_left_(units) {}

  ExtentAllocator* from_ = nullptr;
  uint64_t units_left_ = 0;
};

struct SpaceNumbers {
  uint64_t total_bytes = 0;     // all that extents may use
  uint64_t used_bytes = 0;      // taken
  uint64_t released_bytes = 0;  // given up, not yet free again
  uint64_t free_bytes = 0;      // including what is reserved
  uint64_t reserved_bytes = 0;
  uint64_t internal_share_bytes = 0;
  // What a user's reservation could get now, and what it could get once everything released is reclaimed.
  uint64_t user_available_bytes = 0;
  uint64_t user_available_after_reclaim_bytes = 0;
};

// Any thread; each call holds one mutex briefly, and none waits. Must outlive its reservations.
class ExtentAllocator {
 public:
  // `merge_share_bytes`: the part of the internal share that only kInternal may touch. If deletes could use
  // that up, no merge would be left to do what they ask for.
  ExtentAllocator(const Layout& layout, uint64_t internal_share_bytes, uint64_t merge_share_bytes = 0);

  // For open and fsck: `extents` belong to a live structure that `owner` describes. Error kCorruption, with
  // nothing marked, when they lie outside the device or overlap each other or what is already used.
  Status MarkUsed(std::span<const Extent> extents, std::string_view owner);

  // Promises `bytes`, rounded up to whole units. Error kNoSpace: reclaim what is released, or wait for
  // running jobs to give back, and try again; or it is full.
  Result<SpaceReservation> Reserve(uint64_t bytes, SpaceClass space_class);
  // Takes `bytes`, rounded up to whole units, out of the promise, in as few extents as the free space allows
  // and from the smallest gaps that fit. Precondition: the reservation covers it.
  std::vector<Extent> Take(SpaceReservation& reservation, uint64_t bytes);

  // Returns extents, or parts of them, that were taken under this reservation and never written to: they are
  // free and promised again at once.
  void PutBack(SpaceReservation& reservation, std::span<const Extent> extents);

  // Gives up extents, or parts of them, that were taken: the edit that stops naming them is durable and no
  // reader is left. They stay out of use until they were reclaimed.
  void Release(std::span<const Extent> extents);
  uint64_t released_bytes() const;
  // Hands out everything released, merged where it touches, to be discarded (or not) by the caller, who then
  // calls FinishReclaim with the same extents.
  std::vector<Extent> BeginReclaim();
  void FinishReclaim(std::span<const Extent> extents);

  SpaceNumbers numbers() const;
  const Layout& layout() const { return layout_; }

 private:
  friend class SpaceReservation;
  void GiveBack(uint64_t units);
  // The caller holds mutex_.
  uint64_t AvailableUnits(SpaceClass space_class) const;

  const Layout layout_;
  const uint64_t internal_share_units_;
  const uint64_t merge_share_units_;
  mutable std::mutex mutex_;  // everything below; a leaf: nothing is called while it is held
  ExtentSet free_;
  ExtentSet released_;
  uint64_t reserved_units_ = 0;
  uint64_t reclaiming_units_ = 0;
};

}  // namespace varve
