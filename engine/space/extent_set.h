// ExtentSet: a set of units, kept as maximal extents, found by place and by size.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/space/extent.h"

namespace varve {

// One thread. Costs about 100 bytes for each gap, not for each unit.
class ExtentSet {
 public:
  uint64_t units() const { return units_; }
  size_t extents() const { return by_place_.size(); }
  // Every unit of `extent` is in the set.
  bool Contains(const Extent& extent) const;
  bool Overlaps(const Extent& extent) const;

  // Precondition: no unit of it is in the set.
  void Insert(const Extent& extent);
  // Precondition: Contains(extent).
  void Remove(const Extent& extent);
  // Removes and returns `units` units: from the smallest extent that holds them all, else the largest extents
  // until they suffice. Precondition: 0 < units <= units().
  std::vector<Extent> Take(uint64_t units);
  // Removes and returns all, by place.
  std::vector<Extent> TakeAll();

 private:
  using ByPlace = std::map<uint32_t, uint32_t>;  // first unit -> units
  void Add(uint32_t first, uint32_t units);
  void Erase(ByPlace::iterator at);

  ByPlace by_place_;
  std::set<std::pair<uint32_t, uint32_t>> by_size_;  // (units, first unit)
  uint64_t units_ = 0;
};

}  // namespace varve
