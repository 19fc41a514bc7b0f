#include "engine/space/extent_allocator.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace varve {

uint64_t InternalShareBytes(const Layout& layout, uint64_t needed_bytes) {
  const uint64_t total = layout.usable_bytes();
  return std::min(std::max(needed_bytes, total / 50), total / 4);
}

SpaceReservation::SpaceReservation(SpaceReservation&& other) noexcept
    : from_(std::exchange(other.from_, nullptr)), units_left_(std::exchange(other.units_left_, 0)) {
}

SpaceReservation& SpaceReservation::operator=(SpaceReservation&& other) noexcept {
  if (this != &other) {
    GiveBack();
    from_ = std::exchange(other.from_, nullptr);
    units_left_ = std::exchange(other.units_left_, 0);
  }
  return *this;
}

SpaceReservation::~SpaceReservation() {
  GiveBack();
}

void SpaceReservation::GiveBack() {
  if (ExtentAllocator* from = std::exchange(from_, nullptr)) {
    from->GiveBack(std::exchange(units_left_, 0));
  }
}

ExtentAllocator::ExtentAllocator(const Layout& layout, uint64_t internal_share_bytes,
                                 uint64_t merge_share_bytes)
    : layout_(layout),
      internal_share_units_(CeilDiv(internal_share_bytes, kExtentUnitBytes)),
      merge_share_units_(CeilDiv(merge_share_bytes, kExtentUnitBytes)) {
  free_.Insert({layout.first_unit(), layout.end_unit() - layout.first_unit()});
}

Status ExtentAllocator::MarkUsed(std::span<const Extent> extents, std::string_view owner) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < extents.size(); ++i) {
    const bool inside = layout_.Holds(extents[i]);
    if (inside && free_.Contains(extents[i])) {
      free_.Remove(extents[i]);
      continue;
    }
    for (const Extent& undo : extents.first(i)) {
      free_.Insert(undo);
    }
    return Corruption(fmt::format("{}: {} {}", owner, DescribeExtents(extents.subspan(i, 1)),
                                  inside ? "belong to something else as well" : "lie outside the device"));
  }
  return OkStatus();
}

uint64_t ExtentAllocator::AvailableUnits(SpaceClass space_class) const {
  const uint64_t share = space_class == SpaceClass::kUser      ? internal_share_units_
                         : space_class == SpaceClass::kFreeing ? merge_share_units_
                                                               : 0;
  const uint64_t kept = reserved_units_ + share;
  return free_.units() > kept ? free_.units() - kept : 0;
}

Result<SpaceReservation> ExtentAllocator::Reserve(uint64_t bytes, SpaceClass space_class) {
  const uint64_t units = CeilDiv(bytes, kExtentUnitBytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t available = AvailableUnits(space_class);
  if (units > available) {
    return NoSpace(fmt::format("{} bytes are wanted, {} are free", bytes, available * kExtentUnitBytes));
  }
  reserved_units_ += units;
  return SpaceReservation(*this, units);
}

std::vector<Extent> ExtentAllocator::Take(SpaceReservation& reservation, uint64_t bytes) {
  const uint64_t units = CeilDiv(bytes, kExtentUnitBytes);
  if (units == 0) {
    return {};
  }
  Check(reservation.from_ == this && units <= reservation.units_left_, "more was taken than was reserved");
  const std::lock_guard<std::mutex> lock(mutex_);
  reservation.units_left_ -= units;
  reserved_units_ -= units;
  return free_.Take(units);
}

void ExtentAllocator::PutBack(SpaceReservation& reservation, std::span<const Extent> extents) {
  Check(reservation.from_ == this, "units were put back into a foreign reservation");
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Extent& extent : extents) {
    free_.Insert(extent);
    reservation.units_left_ += extent.units;
    reserved_units_ += extent.units;
  }
}

void ExtentAllocator::GiveBack(uint64_t units) {
  const std::lock_guard<std::mutex> lock(mutex_);
  reserved_units_ -= units;
}

void ExtentAllocator::Release(std::span<const Extent> extents) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Extent& extent : extents) {
    Check(layout_.Holds(extent) && !free_.Overlaps(extent), "units were released that were not taken");
    released_.Insert(extent);
  }
}

uint64_t ExtentAllocator::released_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return released_.units() * kExtentUnitBytes;
}

std::vector<Extent> ExtentAllocator::BeginReclaim() {
  const std::lock_guard<std::mutex> lock(mutex_);
  reclaiming_units_ += released_.units();
  return released_.TakeAll();
}

void ExtentAllocator::FinishReclaim(std::span<const Extent> extents) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Extent& extent : extents) {
    Check(extent.units <= reclaiming_units_, "more units were reclaimed than were handed out");
    reclaiming_units_ -= extent.units;
    free_.Insert(extent);
  }
}

SpaceNumbers ExtentAllocator::numbers() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t released = released_.units() + reclaiming_units_;
  const uint64_t kept = reserved_units_ + internal_share_units_;
  const uint64_t after_reclaim = free_.units() + released;
  SpaceNumbers numbers;
  numbers.total_bytes = layout_.usable_bytes();
  numbers.released_bytes = released * kExtentUnitBytes;
  numbers.free_bytes = free_.units() * kExtentUnitBytes;
  numbers.used_bytes = numbers.total_bytes - numbers.free_bytes - numbers.released_bytes;
  numbers.reserved_bytes = reserved_units_ * kExtentUnitBytes;
  numbers.internal_share_bytes = internal_share_units_ * kExtentUnitBytes;
  numbers.user_available_bytes = AvailableUnits(SpaceClass::kUser) * kExtentUnitBytes;
  numbers.user_available_after_reclaim_bytes =
      after_reclaim > kept ? (after_reclaim - kept) * kExtentUnitBytes : 0;
  return numbers;
}

}  // namespace varve
